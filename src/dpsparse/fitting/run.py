"""Running what was planned and paid for: open the rows, let the solver ask, and state what was guaranteed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..algorithms.interval_clips import Pilot
from ..core import PrivacyError, Statement
from ..core.facts import Vector
from ..oracles import GuardedOracle, refuse_violations
from ..queries.kinds import ClippedShare, Oracle, Path, Unread
from ..recipes import built_in
from ..rows.lattice import Lattice
from ..rows.records import Records
from ..rows.row_bounds import RowBounds
from ..rows.sampling import DataSplit
from ..rows.shapes import Basis
from ..rows.units import Units
from .counts import CLIPPED_ASK, UNREAD, UnreadShares, ask_share, checked_columns, clipping_notes
from .drawn import Drawn
from .parts import Inference, InferenceResult, in_user_units
from .prepare import FitPlan
from .session import OpenOracle, Rows, Session, current_opener
from .shapes import keep_groups, with_monotone
from .statement import complete, with_size


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
    inferred : InferenceResult or None
        Estimates and covariance of a fit with intervals.
    basis : Basis or None
        The public map of a record whose terms have the coefficients; None: its columns have them.
    """

    models: tuple[tuple[Vector, float], ...]
    statement: Statement
    bounds: RowBounds
    paths: tuple[Path, ...] = ()
    joint: bool = False
    inferred: InferenceResult | None = None
    basis: Basis | None = None


@dataclass(frozen=True, eq=False)
class _Solved:
    """What the oracle of one model released, and what its solver made of it. No row is behind it any more."""

    w: Vector
    path: Path | None
    drawn: Drawn
    unread: tuple[Vector, float] | None
    clipped: tuple[Vector, float] | None
    pilot: Pilot | None


def run(
    prepared: FitPlan,
    X: Rows,
    targets: Sequence[Vector],
    opened: Session,
    *,
    draft: Statement,
    opener: OpenOracle | None = None,
) -> FitResult:
    """Run a planned fit that is paid for: one solver for each vector of targets, each with an oracle of its own.

    Of a fit with intervals, part A selects and makes the model, and part B is asked once. To each
    the rows of the other are absent; the key of the split is dropped.

    Parameters
    ----------
    prepared, X, targets
        As in `fit`.
    opened : Session
        Its payment is started before the first answer.
    draft : Statement
    opener : OpenOracle, optional
        Who makes the oracles; default: ours, or what `with_oracles` put in their place.
    """
    opener = current_opener() if opener is None else opener
    request, inference = prepared.request, prepared.inference
    first, split = prepared, None
    if inference is not None:
        first, split = inference.first, _split(inference, opened, Records.of(X).units)
    columns = checked_columns(request.check_cells, X)
    solved = [_solve(first, X, y if split is None else split.targets(y, 0), opened, opener, inference) for y in targets]
    drawn = [one.drawn for one in solved]
    inferred = None
    if inference is not None and split is not None:
        [only], [y] = solved, targets
        inferred, more = _infer(inference, only.pilot, X, split.targets(y, 1), opened, opener)
        drawn += more
        asked = request.sparsity
        inferred = replace(inferred, asked=None if asked is None or asked <= inference.intervals.most else asked)
    scale = prepared.facts.scale
    shift, height = _shift_and_height(first)
    models = [coefficients_of(w, shift, height, scale) for one in solved for w in np.atleast_2d(one.w.T)]
    notes = clipping_notes([one.clipped for one in solved if one.clipped is not None], classes=request.classifies)
    if columns is not None:
        coins = 0.0 if inference is None else (1 - inference.coins.first) / first.facts.n_rows
        unread = [one.unread for one in solved if one.unread is not None]
        shares = UnreadShares.of(unread, columns, first.plan[UNREAD].noise, coins)
        models = [shares.without(model) for model in models]
        inferred = None if inferred is None else shares.without_inferred(inferred)
        notes = (*shares.notes(), *notes)
    models = [(with_monotone(request.basis, coef), intercept) for coef, intercept in models]
    said = replace(draft, notes=(*notes, *draft.notes))
    used = np.any([coef != 0 for coef, _ in models], axis=0)
    return FitResult(
        models=tuple(models),
        statement=with_size(complete(said, drawn, opened.payment), prepared, used),
        bounds=prepared.row_bounds,
        paths=tuple(one.path.rescaled(scale) for one in solved if one.path is not None),
        joint=solved[-1].w.ndim > 1,
        inferred=inferred,
        basis=request.basis,
    )


