"""What the planner says about a model: planned again from its settings and public facts, never from data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..algorithms.constants import PLANNER
from ..core import Statement
from ..estimators.linear import SparseLinear
from ..fitting import Shape, models_of, plan_fit
from .pictures import Axis, Canvas, Line, Picture
from .planner.forecast import Forecast
from .planner.summary import PlanSummary

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
    outlook, constant = planned.summary.outlook, planned.summary.error.constant
    found = []
    for multiple in MULTIPLES:
        count = max(1, round(multiple * planned.summary.n_rows))
        errors = [outlook.error(count, epsilon) for epsilon in EPSILONS]
        typical = [None if error is None else error.test.typical for error in errors]
        found.append(WhatIf(count, multiple == 1.0, tuple(Cell(v, _worth(v, constant)) for v in typical)))
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


def _worth(error: float | None, constant: float) -> str:
    if error is None:
        return ""
    if error <= PLANNER.useful * constant:
        return "useful"
    return "hopeless" if error > PLANNER.hopeless * constant else "borderline"


def error_line(outlook: Forecast, rows: int | None, epsilons: Sequence[float], label: str) -> Line | None:
    """The typical test error by epsilon and the band of nine in ten data sets; None where fewer than two are known."""
    found = [(epsilon, outlook.error(rows, epsilon)) for epsilon in epsilons]
    known = [(epsilon, error.test) for epsilon, error in found if error is not None]
    if len(known) < 2:
        return None
    x, bands = zip(*known, strict=True)
    y, low, high = ([getattr(band, name) for band in bands] for name in ("typical", "low", "high"))
    return Line(label, x, y, low=low, high=high, band="90 % band")


def forecast(planned: Planned | None, statement: Statement) -> str:
    """Expected test error by epsilon, a curve for each number of rows; one is chosen by its button."""
    if planned is None or planned.summary.error is None or planned.summary.outlook is None:
        return ""
    summary, constant = planned.summary, planned.summary.error.constant
    epsilons = np.geomspace(0.1, 16.0, 17).tolist()  # smooth curves, and each point prepares a fit
    lines = []
    for multiple in MULTIPLES:
        count = max(1, round(multiple * summary.n_rows))
        label = f"{count:,} rows" + (" (this model)" if multiple == 1.0 else "")
        lines.append(error_line(planned.summary.outlook, count, epsilons, label))
    known = [line for line in lines if line is not None]
    if len(known) < len(lines):
        return ""
    top = max([constant, *(value for line in known for value in line.high or ())])
    return Picture(
        title="Expected test error by epsilon: the typical one, and the band of nine in ten data sets. "
        "From public facts and formulas, not from this data",
        across=Axis("epsilon", epsilons[0], epsilons[-1], log=True),
        up=Axis("test error", 0.0, min(top * 1.05, 1.6 * constant)),
        lines=[*known, Line("a constant predictor", (), [constant], level=True)],
        mark=statement.epsilon if epsilons[0] <= statement.epsilon <= epsilons[-1] else None,
        mark_name="this model's epsilon",
        choose="Rows",
        chosen=MULTIPLES.index(1.0),
    ).svg()


def plot_error(outlook: Forecast, where: Canvas, epsilon: float | None = None) -> Axes:
    """Draw the band of the test error against epsilon.

    Parameters
    ----------
    outlook : Forecast
    where : path, matplotlib Axes or None
        A file (its ending says which format), or axes to draw on; None: the current ones of pyplot.
    epsilon : float or None
        Marked, if given.
    """
    epsilons, error, facts = np.geomspace(0.1, 16.0, 33).tolist(), outlook.error(), outlook.facts
    line = error_line(outlook, None, epsilons, "typical")
    if line is None or error is None:
        raise ValueError(
            "there is no expected error to plot for this recipe and loss. Use auto, select_polish or dual_averaging."
        )
    what = "error rate" if facts.target.classes else "mean squared error / variance"
    picture = Picture(
        title="Expected test error by epsilon",
        across=Axis("epsilon", epsilons[0], epsilons[-1], log=True),
        up=Axis(what, 0.0, 1.25 * error.constant),
        lines=[line, Line("constant predictor", (), [error.constant], level=True)],
        mark=epsilon,
        mark_name="" if epsilon is None else f"epsilon = {epsilon:g}",
    )
    return picture.draw(where, f"{facts.n_rows} rows, {facts.n_features} features")
