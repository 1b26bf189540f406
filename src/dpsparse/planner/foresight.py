"""What the planner says about a fit that is about to be made: from public facts, before anything is spent."""

from __future__ import annotations

import warnings
from dataclasses import replace

from ..fits import Prepared, Shape, in_half_widths, substituted
from ..privacy import HopelessFitWarning
from .outlook import Outlook


def hopeless(prepared: Prepared, shape: Shape) -> str:
    """Why a fit is not expected to be better than a constant; empty where it may be, or where no formula is calibrated.

    Parameters
    ----------
    prepared : Prepared
    shape : Shape
        The public shape of the data.
    """
    if prepared.priced is None:
        return ""
    request = prepared.request
    if prepared.inference is not None:  # one part of the rows makes the model
        shape = replace(shape, n_rows=prepared.inference.first.facts.n_rows)
    outlook = Outlook(
        facts=in_half_widths(request.facts(shape)),
        recipe=prepared.recipe,  # a rule has picked it already
        budget=request.budget_for(shape.n_rows)[0],
        delta=prepared.delta,
        models=shape.models,
    )
    verdict, why = outlook.verdict()
    return why if verdict == "hopeless" else ""


def warn_if_hopeless(prepared: Prepared, shape: Shape, stacklevel: int = 3) -> tuple[str, ...]:
    """Warn of a hopeless fit before anything is spent on it; returns the same as a note for the statement.

    Fits of an audit, whose data is made up, get the note alone.

    Parameters
    ----------
    prepared, shape
        As in `hopeless`.
    stacklevel : int
        Frames between the user's line and this one.
    """
    why = hopeless(prepared, shape)
    if not why:
        return ()
    if not substituted():
        said = f"{why} The method plan(n_rows, n_features) says how many rows, or which epsilon, would be enough."
        warnings.warn(said, HopelessFitWarning, stacklevel=stacklevel)
    return (f"the planner called this fit hopeless: {why.rstrip('.')}",)
