"""Running what was prepared and paid for: hand over the rows, let the solver ask, and state what was promised."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..core import PrivacyError, Receipt, Statement
from ..core.facts import Vector
from ..core.mechanisms import Randomness
from ..ledger import Payment
from ..oracles import GuardedOracle, refuse_violations
from ..queries.kinds import Oracle, Path
from ..recipes import built_in
from ..rows.data_split import DataSplit
from ..rows.row_bounds import RowBounds
from .clipping import ask_clipped, clipping_notes
from .oracle import ProgressCallback, Rows, Session, open_oracle
from .parts import InferenceResult, in_user_units, nothing_selected
from .prepare import UNREAD, FitPlan
from .statement import complete, with_size
from .unread import UnreadShares, ask_unread, checked_columns


class OpenOracle(Protocol):
    """Who makes the oracle of one model, from what was prepared and from rows."""

    def __call__(
        self, prepared: FitPlan, X: Rows, y: Vector, randomness: Randomness, payment: Payment, watcher: ProgressCallback
    ) -> Session:
        """An oracle over the rows."""
        ...


@dataclass(frozen=True, eq=False)
class FitResult:
    """What a fit learned.

    Attributes
    ----------
    models : tuple of (coefficients, intercept)
        One pair for each model, or for each class, in the units of the user; without the centre of the target.
    statement : Statement
    bounds : RowBounds
        To which rows were clipped, in the units of the user; a model that is applied clips rows to them, too.
    paths : tuple of Path
        Released iterates of each model; empty unless they were kept.
    joint : bool
        Whether all classes are one model, whose margins give probabilities together.
    inferred : Inferred or None
        Estimates and covariance of a fit with intervals.
    """

    models: tuple[tuple[Vector, float], ...]
    statement: Statement
    bounds: RowBounds
    paths: tuple[Path, ...] = ()
    joint: bool = False
    inferred: InferenceResult | None = None


_opener: ContextVar[OpenOracle] = ContextVar("dpsparse_open_oracle", default=open_oracle)


@contextmanager
def with_oracles(opener: OpenOracle) -> Iterator[None]:
    """Let fits inside this block get their oracles from another function: for audits and laws, which record and replay.

    It holds for this thread and context only, whichever way the fit is called: by an estimator, by a user's own subclass, in a
    pipeline or in a search. Call `open_oracle` inside `opener` for the ordinary oracle.
    """
    before = _opener.set(opener)
    try:
        yield
    finally:
        _opener.reset(before)


def substituted() -> bool:
    """Whether fits get their oracles from elsewhere here: then they are part of an audit, and nothing is released."""
    return _opener.get() is not open_oracle


def run(
    prepared: FitPlan,
    X: Rows,
    targets: Sequence[Vector],
    payment: Payment,
    watcher: ProgressCallback,
    *,
    draft: Statement,
    randomness: Randomness,
    open_oracle: OpenOracle | None = None,
    units: NDArray[np.str_] | None = None,
) -> FitResult:
    """Run a prepared fit that is paid for: one solver for each vector of targets, each with an oracle of its own.

    Parameters
    ----------
    prepared, X, targets
        As in `fit`.
    payment : Payment
        Started before the first answer.
    watcher : function of a name
        Told of every charge.
    draft : Statement
    randomness : Randomness
    open_oracle : OpenOracle, optional
        Who makes the oracles; default: ours, or what `with_oracles` put in their place.
    units : array of str, optional
        The unit of each row, for a deal into parts.
    """
    opener = _opener.get() if open_oracle is None else open_oracle
    if prepared.inference is not None:
        [y] = targets
        return _run_parts(prepared, X, y, payment, watcher, draft, randomness, opener, units)
    models: list[tuple[Vector, float]] = []
    answers: list[Receipt] = []
    paths: list[Path] = []
    chosen: list[str] = []
    joint, clipped, unread = False, [], []
    columns = checked_columns(prepared.request.check_cells, X)
    for y in targets:
        opened = opener(prepared, X, y, randomness, payment, watcher)
        path = Path() if prepared.request.keep_path else None
        with closing(opened):
            if columns is not None:
                unread.append(ask_unread(opened.oracle))
            if prepared.request.check_bounds is not None:
                clipped.append(ask_clipped(opened.oracle))
            w = _solved(prepared, opened.oracle, path)
        if opened.oracle.unused_turns:
            raise PrivacyError(
                f"the solver left priced asks unused: {opened.oracle.unused_turns}. A plan must ask for what it prices."
            )
        answers.extend(opened.oracle.receipts)
        chosen.extend(opened.oracle.choices)
        joint = w.ndim > 1
        scale = prepared.facts.scale
        models.extend(coefficients_of(one, opened.shift, opened.height, scale) for one in np.atleast_2d(w.T))
        paths.extend([] if path is None else [path.rescaled(scale)])
    notes = clipping_notes(clipped, classes=prepared.request.classifies)
    if columns is not None:
        shares = UnreadShares.of(unread, columns, prepared.plan[UNREAD].noise)
        models = [shares.without(model) for model in models]
        notes = (*shares.notes(), *notes)
    said = replace(draft, notes=(*notes, *draft.notes))
    used = int(np.any([coef != 0 for coef, _ in models], axis=0).sum())
    stated = with_size(complete(said, answers, payment, chosen), prepared, used)
    return FitResult(tuple(models), stated, prepared.row_bounds, tuple(paths), joint)


def _run_parts(
    prepared: FitPlan,
    X: Rows,
    y: Vector,
    payment: Payment,
    watcher: ProgressCallback,
    draft: Statement,
    randomness: Randomness,
    opener: OpenOracle,
    units: NDArray[np.str_] | None,
) -> FitResult:
    """Part A selects and makes the model; part B is asked once. To each the rows of the other are absent; the key of the coins is dropped."""
    inference, request = prepared.inference, prepared.request
    assert inference is not None
    if (units is not None) != (inference.coins.rule == "units"):
        raise PrivacyError("rows are dealt by the rule of the plan: units are told where it says so, and only there.")
    deal = DataSplit(inference.coins.first, randomness.key(), units)
    path = Path() if request.keep_path else None
    columns = checked_columns(request.check_cells, X)
    first = opener(inference.first, X, deal.targets(y, 0), randomness, payment, watcher)
    with closing(first):
        unread = [] if columns is None else [ask_unread(first.oracle)]
        clipped = [] if request.check_bounds is None else [ask_clipped(first.oracle)]
        w = _solved(inference.first, first.oracle, path)
        pilot = inference.intervals.pilot(first.oracle, w)
    answers = [replace(answer, part="first") for answer in first.oracle.receipts]
    asked = None if request.sparsity is None or request.sparsity <= inference.intervals.most else request.sparsity
    if pilot is None:  # nothing to ask the second part
        inferred = nothing_selected(inference, asked)
    else:
        if first.oracle.unused_turns:
            raise PrivacyError(f"the first part left priced asks unused: {first.oracle.unused_turns}.")
        second = opener(inference.second, X, deal.targets(y, 1), randomness, payment, watcher)
        with closing(second):
            step = inference.intervals.run(second.oracle, pilot)
        answers += [replace(answer, part="second") for answer in second.oracle.receipts]
        inferred = in_user_units(inference, pilot, step, second.shift, asked)
    scale = prepared.facts.scale
    model = coefficients_of(w, first.shift, first.height, scale)
    notes = clipping_notes(clipped, classes=request.classifies)
    if columns is not None:
        coins = (1 - inference.coins.first) / inference.first.facts.n_rows
        shares = UnreadShares.of(unread, columns, inference.first.plan[UNREAD].noise, coins)
        model, inferred = shares.without(model), shares.without_inferred(inferred)
        notes = (*shares.notes(), *notes)
    said = replace(draft, notes=(*notes, *draft.notes))
    stated = with_size(
        complete(said, answers, payment, first.oracle.choices), prepared, int(np.count_nonzero(model[0]))
    )
    released = () if path is None else (path.rescaled(scale),)
    return FitResult((model,), stated, prepared.row_bounds, released, inferred=inferred)


def _solved(prepared: FitPlan, oracle: Oracle, path: Path | None) -> Vector:
    """What the solver finds. One that is not ours sees the doors of its oracle, and must give one number for each coordinate."""
    if built_in(prepared.recipe) or not prepared.recipe.private:
        return prepared.solver.run(oracle, path)
    doors = GuardedOracle(oracle)
    w = np.array(prepared.solver.run(doors, path), dtype=float)
    refuse_violations(doors)
    if w.shape != (prepared.facts.dimension,):
        raise PrivacyError(
            f"the solver of recipe {prepared.recipe.name!r} must return {prepared.facts.dimension} numbers, one for each coordinate, "
            f"got an array of shape {w.shape}."
        )
    return w


def coefficients_of(w: Vector, shift: Vector, height: float, scale: float | Vector = 1.0) -> tuple[Vector, float]:
    """Coefficients of the features as the user knows them, and the intercept: public scale, shift and height undone.

    Parameters
    ----------
    w : array
        What a solver found: one coefficient for each feature and, if `height` is not zero, one for the constant column.
    shift : array of shape (n_features,)
        What was subtracted from every row.
    height : float
        Of the constant column; 0 for none.
    scale : float or array of shape (n_features,)
        What every column was divided by, before the shift.
    """
    coef = w[: shift.size] + 0.0
    constant = height * float(w[-1]) if height else 0.0
    return coef / scale, constant - float(shift @ coef)
