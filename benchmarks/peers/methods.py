"""Every library by name: how it is asked for a fit. A fit is the predictions, or log-odds, of the held-out rows."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.shapes import additive
from benchmarks.speed.peers import NEEDS, Peer
from benchmarks.tables import peers as own
from benchmarks.tables.cells import DELTA
from benchmarks.tables.purse import gaussian_mu
from benchmarks.tables.scores import Linear, scores
from benchmarks.tables.sets import Array, Table
from dpsparse import SparseClassifier, SparseRegressor

from .rows import DATA, SOME, TEXT, file_of, kind_of, rows_of

HERE = Path(__file__).parent
#: Environments of the peers, and what each needs.
FOLDER = Path(os.environ.get("DPSPARSE_PEERS", ".venvs/peers"))
ENVIRONMENTS = {
    **NEEDS,
    "dpmm": (("dpmm==0.1.*",),),
    "skglm": (("skglm==0.5",),),
}


@dataclass(frozen=True)
class Ask:
    """Which rows, which budget, which noise."""

    data: str
    seed: int
    epsilon: float

    @property
    def table(self) -> Table:
        """The rows that are asked about."""
        return rows_of(self.data, self.seed).table


#: Predictions of the held-out rows, and the processor's seconds of the fit.
Fitted = tuple[Array, float]


@dataclass(frozen=True)
class Method:
    """How a library fits; whether it is private, what it can do, on which data it is run, and on how many splits.

    `adjacency`: what its epsilon is about. `tuned`: settings chosen by the held-out rows.
    """

    fit: Callable[[Ask], Fitted]
    private: bool = True
    kinds: tuple[str, ...] = ("regression", "classification")
    text: bool = False
    data: tuple[str, ...] = DATA
    seeds: int = 20
    adjacency: str = "replace-one"
    tuned: bool = False

    def can(self, data: str) -> bool:
        """Whether it is run on this data."""
        return data in self.data and kind_of(data) in self.kinds and (self.text or data != TEXT)


def _ours(**given: Any) -> Callable[[Ask], Fitted]:
    """Defaults, but for what is given."""

    def fit(ask: Ask) -> Fitted:
        table, known = ask.table, rows_of(ask.data, ask.seed).known
        shared = {"epsilon": ask.epsilon, "delta": DELTA, "random_state": ask.seed, **known, **given}
        if given.get("adjacency") == "add-remove":
            shared["n_rows"] = table.shape[0]
        start = time.process_time()
        if table.kind == "regression":
            numbers = SparseRegressor(**shared).fit(table.X, table.y)
            return numbers.predict(table.test[0]), time.process_time() - start
        classes = SparseClassifier(**shared).fit(table.X, table.y.astype(int))
        return classes.decision_function(table.test[0]), time.process_time() - start

    return fit


def _own(method: Callable[..., Linear], **given: Any) -> Callable[[Ask], Fitted]:
    """A method of `benchmarks.tables.peers`; predictions within the bounds of the target, like ours."""

    def fit(ask: Ask) -> Fitted:
        table, start = ask.table, time.process_time()
        model = method(table, ask.epsilon, DELTA, np.random.default_rng([ask.seed, 35]), **given)
        return _within(model(table.test[0]), table), time.process_time() - start

    return fit


def _within(predicted: Array, table: Table) -> Array:
    if table.kind == "classification":
        return predicted
    return np.clip(predicted, table.center - table.bound, table.center + table.bound)


@cache
def _peer(name: str) -> Peer:
    """A peer's process: one for all rows, which are named with what is asked."""
    return Peer(FOLDER, name, HERE, HERE)


def _told(name: str, epsilon: Callable[[float], float] = float) -> Callable[[Ask], Fitted]:
    """A peer's answer; of several, the one with the smallest deviance on the held-out rows."""

    def fit(ask: Ask) -> Fitted:
        table, facts = ask.table, rows_of(ask.data, ask.seed).facts
        budget = {"epsilon": epsilon(ask.epsilon), "delta": DELTA} if ask.epsilon < math.inf else {}
        told = _peer(name).ask(rows=str(file_of(ask.data, ask.seed)), seed=ask.seed, **facts, **budget)
        if "failure" in told:
            raise RuntimeError(told["failure"])
        several = np.atleast_2d(np.array(told["predicted"], dtype=float))
        if table.kind == "regression":
            several = _within(table.center + table.bound * several, table)
        return min(several, key=lambda z: scores(lambda _: z, table)["deviance"]), told["seconds"]

    return fit


@cache
def at_replace_one(epsilon: float) -> float:
    """The epsilon of a Gaussian mechanism whose mu is sqrt(2) smaller.

    A record that is replaced moves from one bin, or leaf, to another, so noise for one of them protects sqrt(2) less.
    """
    mu = gaussian_mu(epsilon, DELTA) / math.sqrt(2)
    low, high = 0.0, epsilon
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_mu(middle, DELTA) < mu else (low, middle)
    return low


def _trees(ask: Ask) -> Fitted:
    """scikit-learn's boosted trees with their defaults."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    table, start = ask.table, time.process_time()
    if table.kind == "regression":
        numbers = HistGradientBoostingRegressor(random_state=ask.seed).fit(table.X, table.y)
        return numbers.predict(table.test[0]), time.process_time() - start
    classes = HistGradientBoostingClassifier(random_state=ask.seed).fit(table.X, table.y)
    return classes.decision_function(table.test[0]), time.process_time() - start


def _additive(ask: Ask) -> Fitted:
    """Curves of five terms, ridge or logistic regression, the best of four penalties on the held-out rows."""
    start = time.process_time()
    return additive(ask.table), time.process_time() - start


BY_DEVIANCE = partial(own.dpgd, by="deviance")
#: Name: method, in the order of the page.
METHODS: Mapping[str, Method] = {
    "dpsparse auto": Method(_ours(), text=True),
    "dpsparse curves": Method(_ours(shapes="auto")),
    "dpsparse auto, add-remove": Method(
        _ours(adjacency="add-remove"), text=True, data=(*SOME, TEXT), seeds=5, adjacency="add-remove"
    ),
    "DP-EBM": Method(_told("interpret"), adjacency="add-remove"),
    "DP-EBM, replace-one": Method(_told("interpret", at_replace_one)),
    "DP-GD, tuned on the test rows": Method(_own(BY_DEVIANCE), text=True, tuned=True),
    "AdaSSP": Method(_own(own.adassp), kinds=("regression",)),
    "boosted AdaSSP, tuned on the test rows": Method(_own(own.boosted_adassp), kinds=("regression",), tuned=True),
    "Opacus, tuned on the test rows": Method(
        _told("opacus"), text=True, data=(*SOME, TEXT), seeds=5, adjacency="add-remove", tuned=True
    ),
    "MST, then a linear model": Method(_told("dpmm"), data=SOME, seeds=2, adjacency="add-remove"),
    "diffprivlib": Method(_told("diffprivlib"), text=True),
    "linear, not private": Method(_own(own.nonprivate), private=False, text=True),
    "additive, not private": Method(_additive, private=False),
    "boosted trees, not private": Method(_trees, private=False),
    "skglm, not private": Method(_told("skglm"), private=False, text=True, data=(*SOME, TEXT), seeds=5),
}
