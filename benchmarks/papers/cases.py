"""The data of the papers' figures and tables, or what stands in for it: named, with what a user would declare about it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from benchmarks import gcd_orderings, growth_and_convergence
from benchmarks.local_model import NOISE
from benchmarks.local_model import data as signs
from benchmarks.settings import SYNTHETIC, digits, parts_of, synthetic, table, unit_rows
from dpsparse import SparseClassifier, recipes
from dpsparse.datasets import e2006, folds, halves, rcv1

from .files import there


@dataclass(frozen=True)
class Ask:
    """What one fit is asked for; `at` has the values of a grid point."""

    epsilon: float
    delta: float
    seed: int
    at: Mapping[str, Any] = field(default_factory=dict)
    keep_path: bool = False


@dataclass(frozen=True)
class Case:
    """Rows with what is declared about them.

    Parameters
    ----------
    X, y, task, bounds, sparsity
        Training rows, what is predicted, public bounds as arguments of the estimator, and the sparsity that the paper sets.
    truth : array or None
        Coefficients that made the data.
    test : (X, y) or None
        Held-out rows.
    alpha, penalty
        Regularisation in the objective.
    public : matrix or None
        Rows that are public (001).
    least : float or None
        Least value of the objective, where gaps are measured.
    optimum : array or None
        Where the objective is least.
    relative : bool
        Whether gaps are divided by the least value.
    """

    X: Any
    y: np.ndarray
    task: str
    bounds: dict[str, Any]
    sparsity: int | None
    truth: np.ndarray | None = None
    test: tuple[Any, np.ndarray] | None = None
    alpha: float = 0.0
    penalty: str = "l2"
    public: Any = None
    least: float | None = None
    optimum: np.ndarray | None = None
    relative: bool = True

    @property
    def rows(self) -> int:
        """Number of training rows."""
        return int(self.X.shape[0])

    @cached_property
    def moments(self) -> np.ndarray:
        """X'X/n of dense rows."""
        X = self.X.astype(np.float32)
        return np.asarray(X.T @ X) / self.rows

    def objective(self, w: np.ndarray, X: Any = None, y: Any = None, alpha: float | None = None) -> float:
        """Mean loss (squared loss with its 1/2) with the penalty, on these rows."""
        X, y = (self.X, self.y) if X is None else (X, y)
        margin = np.asarray(X @ w).ravel()
        loss = np.logaddexp(0, margin) - y * margin if self.task == "classification" else 0.5 * (margin - y) ** 2
        strength = self.alpha if alpha is None else alpha
        return float(np.mean(loss) + strength * (np.abs(w).sum() if self.penalty == "l1" else w @ w / 2))


# ------------------------------------------------------------------------------------------------ 000 and 001


def _synthetic(name: str) -> Callable[[int], Case]:
    def make(seed: int) -> Case:
        found = synthetic(name, seed)
        return Case(found.X, found.y, found.task, found.bounds, found.sparsity, found.truth)

    return make


@lru_cache(maxsize=1)
def _imdb(target: str) -> tuple[tuple[Any, np.ndarray], tuple[Any, np.ndarray]]:
    """Reviews as unit rows; ratings about their middle, or whether they are above it."""
    (X, y), test = parts_of("imdb")
    assert test is not None

    def outcome(v: np.ndarray) -> np.ndarray:
        return v - 5.5 if target == "rating" else (v > 5).astype(int)

    return (unit_rows(X), outcome(y.astype(float))), (unit_rows(test[0]), outcome(test[1].astype(float)))


def _reviews(rows: int, features: int, sparsity: int, target: str, split: bool) -> Callable[[int], Case]:
    """Reviews in the shape of E2006-tfidf: so many rows and features, drawn anew for each seed."""

    def make(seed: int) -> Case:
        (X, y), (Z, z) = _imdb(target)
        rng = np.random.default_rng(seed)
        kept = np.sort(rng.permutation(X.shape[1])[:features])
        few, held = rng.permutation(X.shape[0])[:rows], rng.permutation(Z.shape[0])[:3308]
        X, y, Z, z = X[few][:, kept], y[few], Z[held][:, kept], z[held]
        bounds: dict[str, Any] = {"row_norm": 1.0}
        task = "classification"
        if target == "rating":
            bounds["target_bound"], task = 4.5, "regression"
        if not split:
            return Case(X, y, task, bounds, sparsity, test=(Z, z))
        private, public = halves(X.shape[0], seed)
        return Case(X[private], y[private], task, bounds, sparsity, test=(Z, z), public=X[public])

    return make


