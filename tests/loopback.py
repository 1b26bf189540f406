"""An engine without machines: what goes to a worker is pickled, and answers come back twice, in another order and in groups."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np

from dpsparse.rows.hosts.clusters import ClusterRows
from dpsparse.rows.hosts.worker import LoadedPart, WorkerShard, answer, combine


class Loopback:
    """Parts in this process.

    Parameters
    ----------
    parts : sequence of RawPart
    seed : int
        Of the copies and orders in which answers come back.
    rebuild : bool
        Build every part again before each question, as if its worker had been lost.
    """

    workers = 2

    def __init__(self, parts, seed=0, rebuild=False):
        self.parts = parts
        self.seed = seed
        self.rebuild = rebuild
        self.closed = 0

    def each(self, function):
        return [pickle.loads(pickle.dumps(function(part))) for part in self.parts]

    def hold(self, order, own, tell):
        orders = [pickle.dumps((order, one)) for one in own]
        return Holding(self, orders, tell)


class Holding:
    workers = 2

    def __init__(self, engine, orders, tell):
        self.engine = engine
        self.orders = orders
        self.rng = np.random.default_rng(engine.seed)
        self.held = self.build()
        self.reports = [pickle.loads(pickle.dumps(held.report())) for held in self.held]
        if tell is not None:
            tell(1.0)

    def build(self):
        return [
            WorkerShard(part, *pickle.loads(order)) for part, order in zip(self.engine.parts, self.orders, strict=True)
        ]

    def ask(self, packed):
        if not self.held:
            raise ValueError("closed")
        if self.engine.rebuild:
            self.held = self.build()
        sums = [pickle.loads(pickle.dumps(answer(packed, [held]))) for held in self.held]
        copies = [sums[k] for k in self.rng.integers(len(sums), size=2)]  # stragglers that come back after all
        shuffled = [(sums + copies)[k] for k in self.rng.permutation(len(sums) + 2)]
        cut = int(self.rng.integers(len(sums)))
        tree = combine(sums[:cut]) if cut else None
        return combine([*shuffled, *([] if tree is None else [pickle.loads(pickle.dumps(tree))])])

    def close(self):
        self.held = []
        self.engine.closed += 1


def spread(X, y=None, parts=3, **options):
    """Rows cut into parts on a loopback engine."""
    edges = [X.shape[0] * k // parts for k in range(parts + 1)]
    cut = list(pairwise(edges))
    chunks = [LoadedPart(X[a:b], None if y is None else y[a:b]) for a, b in cut]
    return ClusterRows.open(Loopback(chunks, **options))
