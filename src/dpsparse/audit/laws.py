"""The laws: checks that a solver, an estimator or a loss, ours or a user's own, keeps the rules of this package.

A law needs no statistics. **replay**: the same answers and no data give the identical result.
**swap**: fresh data and the same answers give the identical result. **asks = plan**: what was
priced is what was asked. **peeks**, **brings rows**: a solver reads nothing but the public interface
of its oracle, and holds no data of its own. A program that reads rows, stops on the exact loss, or takes
its intercept from ``y.mean()`` breaks one of them.

The law of swap replaces the rows by fresh data of the same kind (`fresh_rows`). Shape, storage, types,
column names and the set of classes stay, since these are public. Everything else is drawn anew: the balance of
the classes, the moments and the extremes of every column, which entries of a sparse matrix there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ..accounting import price
from ..core import Budget, PrivacyError, PrivacyLeakError, Statement
from ..core.facts import Facts, Vector
from ..core.mechanisms import Randomness
from ..fitting import FitPlan, Matrix, with_oracles, wrapped
from ..fitting.trial import STOPPING
from ..fitting.user_recipes import holdings
from ..io.scikit import BaseEstimator, clone, is_classifier
from ..oracles import GuardedOracle, RecordingOracle, ReplayOracle, make_oracle, refuse_violations
from ..queries.kinds import Oracle, Solver
from ..queries.losses import Loss, refuse_mixing, target_of
from ..rows.hosts import MemoryHost

#: Powers of a uniform number: columns get means between a tenth and nine tenths of their range.
POWERS = (1 / 9, 1 / 3, 3.0, 9.0)


def fresh_rows(X: Any, rng: np.random.Generator) -> Any:
    """Rows of the same kind as X: an array, a sparse matrix, or a frame of pandas or polars."""
    if sp.issparse(X):
        return _fresh_matrix(X, rng)
    if isinstance(X, np.ndarray):
        columns = [fresh_column(X[:, j], rng) for j in range(X.shape[1])]
        return np.array(columns).T.astype(X.dtype) if columns else X.copy()
    if hasattr(X, "iloc"):
        found = {name: type(X[name])(fresh_column(X[name].to_numpy(), rng), dtype=X[name].dtype) for name in X.columns}
        return type(X)(found).set_axis(X.index)
    return type(X)({name: fresh_column(X[name].to_numpy(), rng) for name in X.columns}).cast(dict(X.schema))


def fresh_column(values: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Values of the same type as these, with other moments and other extremes."""
    if values.dtype.kind not in "biuf":
        return _fresh_words(values, rng, every=False)
    known = values[np.isfinite(values.astype(float))]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    part = rng.random(values.size) ** rng.choice(POWERS)
    if values.dtype.kind == "f":
        width = (high - low) or max(abs(low), 1.0)
        return np.asarray(low + width * (0.05 + 0.85 * part), dtype=values.dtype)
    if low == high:
        low, high = (0.0, 1.0) if high in (0.0, 1.0) else (min(low, 0.0), max(high, 0.0))
    return np.asarray(np.floor(low + (high - low + 1) * part * (1 - 2.0**-40)), dtype=values.dtype)


def fresh_labels(y: ArrayLike, rng: np.random.Generator) -> NDArray[Any]:
    """Labels of the same classes, each of them present, with another balance."""
    return _fresh_words(np.asarray(y), rng, every=True)


def fresh_targets(y: ArrayLike, rng: np.random.Generator) -> Vector:
    """Numbers with another mean and another spread."""
    return fresh_column(np.asarray(y), rng)


def _fresh_words(values: NDArray[Any], rng: np.random.Generator, *, every: bool) -> NDArray[Any]:
    """Some of the values that there are, with another frequency of each; `every`: each at least once."""
    distinct, counts = np.unique(values.astype(str) if values.dtype == object else values, return_counts=True)
    if values.dtype == object:
        by_name = {str(value): value for value in values}
        distinct = np.array([by_name[name] for name in distinct], dtype=object)
    weights = (1.0 / counts) ** rng.choice((1.5, 2.0)) * np.arange(1, distinct.size + 1)
    drawn = rng.choice(distinct.size, values.size, p=weights / weights.sum())
    if every:
        drawn[: distinct.size] = np.arange(distinct.size)
    return np.asarray(distinct[rng.permutation(drawn)])


