"""Goal 3: exact integer sums against floats that do the same two products."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from dpsparse.rows.kernels import choice

from .. import settings as data
from .clock import interleave
from .goals import Line, Settings
from .small import rows


class Places:
    """Weights at which gradients are asked for, another one each time: nothing can be known from the last."""

    def __init__(self, size: int) -> None:
        self._weights, self._turn = 0.1 * np.random.default_rng(1).standard_normal(size), 0

    def next(self) -> np.ndarray:
        """The next one."""
        self._turn += 1
        return self._weights * (1 + 0.01 * self._turn)


def gradient(X: Any, y: np.ndarray) -> Callable[[np.ndarray], Any]:
    """The exact clipped gradient sum of rows in memory."""
    from dpsparse.core.facts import Clip, Facts
    from dpsparse.losses import Logistic
    from dpsparse.oracles.noise_info import exact_charge
    from dpsparse.queries.kinds import Gradient
    from dpsparse.rows.hosts import MemoryHost

    facts = Facts(n_rows=X.shape[0], n_features=X.shape[1], row_norm=1.0, lower=-1.0, upper=1.0, loss="logistic")
    host = MemoryHost(X, y, facts)
    return lambda w: host.total(exact_charge(Gradient(w, Clip(1.0)), host), Logistic())


def floats(X: Any, y: np.ndarray) -> Callable[[np.ndarray], Any]:
    """Two products in floats, with a slope between them."""
    transposed = X.T
    return lambda w: transposed @ (1 / (1 + np.exp(-(X @ w))) - y)


def on_threads(count: int, way: Callable[[], Any]) -> None:
    """Run something with so many threads."""
    usual = os.environ.get("DPSPARSE_THREADS")
    os.environ["DPSPARSE_THREADS"] = str(count)
    try:
        way()
    finally:
        os.environ.pop("DPSPARSE_THREADS")
        if usual is not None:
            os.environ["DPSPARSE_THREADS"] = usual


def sums(settings: Settings) -> list[Line]:
    """Dense rows against BLAS in float32, sparse rows against scipy in float64, by processor time of one thread; on two threads by the clock."""
    choice.load_kernels()
    X, y = rows(20_000, 500)
    places = Places(500)
    ways: dict[str, Any] = {}
    exact, blas = gradient(X, y), floats(X, y.astype(np.float32))
    ways["dense exact"], ways["dense BLAS float32"] = (
        lambda: exact(places.next()),
        lambda: blas(places.next().astype(np.float32)),
    )
    news = data.news20() if data.data_folder() else None
    if news is not None:
        S, t = news.X, news.y
        far = Places(S.shape[1])
        sparse, scipy = gradient(S, t), floats(S.astype(np.float64), t)
        ways["sparse exact"], ways["sparse scipy"] = lambda: sparse(far.next()), lambda: scipy(far.next())
        ways["two threads"] = lambda: on_threads(2, lambda: sparse(far.next()))
    times = interleave(ways, 20 * settings.repeats)
    found = {name: taken.processor for name, taken in times.items()}
    ratio = found["dense exact"] / found["dense BLAS float32"]
    lines = [Line(goal=3, what="dense 20,000 x 500: exact / BLAS float32", value=ratio, unit="x", most=1.0)]
    if news is not None:
        ratio = found["sparse exact"] / found["sparse scipy"]
        lines.append(Line(goal=3, what="news20: exact / scipy float64, one thread", value=ratio, unit="x", most=1.05))
        ratio = times["two threads"].clock / times["sparse scipy"].clock
        what = "news20: exact on two threads / scipy float64, by the clock"
        lines.append(Line(goal=3, what=what, value=ratio, unit="x", most=0.65))
    return lines