def _solve(
    prepared: FitPlan, X: Rows, y: Vector, opened: Session, opener: OpenOracle, inference: Inference | None
) -> _Solved:
    """Open rows, ask what is counted beside the fit, and let the solver run."""
    request = prepared.request
    path = Path() if request.keep_path else None
    with opener(prepared, X, y, opened) as oracle:
        unread = None if request.check_cells is None else ask_share(oracle, Unread(), UNREAD)
        clipped = None if request.check_bounds is None else ask_share(oracle, ClippedShare(), CLIPPED_ASK)
        trusted = built_in(prepared.recipe) or not prepared.recipe.private
        w = prepared.solver.run(oracle, path) if trusted else _guarded(prepared, oracle, path)
        w = keep_groups(w, request.members, request.sparsity)
        pilot = None if inference is None else inference.intervals.pilot(oracle, w)
    nothing = inference is not None and pilot is None  # no feature was selected: there is nothing left to ask
    if oracle.unused_turns and not nothing:
        raise PrivacyError(
            f"the solver left priced asks unused: {oracle.unused_turns}. A plan must ask for what it prices."
        )
    paid, part = prepared.of_one_model or prepared.plan, "" if inference is None else "first"
    drawn = Drawn(oracle.receipts, paid, oracle.choices, part, nothing)
    return _Solved(w, path, drawn, unread, clipped, pilot)


def _split(inference: Inference, opened: Session, units: Units | None) -> DataSplit:
    if (units is not None) != (inference.coins.rule == "units"):
        raise PrivacyError("rows are dealt by the rule of the plan: units are read where it says so, and only there.")
    return DataSplit(inference.coins.first, opened.key("parts"), units)


def _infer(
    inference: Inference, pilot: Pilot | None, X: Rows, y: Vector, opened: Session, opener: OpenOracle
) -> tuple[InferenceResult, list[Drawn]]:
    """What part B says about the model of part A, and what was drawn for it."""
    shift, _ = _shift_and_height(inference.second)
    if pilot is None:
        return in_user_units(inference, None, None, shift), []
    with opener(inference.second, X, y, opened) as oracle:
        step = inference.intervals.run(oracle, pilot)
    paid = inference.second.of_one_model or inference.second.plan
    drawn = Drawn(oracle.receipts, paid, oracle.choices, "second")
    return in_user_units(inference, pilot, step, shift), [drawn]


def _shift_and_height(prepared: FitPlan) -> tuple[Vector, float]:
    """What hosts subtract from every row, and the height of the constant column; 0 for none."""
    lattice = Lattice(prepared.facts, exact=not prepared.recipe.private)
    return lattice.applied_shift, lattice.applied_intercept


def _guarded(prepared: FitPlan, oracle: Oracle, path: Path | None) -> Vector:
    """What a solver that is not ours finds: one number for each coordinate, from answers alone."""
    doors = GuardedOracle(oracle)
    w = np.array(prepared.solver.run(doors, path), dtype=float)
    refuse_violations(doors)
    if w.shape != (prepared.facts.dimension,):
        raise PrivacyError(
            f"the solver of recipe {prepared.recipe.name!r} must return {prepared.facts.dimension} numbers, one for "
            f"each coordinate, got an array of shape {w.shape}."
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
