"""The server: no row, no ledger; a model and what every hospital promised."""

from __future__ import annotations

from pathlib import Path

from dpsparse.federated.flower import server_app
from flwr.app import Context

from dpsparse import SparseClassifier
from dpsparse.federated import Server
from dpsparse.recipes import DPFedSGDHT

from .rows import EPSILON, FEATURES, LEAST, NAMES, OUT, ROUNDS, ROWS


def make(context: Context) -> Server:
    """The run of the five hospitals: a new one, or the one that was stopped."""
    folder = Path(str(context.run_config.get("out", OUT))).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    model = SparseClassifier(
        epsilon=float(context.run_config.get("epsilon", EPSILON)),
        delta=1e-6,
        feature_bound=1.0,
        sparsity=3,
        classes=[0, 1],
        recipe=DPFedSGDHT(rounds=int(context.run_config.get("rounds", ROUNDS)), local_steps=10),
    )
    return Server.open(folder / "server.json", model, sites=NAMES, n_rows=ROWS, n_features=FEATURES, least_sites=LEAST)


def done(model: SparseClassifier, server: Server) -> None:
    """Write the model beside its state, and print what was promised."""
    model.save(Path(str(server.state)).with_name("model.json"))
    print("features found:", [int(j) for j in model.support_])
    print(model.statement_)
    print(server.federation)


app = server_app(make, done, timeout=600.0)