@lru_cache(maxsize=1)
def _news() -> tuple[Any, np.ndarray]:
    (X, y), _ = parts_of("news20")
    return unit_rows(X), (y <= 10).astype(int)


def _news20(sparsity: int, split: bool = False, features: int | None = None) -> Callable[[int], Case]:
    """News in two classes; another fifth is held out for each seed."""

    def make(seed: int) -> Case:
        X, y = _news()
        rng = np.random.default_rng(seed)
        order = rng.permutation(y.size)
        if features is not None:
            X = X[:, np.sort(rng.permutation(X.shape[1])[:features])]
        test, train = order[: y.size // 5], order[y.size // 5 :]
        held = (X[test], y[test])
        X, y = X[train], y[train]
        if not split:
            return Case(X, y, "classification", {"row_norm": 1.0}, sparsity, test=held)
        private, public = halves(y.size, seed)
        return Case(X[private], y[private], "classification", {"row_norm": 1.0}, sparsity, test=held, public=X[public])

    return make


def _sample(seed: int) -> Case:
    """1,500 real rows of RCV1: two thirds for training."""
    (X, y), test = parts_of("rcv1_sample")
    assert test is not None
    from scipy.sparse import vstack

    X, y = vstack([X, test[0]]).tocsr().astype(float), (np.concatenate([y, test[1]]) > 0).astype(int)
    order = np.random.default_rng(seed).permutation(y.size)
    train, held = order[:1000], order[1000:]
    return Case(X[train], y[train], "classification", {"row_norm": 1.0}, 500, test=(X[held], y[held]))


def _rcv1(sparsity: int, split: bool) -> Callable[[int], Case]:
    def make(seed: int) -> Case:
        found = rcv1()
        X, y = found.X, (found.y > 0).astype(int)
        order = np.random.default_rng(seed).permutation(found.X_test.shape[0])[:20000]
        held = (found.X_test[order], (found.y_test[order] > 0).astype(int))
        if not split:
            return Case(X, y, "classification", {"row_norm": 1.0}, sparsity, test=held)
        private, public = halves(y.size, seed)
        return Case(X[private], y[private], "classification", {"row_norm": 1.0}, sparsity, test=held, public=X[public])

    return make


def _e2006(sparsity: int, features: int, split: bool) -> Callable[[int], Case]:
    """Log volatility about -3.5, within 3.5 of it: public facts of the task, not of the file."""

    def make(seed: int) -> Case:
        found = e2006()
        kept = np.sort(np.random.default_rng(seed).permutation(found.X.shape[1])[:features])
        X, y = unit_rows(found.X[:, kept], log=False), found.y + 3.5
        held = (unit_rows(found.X_test[:, kept], log=False), found.y_test + 3.5)
        bounds = {"row_norm": 1.0, "target_bound": 3.5}
        if not split:
            return Case(X, y, "regression", bounds, sparsity, test=held)
        private, public = halves(y.size, seed)
        return Case(X[private], y[private], "regression", bounds, sparsity, test=held, public=X[public])

    return make


# ------------------------------------------------------------------------------------------------ 002


def _problem(name: str) -> Callable[[int], Case]:
    """A problem of DP-GCD's paper; synthetic ones are drawn anew for each seed, the others differ in their noise alone."""

    def make(seed: int) -> Case:
        found = _solved(name, seed if name in ("log1", "log2", "square") else 0)
        w = found.minimum()
        return Case(
            found.X,
            found.y,
            found.task,
            found.bounds,
            None,
            alpha=found.alpha,
            penalty=found.penalty,
            least=found.best,
            optimum=np.where(np.abs(w) > 1e-9, w, 0.0),
        )

    return make


@lru_cache(maxsize=2)
def _solved(name: str, seed: int) -> gcd_orderings.Problem:
    return gcd_orderings.problem(name, seed)


# ------------------------------------------------------------------------------------------------ 003


def _signs(p: int, s: int, n: int) -> Callable[[int], Case]:
    """Rows of signs, s coefficients of U(0, 1), errors of U(-0.05, 0.05)."""

    def make(seed: int) -> Case:
        X, y, truth = signs(n, p, s, seed)
        bounds = {"feature_bound": 1, "target_bound": 3 * math.sqrt(s / 3) + NOISE}
        return Case(X, y, "regression", bounds, s, truth)

    return make


def _forest(p: int, s: int, n: int) -> Callable[[int], Case]:
    """Forest cover: n rows and p columns, drawn anew for each seed; lambda 1e-3. The least objective is that of IGHT with restarts."""

    def make(seed: int) -> Case:
        X, y = _cover()
        rng = np.random.default_rng(seed)
        columns = np.sort(rng.permutation(X.shape[1])[:p])
        few = rng.permutation(y.size)[:n]
        found = Case(
            X[few][:, columns], y[few], "classification", {"feature_bound": 1.0}, s, alpha=1e-3, relative=False
        )
        twin = SparseClassifier(
            recipe=recipes.IGHT(steps=5000, tol=1e-6, restart=True),
            sparsity=s,
            feature_bound=1.0,
            alpha=1e-3,
            fit_intercept=False,
        ).fit(found.X, found.y)
        return replace(found, least=found.objective(np.ravel(twin.coef_)))

    return make


@lru_cache(maxsize=1)
def _cover() -> tuple[np.ndarray, np.ndarray]:
    found = table("covtype")
    return found.X, found.y


# ------------------------------------------------------------------------------------------------ 004


def _folds(whole: Callable[[], tuple[Any, np.ndarray, str, dict[str, Any]]], sparsity: int, alpha: float) -> Callable:
    """Five folds: seed k holds out fold k mod 5 of shuffle k div 5."""

    def make(seed: int) -> Case:
        X, y, task, bounds = whole()
        train, test = folds(y.size, 5, seed // 5)[seed % 5]
        return Case(X[train], y[train], task, bounds, sparsity, test=(X[test], y[test]), alpha=alpha)

    return make


def _all_rows(whole: Callable[[], tuple[Any, np.ndarray, str, dict[str, Any]]], sparsity: int) -> Callable[[int], Case]:
    """Every row, for objectives by pass; only the noise differs."""

    def make(seed: int) -> Case:
        X, y, task, bounds = whole()
        return Case(X, y, task, bounds, sparsity, alpha=1e-5)

    return make


@lru_cache(maxsize=1)
def _chest() -> tuple[Any, np.ndarray, str, dict[str, Any]]:
    found = digits("pneumonia_mnist")
    return found.X, found.y, "classification", found.bounds


def _news_whole() -> tuple[Any, np.ndarray, str, dict[str, Any]]:
    X, y = _news()
    return X, y, "classification", {"row_norm": 1.0}


def _ratings() -> tuple[Any, np.ndarray, str, dict[str, Any]]:
    """As many reviews as the smaller file of E2006-tfidf has rows: 3,308."""
    (X, y), _ = _imdb("rating")
    return X[:3308], y[:3308], "regression", {"row_norm": 1.0, "target_bound": 4.5}


@lru_cache(maxsize=1)
def _reports() -> tuple[Any, np.ndarray, str, dict[str, Any]]:
    """The smaller file of E2006-tfidf, as in paper 004; log volatility about -3.5."""
    found = e2006()
    assert found.y_test is not None
    return unit_rows(found.X_test, log=False), found.y_test + 3.5, "regression", {"row_norm": 1.0, "target_bound": 3.5}


@lru_cache(maxsize=1)
def _rcv1_whole() -> tuple[Any, np.ndarray, str, dict[str, Any]]:
    found = rcv1()
    return found.X, (found.y > 0).astype(int), "classification", {"row_norm": 1.0}


# ------------------------------------------------------------------------------------------------ the guides


def _growth(d: int) -> Callable[[int], Case]:
    """Rows of signs with ten coefficients: the same signal and the same noise at every d; n = 4,000."""

    def make(seed: int) -> Case:
        X, y, truth = growth_and_convergence.data(4000, d, 10, seed)
        bounds = {"feature_bound": 1.0, "target_bound": 3 * math.sqrt(6.0)}
        return Case(X.astype(float), y, "regression", bounds, 10, truth)

    return make


def _text(name: str, bounds: dict[str, Any], prepare: Callable[[Any], Any], rows: int = 20000) -> Callable[[int], Case]:
    """Sparse rows in two classes: at most so many, of which a fifth is held out for each seed."""

    def make(seed: int) -> Case:
        (X, y), _ = parts_of(name)
        few = np.random.default_rng(seed).permutation(y.size)[:rows]
        X, y = prepare(X[few].astype(float)), (y[few] > (3 if name == "we8there" else 0)).astype(int)
        cut = y.size // 5
        return Case(X[cut:], y[cut:], "classification", bounds, None, test=(X[:cut], y[:cut]))

    return make


#: Name: (file it needs, or none; how it is made from a seed). Names that say "for" are stand-ins.
CASES: dict[str, tuple[str | None, Callable[[int], Case]]] = {
    **{name: (None, _synthetic(name)) for name in SYNTHETIC},
    "imdb rating (for E2006)": ("imdb.npz", _reviews(16087, 50000, 2000, "rating", False)),
    "imdb rating halves (for E2006)": ("imdb.npz", _reviews(16087, 25000, 2000, "rating", True)),
    "imdb rating folds (for E2006)": ("imdb.npz", _folds(_ratings, 200, 0.0)),
    "news20 (for RCV1)": ("news20.npz", _news20(500)),
    "RCV1 sample": ("rcv1_sample.npz", _sample),
    "news20 halves (for RCV1)": ("news20.npz", _news20(500, True, 20000)),
    "news20 folds (for RCV1)": ("news20.npz", _folds(_news_whole, 1000, 1e-5)),
    "news20 all rows (for RCV1)": ("news20.npz", _all_rows(_news_whole, 1000)),
    "chest x-ray folds": ("pneumonia_mnist.npz", _folds(_chest, 200, 1e-5)),
    "chest x-ray all rows": ("pneumonia_mnist.npz", _all_rows(_chest, 200)),
    "E2006": ("E2006.train.bz2", _e2006(2000, 50000, False)),
    "E2006 halves": ("E2006.train.bz2", _e2006(2000, 25000, True)),
    "RCV1": ("rcv1_train.binary.bz2", _rcv1(500, False)),
    "RCV1 halves": ("rcv1_train.binary.bz2", _rcv1(500, True)),
    "E2006 folds": ("E2006.train.bz2", _folds(_reports, 200, 0.0)),
    "RCV1 folds": ("rcv1_train.binary.bz2", _folds(_rcv1_whole, 1000, 1e-5)),
    "RCV1 all rows": ("rcv1_train.binary.bz2", _all_rows(_rcv1_whole, 1000)),
    "log1": (None, _problem("log1")),
    "log2": (None, _problem("log2")),
    "square": (None, _problem("square")),
    "meltingpoint (for mtp)": ("meltingpoint.npz", _problem("meltingpoint")),
    **{name: (f"{name.split('-')[0]}.npz", _problem(name)) for name in ("madelon-l2", "madelon-l1")},
    **{name: (f"{name}.npz", _problem(name)) for name in ("california", "dorothea")},
    **{f"d {d}": (None, _growth(d)) for d in (500, 2_000, 8_000)},
    "reuters, one topic": ("reuters_moneyfx.npz", _text("reuters_moneyfx", {"row_norm": 1.0}, lambda X: X)),
    "basehock": ("basehock.npz", _text("basehock", {"row_norm": 1.0}, unit_rows)),
    "we8there, more than 3 stars": ("we8there.npz", _text("we8there", {"row_norm": 1.0}, unit_rows)),
    "hockey, who is on the ice": ("hockey.npz", _text("hockey", {"row_norm": 4.0, "feature_bound": 1.0}, lambda X: X)),
    **{
        f"n {n}, p {p}, s {s}": (None, _signs(p, s, n))
        for n in (5_000, 20_000, 80_000)
        for p, s in ((50, 10), (200, 10), (800, 10), (200, 5), (200, 20))
    },
    **{
        f"covertype, n {n}, p {p}, s {s}": ("covtype.npz", _forest(p, s, n))
        for n in (1_500, 4_500, 13_500)
        for p, s in ((18, 10), (36, 10), (54, 10), (54, 5), (54, 20))
    },
}


def present(name: str) -> bool:
    """Whether the file that a case needs is in the data folder."""
    return there(CASES[name][0])


@lru_cache(maxsize=2)
def case_of(name: str, seed: int) -> Case:
    """A case by name; the last ones are kept, since methods are run one after the other on the same."""
    return CASES[name][1](seed)
