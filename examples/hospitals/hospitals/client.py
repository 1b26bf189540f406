"""A hospital: its rows, its budget, its ledger and its memory."""

from __future__ import annotations

from pathlib import Path

from dpsparse.federated.flower import client_app
from flwr.app import Context

from dpsparse import Ledger
from dpsparse.core import LedgerError
from dpsparse.federated import Protocol, Site

from .rows import EPSILON, NAMES, OUT, rows_of


def join(protocol: Protocol, context: Context) -> Site:
    """The site of this node. Real hospitals name themselves in the node's configuration; simulated ones are numbered."""
    number = int(context.node_config.get("partition-id", 0))
    name = str(context.node_config.get("site", NAMES[number % len(NAMES)]))
    folder = Path(str(context.run_config.get("out", OUT))).resolve() / name
    folder.mkdir(parents=True, exist_ok=True)
    ledger = Ledger(f"sqlite:///{folder}/budget.db")
    epsilon = float(context.run_config.get("epsilon", EPSILON))
    if not (folder / "budget.db").exists():
        try:
            ledger.create("patients", epsilon=2 * epsilon, delta=1e-5)
        except LedgerError:  # another process of this node was first
            ledger.total("patients")
    X, y = rows_of(name)
    return Site(
        X,
        y,
        protocol,
        name=name,
        epsilon=epsilon,
        delta=1e-6,
        ledger=ledger,
        dataset="patients",
        memory=folder / "rounds",
    )


app = client_app(join)
