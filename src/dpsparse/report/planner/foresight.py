"""What the planner says about a fit that is about to be made: from public facts, before anything is spent."""

from __future__ import annotations

import warnings

from ...algorithms.engine import ReleasesConstant
from ...core import HopelessFitWarning, Statement
from ...core.printable import count_of
from ...fitting import FitPlan, Shape
from ...fitting.session import substituted
from ...fitting.statement import draft_fit
from .forecast import Forecast


def hopeless(prepared: FitPlan, shape: Shape) -> str:
    """Why a fit is not expected to be better than a constant; empty where it may be, or where no formula is calibrated.

    Parameters
    ----------
    prepared : FitPlan
    shape : Shape
        The public shape of the data.
    """
    if prepared.priced is None:
        return ""
    if isinstance(prepared.solver, ReleasesConstant) and prepared.solver.releases_constant(prepared.facts):
        rows, columns = count_of(prepared.facts.n_rows, "row"), count_of(prepared.facts.n_features, "feature")
        return (
            f"Noise hides the signal: with {rows} and {columns} only the constant is released, and all of the "
            "budget is spent on it."
        )
    forecast = Forecast.of(prepared, shape)
    case = forecast.case()
    return "" if case is None else forecast.hopeless(case)


def warn_if_hopeless(prepared: FitPlan, shape: Shape, stacklevel: int = 3) -> tuple[str, ...]:
    """Warn of a hopeless fit before anything is spent on it; returns the notes for the statement.

    Fits of an audit, whose data is synthetic, get the note alone.

    Parameters
    ----------
    prepared, shape
        As in `hopeless`.
    stacklevel : int
        Frames between the user's line and this one.
    """
    why = hopeless(prepared, shape)
    if why and not substituted():
        said = f"{why} The method plan(n_rows, n_features) says how many rows, or which epsilon, would be enough."
        warnings.warn(said, HopelessFitWarning, stacklevel=stacklevel)
    return _notes(why)


def draft_of(prepared: FitPlan, shape: Shape) -> Statement:
    """The statement of a fit as far as it is known before rows are read: without what answers add."""
    notes = _notes(hopeless(prepared, shape))
    return draft_fit(prepared, notes=notes, secure=prepared.request.random_state is None)


def _notes(why: str) -> tuple[str, ...]:
    return (f"the planner called this fit hopeless: {why.rstrip('.')}",) if why else ()
