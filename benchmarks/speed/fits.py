"""Goals 1, 2 and 10: whole fits against Opacus, diffprivlib, DP-EBM and scikit-learn without privacy, in turns."""

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
from .met import table
from .peers import Peer, python_of, store
from .small import rows

EPSILON, DELTA = 2.0, 1e-5
#: Batches and learning rates of Opacus, of which the most accurate counts.
SETTINGS = ((512, 2.0), (512, 8.0), (2048, 8.0), (4096, 16.0))


class Ours:
    """Fits by `auto`, each with another seed; accuracy on held-out rows is the mean over all."""

    def __init__(self, train: tuple[Any, Any], test: tuple[Any, Any], **given: Any) -> None:
        self._train, self._test, self._seed, self._given = train, test, 0, given or {"row_norm": 1.0}
        self.accuracy: list[float] = []

    def __call__(self) -> None:
        from dpsparse import SparseClassifier

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = SparseClassifier(
                epsilon=EPSILON, delta=DELTA, classes=(0, 1), random_state=self._seed, **self._given
            ).fit(*self._train)
        self._seed += 1
        self.accuracy.append(model.score(*self._test))


def lbfgs(train: tuple[Any, Any]) -> Any:
    """scikit-learn without privacy, at most 100 steps."""
    from sklearn.linear_model import LogisticRegression

    return lambda: LogisticRegression(max_iter=100).fit(*train)


def dense(settings: Settings) -> list[Line]:
    """20,000 x 500: `auto` against Opacus with several batches and rates, and diffprivlib. Compiled kernels are loaded before, as after some work."""
    choice.load_kernels()
    X, y = rows(25_000, 500)
    train, test = (X[:20_000], y[:20_000]), (X[20_000:], y[20_000:])
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        file = Path(folder, "dense.npz")
        store(file, train, test)
        ours = Ours(train, test)
        ways: dict[str, Any] = {"auto": ours, "lbfgs": lbfgs(train)}
        told: dict[str, list[float]] = {}
        common: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "epochs": 15, "passes": 15}
        if settings.peers and python_of(settings.peers, "opacus").exists():
            peer = stack.enter_context(Peer(settings.peers, "opacus", file))
            for batch, rate in SETTINGS:
                name, given = f"opacus, batch {batch}, rate {rate:g}", {"batch": batch, "rate": rate, "ghost": True}
                ways[name] = _with_seeds(peer, told.setdefault(name, []), **given, **common)
        if settings.peers and python_of(settings.peers, "diffprivlib").exists():
            other = stack.enter_context(Peer(settings.peers, "diffprivlib", file))
            ways["diffprivlib"] = _with_seeds(other, told.setdefault("diffprivlib", []), epsilon=EPSILON)
        found = interleave(ways, settings.repeats)
    ratio = found["auto"].processor / found["lbfgs"].processor
    first = Line(goal=1, what="dense 20,000 x 500: auto / lbfgs (max_iter 100)", value=ratio, unit="x", most=4.5)
    return [first, *_lines(1, "dense 20,000 x 500", found, ours, told, least=6.0)]


def shapes(settings: Settings) -> list[Line]:
    """A table of 10,000 x 20: `auto` with straight lines and with curves against DP-EBM with its defaults."""
    choice.load_kernels()
    X, y = table(12_000, 20)
    train, test = (X[:10_000], y[:10_000]), (X[10_000:], y[10_000:])
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        file = Path(folder, "table.npz")
        store(file, train, test)
        ours, curves, told = (
            Ours(train, test, feature_bound=1.0),
            Ours(train, test, feature_bound=1.0, shapes="auto"),
            {},
        )
        ways: dict[str, Any] = {"auto": ours, "auto with shapes": curves, "lbfgs": lbfgs(train)}
        if settings.peers and python_of(settings.peers, "interpret").exists():
            peer = stack.enter_context(Peer(settings.peers, "interpret", file))
            ways["DP-EBM"] = _with_seeds(peer, told.setdefault("DP-EBM", []), epsilon=EPSILON, delta=DELTA, bound=1.0)
        found = interleave(ways, settings.repeats)
    what = "table 10,000 x 20"
    bent = Line(
        goal=10,
        what=f"{what}: auto with shapes",
        value=found["auto with shapes"].processor,
        unit="s",
        note=_score(curves.accuracy),
    )
    return [*_lines(10, what, found, ours, told, least=1.0), bent]


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
    lines = _lines(2, "news20", found, ours, told, least=100.0)
    ratio = found["auto"].processor / found["lbfgs"].processor
    return [Line(goal=2, what="news20: auto / lbfgs (max_iter 100)", value=ratio, unit="x", most=1.6), *lines]


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
    best = max(told, key=lambda name: float(np.mean(told[name])), default="")
    for name, accuracy in told.items():
        seconds = found[name].processor
        lines.append(Line(goal=goal, what=f"{what}: {name}", value=seconds, unit="s", note=_score(accuracy)))
        faster = seconds / found["auto"].processor
        goal_of = least if name == best else None  # the others are less accurate
        lines.append(Line(goal=goal, what=f"{what}: {name} / auto", value=faster, unit="x", least=goal_of))
    return lines


def _score(accuracy: list[float]) -> str:
    error = np.std(accuracy, ddof=1) / np.sqrt(len(accuracy)) if len(accuracy) > 1 else float("nan")
    return f"test accuracy {np.mean(accuracy):.4f} +- {error:.4f}"
