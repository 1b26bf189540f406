"""Three hospitals that cannot share rows, in one program: python examples/three_hospitals.py [FOLDER].

The same over a network, with Flower: examples/hospitals.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from dpsparse import Ledger, SparseClassifier
from dpsparse.federated import Grid, Server, Site

NAMES, ROWS, FEATURES = ("north", "south", "east"), 3000, 20


def rows_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Patients of one hospital: they never leave it."""
    rng = np.random.default_rng(NAMES.index(name))
    X = rng.uniform(-1, 1, (ROWS, FEATURES))
    X[:, 2] = np.clip(X[:, 2] + 0.3 * NAMES.index(name) - 0.3, -1, 1)  # hospitals differ
    return X, (2 * X[:, 2] - 2 * X[:, 7] + 0.3 * rng.logistic(size=ROWS) > 0).astype(int)


def main(folder: Path) -> None:
    """A server without rows, three sites with ledgers of their own, one model."""
    model = SparseClassifier(
        epsilon=4.0, delta=1e-6, recipe="dp_fedsgd_ht", feature_bound=1.0, sparsity=2, classes=[0, 1]
    )
    server = Server(model, sites=NAMES, n_rows=ROWS, n_features=FEATURES, least_sites=2)
    print(f"protocol: {server.protocol.rounds} rounds of {server.protocol.local_steps} local steps")

    sites = []
    for name in NAMES:
        home = folder / name
        home.mkdir(parents=True, exist_ok=True)
        ledger = Ledger(f"sqlite:///{home / 'budget.db'}")
        ledger.create("patients", epsilon=6.0, delta=1e-5)
        own = {"ledger": ledger, "dataset": "patients", "memory": home / "rounds"}
        sites.append(Site(*rows_of(name), server.protocol.to_json(), name=name, epsilon=4.0, delta=1e-6, **own))

    fitted = Grid(server, sites).run()
    print("features found:", fitted.support_.tolist())
    print("statement:", fitted.statement_)
    print("a person with a row at two hospitals:", server.federation.person_at(["north", "south"]))
    for name in NAMES:
        spent = Ledger(f"sqlite:///{folder / name / 'budget.db'}").spent("patients")
        print(f"ledger of {name}: epsilon {spent.epsilon:.2f} of 6")

    X, y = (np.concatenate(parts) for parts in zip(*map(rows_of, NAMES), strict=True))
    print(f"accuracy: {fitted.score(X, y):.3f}")  # made-up patients: of real ones, ask private_score


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/three_hospitals"))
