"""What reaches the noise: catch an oracle's queries before they are protected, on one dataset and on its neighbour."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse as sp

from dpsparse.oracles import central

from .rows import Table, adversarial

#: Mechanisms of the central oracle, each with how far a query moved in the units that its price is stated in. Both
#: selections ignore a common shift of all scores, so that what counts is the range of their movements.
MOVED: dict[str, Callable[[np.ndarray], float]] = {
    "lattice_gaussian": lambda d: float(np.linalg.norm(d)),
    "discrete_gaussian": lambda d: float(np.linalg.norm(d)),
    "lattice_laplace": lambda d: float(np.abs(d).sum()),
    "gumbel_top_k": lambda d: float(d.max() - d.min()),
    "permute_and_flip": lambda d: float(d.max() - d.min()),
}


@contextlib.contextmanager
def caught() -> Iterator[list[tuple[str, np.ndarray, np.ndarray]]]:
    """Collect (mechanism, query, scale) of every answer; answers are given without noise meanwhile.

    A scale is one number, or one for each coordinate of the query.
    """
    seen: list[tuple[str, np.ndarray, np.ndarray]] = []

    def catch(name: str) -> Callable[..., Any]:
        def stand_in(query: np.ndarray, *rest: Any) -> Any:
            scale = rest[1] if name == "gumbel_top_k" else rest[0]
            seen.append((name, np.array(query, dtype=float), np.array(scale, dtype=float)))
            if name == "gumbel_top_k":
                return np.argsort(-query)[: rest[0]]
            return int(np.argmax(query)) if name == "permute_and_flip" else np.asarray(query, dtype=float)

        return stand_in

    with contextlib.ExitStack() as stack:
        for name in MOVED:
            stack.enter_context(mock.patch.object(central, name, catch(name)))
        yield seen


def loss_per_scale(run: Callable[[Table], None], one: Table, two: Table) -> list[float]:
    """How far each query moved between two datasets, over its noise scale: what the price must cover."""
    records = []
    for given in (one, two):
        with caught() as seen:
            run(given)
        records.append(seen)
    pairs = list(zip(*records, strict=True))
    assert all(a[0] == b[0] and np.array_equal(a[2], b[2]) for a, b in pairs), "noise must not depend on the data"
    return [MOVED[a[0]]((a[1] - b[1]) / a[2]) for a, b in pairs]


def replaced(given: Table, x: np.ndarray, y: float) -> Table:
    """The neighbour whose last record is this one."""
    rows, targets = given.dense(), given.y.copy()
    with np.errstate(invalid="ignore"):
        rows[-1], targets[-1] = x, y
        X = sp.csr_matrix(rows) if sp.issparse(given.X) else rows.astype(given.X.dtype)
    return Table(X, targets, given.facts)


def neighbours(given: Table, relation: str) -> Iterator[tuple[Table, Table]]:
    """Pairs of neighbouring datasets with adversarial records."""
    records = adversarial(given.facts.n_features)
    if given.X.dtype.kind in "iub":
        records = [(np.nan_to_num(np.clip(x, -100, 100)), y) for x, y in records]
    without = given.only(slice(0, given.y.size - 1))
    for x, y in records:
        changed = replaced(given, x, y)
        yield (given, changed) if relation == "replace-one" else (without, changed)
    far = replaced(given, np.ones(given.facts.n_features), -1e9), replaced(given, np.ones(given.facts.n_features), 1e9)
    if relation == "replace-one":
        yield far