def _fresh_matrix(X: Any, rng: np.random.Generator) -> Any:
    """Another half as full, of the same format and type."""
    n, d = X.shape
    size = max(1, X.nnz // 2)
    data = fresh_column(X.data if X.nnz else np.zeros(1, dtype=X.dtype), rng)
    places = np.unique(rng.integers(0, n * d, size)) if n * d else np.zeros(0, dtype=np.int64)
    entries = (rng.choice(data, places.size), (places // d, places % d))
    return type(X)(sp.coo_array(entries, shape=X.shape, dtype=X.dtype))


class RowsOfAnyKind(Protocol):
    """Rows of any kind that scikit-learn takes and that can be put in another order.

    Arrays, sparse matrices, data frames.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        ...

    def __getitem__(self, rows: list[int], /) -> Self:
        """Some of the rows."""
        ...


def check_solver(
    solver: Solver, facts: Facts, loss: Loss, X: Matrix, y: Vector, *, budget: Budget | None = None
) -> Vector:
    """Check that a solver keeps the laws on some data, and return its coefficients.

    Parameters
    ----------
    solver : Solver
        Anything with ``plan(facts, budget)`` and ``run(oracle)``.
    facts : Facts
    loss : Loss
    X, y
        Data that the facts describe. Any data will do: the laws do not depend on it.
    budget : Budget, optional
        Default (5, 1e-5).

    Raises
    ------
    LawBroken
        With the name of the law: ``plan``, ``violations``, ``asks = plan``, ``replay``, ``swap`` or ``brings rows``.
    """
    budget = budget or Budget.approx(5.0, 1e-5)
    plan = solver.plan(facts, budget)
    if not _same(plan, solver.plan(facts, budget)):
        raise LawBroken(
            "plan: two calls of plan(facts, budget) differ; it may depend on public facts and the budget only."
        )
    priced = price(plan, budget)

    def oracle(X: Matrix, y: Vector) -> Oracle:
        return make_oracle(MemoryHost(X, y, facts), loss, priced, Randomness())

    recorded = RecordingOracle(oracle(X, y))
    try:
        result = _run(solver, recorded)
    except PrivacyError as refusal:
        raise LawBroken(f"asks = plan: the oracle refused. {refusal} {STOPPING}") from refusal
    _all_asked(recorded.unused_turns)
    _same_result("replay", result, lambda: _run(solver, ReplayOracle(recorded, recorded.tape)))
    other = _fresh(X, y, classes=loss.classes, labels_only=plan.labels_only)
    _same_result("swap", result, lambda: _run(solver, ReplayOracle(oracle(*other), recorded.tape)))
    check_brings_no_rows(solver, X, y)  # which no change of the oracle's data shows
    return result


def check_estimator_privacy(estimator: BaseEstimator, X: RowsOfAnyKind, y: ArrayLike) -> None:
    """Check that an estimator's fit keeps the laws: everything it learns comes from the oracle's answers.

    Fits a clone while recording every answer, then fits two more clones that are given the recorded
    answers: one on the same data, one on fresh data of the same shape, types and classes, with
    other moments of every column and another balance of the classes. All fitted attributes and the
    whole statement must be identical.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import SparseRegressor, audit
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.uniform(-1, 1, (50, 4)), rng.uniform(-1, 1, 50)
    >>> audit.check_estimator_privacy(SparseRegressor(feature_bound=1.0, target_bound=1.0), X, y)
    """
    oracles: list[RecordingOracle] = []

    def record(_: FitPlan, oracle: Oracle) -> Oracle:
        oracles.append(RecordingOracle(oracle))
        return GuardedOracle(oracles[-1])

    recorded = _fitted(estimator, X, y, record)
    for oracle in oracles:
        _all_asked(oracle.unused_turns)
    other = _fresh(X, y, classes=is_classifier(estimator), labels_only=oracles[0].plan.labels_only)
    for law, (A, b) in (("replay", (X, y)), ("swap", other)):
        try:
            again = _fitted(estimator, A, b, _replay(iter(oracles)))
        except PrivacyError as refusal:
            raise LawBroken(f"{law}: with the same answers the fit asked for something else. {refusal}") from refusal
        for name in sorted(set(recorded) | set(again)):
            if name not in recorded or name not in again or not _same(recorded[name], again[name]):
                raise LawBroken(
                    f"{law}: {name} differs although every answer was the same, so it was learned past the oracle."
                )


def check_loss(loss: Loss, *, targets: Vector | None = None, margins: Vector | None = None) -> None:
    """Check that a loss is rowwise, that its slope is its derivative, and that its bounds hold.

    A rowwise loss treats every row by itself.

    Examples
    --------
    >>> from dpsparse import audit, losses
    >>> audit.check_loss(losses.Logistic())
    """
    for bound in (1.0,) if loss.classes else (1.0, 1000.0):
        try:
            refuse_mixing(loss, target_of(loss, bound))
        except PrivacyError as refusal:
            raise LawBroken(f"loss: {refusal}") from refusal
    m = np.linspace(-8, 8, 641) if margins is None else margins
    step = 1e-5
    for target in (
        (np.array([0.0, 1.0]) if loss.classes else np.array([-2.0, 0.0, 0.7])) if targets is None else targets
    ):
        y = np.full_like(m, target)
        slope = loss.slope(m, y)
        numeric = (loss.value(m + step, y) - loss.value(m - step, y)) / (2 * step)
        if not np.allclose(slope, numeric, rtol=1e-4, atol=1e-4 * max(1.0, float(np.abs(slope).max()))):
            raise LawBroken(f"loss: the slope of {loss.name!r} is not the derivative of its value.")
        if np.any(np.abs(slope) > loss.slope_bound * (1 + 1e-9)):
            raise LawBroken(f"loss: the slope of {loss.name!r} exceeds its slope_bound {loss.slope_bound}.")
        second = np.diff(slope) / np.diff(m)
        if np.any(np.abs(second) > loss.curvature * (1 + 1e-6)):
            raise LawBroken(f"loss: the second derivative of {loss.name!r} exceeds its curvature {loss.curvature}.")


# ------------------------------------------------------------------------------------------------ inside


def _run(solver: Solver, oracle: Oracle) -> Vector:
    """What a solver finds with the public interface alone."""
    doors = GuardedOracle(oracle)
    try:
        found = solver.run(doors)
        refuse_violations(doors)
    except PrivacyLeakError as leak:
        raise LawBroken(str(leak)) from leak
    return found


def _all_asked(unused: dict[str, int]) -> None:
    if unused:
        raise LawBroken(f"asks = plan: priced and never asked: {unused}. {STOPPING}")


def _same_result(law: str, result: Vector, run: Callable[[], Vector]) -> None:
    try:
        again = run()
    except PrivacyError as refusal:
        raise LawBroken(f"{law}: with the same answers the solver asked for something else. {refusal}") from refusal
    if not _same(result, again):
        raise LawBroken(
            f"{law}: the result differs although every answer was the same, so the solver looked past the oracle."
        )


def _replay(recorded: Iterator[RecordingOracle]) -> Callable[[FitPlan, Oracle], Oracle]:
    """Oracles that play back what others said, one after the other, and show their receipts."""

    def wrap(_: FitPlan, oracle: Oracle) -> Oracle:
        original = next(recorded)
        return GuardedOracle(ReplayOracle(oracle, original.tape, original.receipts))

    return wrap


def _fitted(
    estimator: BaseEstimator, X: object, y: object, wrap: Callable[[FitPlan, Oracle], Oracle]
) -> dict[str, object]:
    """Fit a clone with wrapped oracles; returns what it learned."""
    model = clone(estimator)
    try:
        with with_oracles(wrapped(wrap)):
            model.fit(X, y)
    except PrivacyLeakError as leak:
        raise LawBroken(str(leak)) from leak
    learned = {k: v for k, v in vars(model).items() if k.endswith("_") and not k.startswith("_")}
    learned.pop("path_", None)  # holds times
    statement = learned.get("statement_")
    if isinstance(statement, Statement):
        learned["statement_"] = replace(statement, ledger=None)  # every fit has an entry of its own
    return learned


def _fresh(X: RowsOfAnyKind, y: ArrayLike, *, classes: bool, labels_only: bool) -> tuple[object, Vector]:
    """Fresh data of the same kind. Where labels alone are private, features are public and stay."""
    rng = np.random.default_rng(0)
    draw = fresh_labels if classes else fresh_targets
    return X if labels_only else fresh_rows(X, rng), draw(y, rng)


def _same(a: object, b: object) -> bool:
    """Equal, also for arrays and for records that hold arrays."""
    if is_dataclass(a) and not isinstance(a, type):
        return type(a) is type(b) and all(_same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return bool(np.array_equal(np.asarray(a), np.asarray(b)))
    if isinstance(a, Mapping):
        return isinstance(b, Mapping) and a.keys() == b.keys() and all(_same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return isinstance(b, list | tuple) and len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)


#: Sparse matrices of both kinds.
Sparse = (sp.spmatrix, sp.sparray)


class LawBroken(AssertionError):
    """A law does not hold; the message says which one and what to look for."""


def check_brings_no_rows(solver: object, X: object, y: object) -> None:
    """Refuse a solver that holds the data: as a field, in a closure, or as a global that its methods use.

    Replay and swap cannot see such a solver: what it brought along stays the same when the oracle's data changes.
    """
    for where, value in holdings(solver):
        for what, data in (("X", X), ("y", y)):
            if _equal(value, data):
                raise LawBroken(
                    f"brings rows: {where} holds {what} itself. A solver may know public facts and what its oracle "
                    "answers, so that everything it does is post-processing; take what it needs as an ask."
                )


def _equal(value: object, data: object) -> bool:
    if value is data:
        return True
    if isinstance(value, Sparse) and isinstance(data, Sparse):
        return bool(value.shape == data.shape and not (value != data).nnz)
    if not isinstance(value, np.ndarray) or isinstance(data, Sparse):
        return False
    held = np.asarray(data)
    return held.shape[0] >= 2 and value.shape == held.shape and bool(np.array_equal(value, held))
