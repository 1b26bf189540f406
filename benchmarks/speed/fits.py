"""Goals 1 and 2: whole fits against Opacus, diffprivlib and scikit-learn without privacy, in turns."""

from __future__ import annotations

import tempfile
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from dpsparse.rows.kernels import choice

from .. import settings as data
from .clock import Times, interleave
from .goals import Line, Settings
from .peers import Peer, python_of, store
from .small import rows

EPSILON, DELTA = 2.0, 1e-5


class Ours:
    """Fits by `auto`, each with another seed; accuracy on held-out rows is the mean over all."""

    def __init__(self, train: tuple[Any, Any], test: tuple[Any, Any]) -> None:
        self._train, self._test, self._seed = train, test, 0
        self.accuracy: list[float] = []

    def __call__(self) -> None:
        from dpsparse import SparseClassifier

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = SparseClassifier(
                epsilon=EPSILON, delta=DELTA, row_norm=1.0, classes=(0, 1), random_state=self._seed
            ).fit(*self._train)
        self._seed += 1
        self.accuracy.append(model.score(*self._test))


def lbfgs(train: tuple[Any, Any]) -> Any:
    """scikit-learn without privacy, at most 100 steps."""
    from sklearn.linear_model import LogisticRegression

    return lambda: LogisticRegression(max_iter=100).fit(*train)


def dense(settings: Settings) -> list[Line]:
    """20,000 x 500: `auto` against Opacus, the better of two learning rates, and diffprivlib. Compiled kernels are loaded before, as after some work."""
    choice.load_kernels()
    X, y = rows(25_000, 500)
    train, test = (X[:20_000], y[:20_000]), (X[20_000:], y[20_000:])
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        file = Path(folder, "dense.npz")
        store(file, train, test)
        ours = Ours(train, test)
        ways: dict[str, Any] = {"auto": ours, "lbfgs": lbfgs(train)}
        told: dict[str, list[float]] = {}
        common: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "batch": 512, "epochs": 15, "passes": 15}
        if settings.peers and python_of(settings.peers, "opacus").exists():
            peer = stack.enter_context(Peer(settings.peers, "opacus", file))
            for rate in (2.0, 8.0):
                name = f"opacus, rate {rate:g}"
                ways[name] = _with_seeds(peer, told.setdefault(name, []), rate=rate, ghost=True, **common)
        if settings.peers and python_of(settings.peers, "diffprivlib").exists():
            other = stack.enter_context(Peer(settings.peers, "diffprivlib", file))
            ways["diffprivlib"] = _with_seeds(other, told.setdefault("diffprivlib", []), epsilon=EPSILON)
        found = interleave(ways, settings.repeats)
    return _lines(1, "dense 20,000 x 500", found, ours, told, least=3.0)


def text(settings: Settings) -> list[Line]:
    """news20: `auto` against scikit-learn without privacy, and Opacus. Kernels as above."""
    if data.data_folder() is None:
        return []
    choice.load_kernels()
    news = data.news20()
    assert news.test is not None
    train, test = (news.X, news.y), news.test
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        ours, told = Ours(train, test), {}
        ways: dict[str, Any] = {"auto": ours, "lbfgs": lbfgs(train)}
        if settings.peers and python_of(settings.peers, "opacus").exists():
            file = Path(folder, "news20.npz")
            store(file, train, test)
            peer = stack.enter_context(Peer(settings.peers, "opacus", file))
            passes = 1 if settings.quick else 15
            given = {"epsilon": EPSILON, "delta": DELTA, "batch": 512, "epochs": 15, "passes": passes, "rate": 8.0}
            ways["opacus, rate 8"] = _with_seeds(peer, told.setdefault("opacus, rate 8", []), ghost=True, **given)
        found = interleave(ways, settings.repeats)
    lines = _lines(2, "news20", found, ours, told, least=60.0)
    ratio = found["auto"].processor / found["lbfgs"].processor
    return [Line(goal=2, what="news20: auto / lbfgs (max_iter 100)", value=ratio, unit="x", most=2.0), *lines]


def _with_seeds(peer: Peer, accuracy: list[float], **given: Any) -> Any:
    def way() -> Times:
        found = peer.fit(seed=len(accuracy), **given)
        accuracy.append(found.told["accuracy"])
        return found

    return way


def _lines(
    goal: int, what: str, found: dict[str, Times], ours: Ours, told: dict[str, list[float]], least: float
) -> list[Line]:
    lines = [
        Line(goal=goal, what=f"{what}: auto", value=found["auto"].processor, unit="s", note=_score(ours.accuracy)),
        Line(goal=goal, what=f"{what}: lbfgs without privacy", value=found["lbfgs"].processor, unit="s"),
    ]
    for name, accuracy in told.items():
        seconds = found[name].processor
        lines.append(Line(goal=goal, what=f"{what}: {name}", value=seconds, unit="s", note=_score(accuracy)))
        faster = seconds / found["auto"].processor
        goal_of = least if name.startswith("opacus") else None
        lines.append(Line(goal=goal, what=f"{what}: {name} / auto", value=faster, unit="x", least=goal_of))
    return lines


def _score(accuracy: list[float]) -> str:
    error = np.std(accuracy, ddof=1) / np.sqrt(len(accuracy)) if len(accuracy) > 1 else float("nan")
    return f"test accuracy {np.mean(accuracy):.4f} +- {error:.4f}"
