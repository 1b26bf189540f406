"""What the planner says about a model: planned again from its settings and public facts, never from data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..algorithms.constants import PLANNER
from ..core import Statement
from ..estimators.linear import SparseLinear
from ..fitting import Shape, models_of, plan_fit
from .pictures import Axis, Line, plot
from .planner.forecast import ErrorBand
from .planner.summary import PlanSummary

#: Budgets and multiples of the rows for which the expected error is shown.
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
MULTIPLES = (0.5, 1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True)
class Planned:
    """A model's settings, planned again; `proven`: whether its price has a proof."""

    summary: PlanSummary
    proven: bool


@dataclass(frozen=True)
class Cell:
    """A typical test error, and in a word what it is worth; both are empty where no formula is calibrated."""

    error: float | None
    worth: str


@dataclass(frozen=True)
class WhatIf:
    """Expected errors at one number of rows, for each of `EPSILONS`."""

    rows: int
    own: bool
    cells: tuple[Cell, ...]


def repeat_plan(model: SparseLinear, statement: Statement) -> Planned | None:
    """Plan a fitted model once more; None where this installation cannot."""
    try:
        request = model.fitted_request()
        shape = Shape(
            n_rows=statement.n_rows,
            n_features=model.n_features_in_,
            sparse=model.fitted_sparse,
            models=models_of(request.classes),
        )
        prepared = plan_fit(request, shape)
        summary = PlanSummary.of(prepared, shape)
    except (ValueError, TypeError, ArithmeticError):  # a recipe that is not here, or bounds or numbers of another step
        return None
    return Planned(summary, proven=prepared.priced is not None and not prepared.plan.unproven)


def what_if(planned: Planned | None) -> tuple[WhatIf, ...]:
    """Typical test errors at other budgets and numbers of rows, from the planner's formulas."""
    if planned is None or planned.summary.outlook is None or planned.summary.error is None:
        return ()
    summary, constant = planned.summary, planned.summary.error.constant
    found = []
    for multiple in MULTIPLES:
        count = max(1, round(multiple * summary.n_rows))
        bands = [_band(summary, count, epsilon) for epsilon in EPSILONS]
        cells = tuple(Cell(None, "") if b is None else Cell(b.typical, _worth(b.typical, constant)) for b in bands)
        found.append(WhatIf(count, multiple == 1.0, cells))
    return tuple(found)


def needed(planned: Planned | None, statement: Statement) -> dict[str, str]:
    """How many rows a useful fit takes at this epsilon, and which epsilon with these rows, in words."""
    if planned is None:
        return {"rows_needed": "", "epsilon_needed": ""}
    rows, epsilon = planned.summary.rows_needed(statement.epsilon), planned.summary.epsilon_needed()
    return {
        "rows_needed": "more than a billion rows"
        if rows is None
        else f"about {round(rows, 2 - len(str(rows))):,} rows",
        "epsilon_needed": "an epsilon above 50" if epsilon is None else f"epsilon {epsilon:.2g}",
    }


def _worth(error: float, constant: float) -> str:
    if error <= PLANNER.useful * constant:
        return "useful"
    return "hopeless" if error > PLANNER.hopeless * constant else "borderline"


def _band(summary: PlanSummary, rows: int, epsilon: float) -> ErrorBand | None:
    found = None if summary.outlook is None else summary.outlook.error(rows, epsilon)
    return None if found is None else found.test


def forecast(planned: Planned | None, statement: Statement) -> str:
    """Expected test error by epsilon, a curve for each number of rows; one is chosen by its button."""
    if planned is None or planned.summary.error is None:
        return ""
    summary, constant = planned.summary, planned.summary.error.constant
    epsilons = np.geomspace(0.1, 16.0, 17).tolist()  # smooth curves, and each point prepares a fit
    lines, top = [], constant
    for multiple in MULTIPLES:
        count = max(1, round(multiple * summary.n_rows))
        bands = [(epsilon, _band(summary, count, epsilon)) for epsilon in epsilons]
        known = [(epsilon, band) for epsilon, band in bands if band is not None]
        if len(known) < 2:
            return ""
        top = max(top, *(band.high for _, band in known))
        lines.append(
            Line(
                f"{count:,} rows" + (" (this model)" if multiple == 1.0 else ""),
                [epsilon for epsilon, _ in known],
                [band.typical for _, band in known],
                [band.low for _, band in known],
                [band.high for _, band in known],
            )
        )
    level = Line("a constant predictor", [epsilons[0], epsilons[-1]], [constant, constant], dashed=True)
    return plot(
        "Expected test error by epsilon: the typical one, and the band of nine in ten data sets. "
        "From public facts and formulas, not from this data",
        Axis("epsilon", epsilons[0], epsilons[-1], log=True),
        Axis("test error", 0.0, min(top * 1.05, 1.6 * constant)),
        [*lines, level],
        mark=statement.epsilon if epsilons[0] <= statement.epsilon <= epsilons[-1] else None,
        mark_name="this model's epsilon",
        choose="Rows",
        chosen=MULTIPLES.index(1.0),
    )
