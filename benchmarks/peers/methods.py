"""Every library by name: how it is asked for a fit, and the six points that each may choose from."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed.peers import NEEDS, Peer
from dpsparse import SparseClassifier, SparseRegressor
from dpsparse.report.bench.study import GRID

from .rows import Rows, file_of, rows_of

HERE = Path(__file__).parent
DELTA = 1e-5
#: Environments of the peers, and what each needs.
FOLDER = Path(os.environ.get("DPSPARSE_PEERS", ".venvs/peers"))
ENVIRONMENTS = {**NEEDS, "skglm": (("skglm==0.5",),)}
#: End of the name of a method without noise.
EXACT = ", not private"


@dataclass(frozen=True)
class Ask:
    """Which rows, which budget, which noise; `point` counts the points of a grid from 1, 0 is the library's default."""

    data: str
    seed: int
    epsilon: float
    point: int = 0

    @property
    def rows(self) -> Rows:
        """The rows that are asked about."""
        return rows_of(self.data, self.seed)


@dataclass(frozen=True)
class Fitted:
    """A linear model, and the processor's seconds of its fit."""

    coef: np.ndarray
    intercept: float
    seconds: float


@dataclass(frozen=True)
class Method:
    """How a library fits; `tasks` that it can do, `grid` points, and whether it is private."""

    fit: Callable[[Ask], Fitted]
    grid: int = 0
    private: bool = True
    tasks: tuple[str, ...] = ("classification", "regression")


@cache
def _peer(name: str) -> Peer:
    """A peer's process: one for all rows, which are named with what is asked."""
    return Peer(FOLDER, name, HERE, HERE)


def _told(name: str, ask: Ask, **given: Any) -> Fitted:
    rows = ask.rows
    facts = {"task": rows.task, "row_norm": rows.row_norm, "entries": rows.entries, "seed": ask.seed}
    path = file_of(ask.data, ask.seed)
    told = _peer(name).ask(rows=str(path), **facts, **given)
    return Fitted(np.array(told["coef"]), told["intercept"], told["seconds"])


def _diffprivlib(ask: Ask) -> Fitted:
    """Defaults; or C of 1e-3 .. 1e2."""
    chosen = {"C": 10.0 ** (ask.point - 4)} if ask.point else {}
    return _told("diffprivlib", ask, epsilon=ask.epsilon, **chosen)


def _opacus(ask: Ask) -> Fitted:
    """20 batches a pass, 20 passes, clip 1; rates 0.03, 0.1 .. 10. It has no default for a linear model."""
    rate = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)[ask.point - 1]
    return _told("opacus", ask, epsilon=ask.epsilon, delta=DELTA, rate=rate, batches=20, passes=20)


def _skglm(ask: Ask) -> Fitted:
    """Penalties of 0.1, 0.01 and 0.001 of the least that leaves nothing."""
    return _told("skglm", ask, part=10.0**-ask.point)


def _scikit_learn(ask: Ask) -> Fitted:
    """Defaults."""
    from sklearn.linear_model import LogisticRegression, Ridge

    (X, y), start = ask.rows.train, time.process_time()
    model = LogisticRegression(max_iter=1000) if ask.rows.task == "classification" else Ridge()
    model.fit(X, y)
    return Fitted(np.ravel(model.coef_), float(np.ravel(model.intercept_)[0]), time.process_time() - start)


def _ours(adjacency: str) -> Callable[[Ask], Fitted]:
    """`auto` with its defaults; or with at most d, d/2, d/4 .. d/32 coefficients."""

    def fit(ask: Ask) -> Fitted:
        (X, y), rows, start = ask.rows.train, ask.rows, time.process_time()
        chosen = {"sparsity": max(1, X.shape[1] // 2 ** (ask.point - 1))} if ask.point else {}
        kind = SparseClassifier if rows.task == "classification" else SparseRegressor
        model = kind(
            epsilon=ask.epsilon,
            delta=DELTA,
            adjacency=adjacency,
            n_rows=X.shape[0] if adjacency == "add-remove" else None,
            random_state=ask.seed,
            **rows.bounds,
            **chosen,
        ).fit(X, y)
        return Fitted(np.ravel(model.coef_), float(np.ravel(model.intercept_)[0]), time.process_time() - start)

    return fit


#: Name: method. Grids of private methods have six points each, of which the best on the test rows is shown, which flatters all alike.
METHODS: dict[str, Method] = {
    "dpsparse auto": Method(_ours("replace-one")),
    "dpsparse auto, add-remove": Method(_ours("add-remove")),
    "diffprivlib": Method(_diffprivlib),
    f"dpsparse auto{GRID}": Method(_ours("replace-one"), grid=6),
    f"diffprivlib{GRID}": Method(_diffprivlib, grid=6, tasks=("classification",)),
    f"Opacus{GRID}": Method(_opacus, grid=6),
    f"scikit-learn{EXACT}": Method(_scikit_learn, private=False),
    f"skglm{EXACT}{GRID}": Method(_skglm, grid=3, private=False),
}
