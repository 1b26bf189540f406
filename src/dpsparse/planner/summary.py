"""A priced plan in words and numbers."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from ..accounting.pricing import PricedPlan, describe
from ..facts import Clip
from ..fits import FitRequest, Prepared, Shape, in_half_widths, models_of, prepare
from ..losses import classes_of
from ..plain import Json, plain
from ..privacy.attacker import weaknesses
from ..privacy.plan import Plan
from ..privacy.words import page
from . import local
from .assumed import Assumed
from .intervals import IntervalForecast, forecast
from .outlook import ExpectedError, Outlook
from .plotting import plot_error
from .reach import smallest_coefficient

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class PlanSummary:
    """What a fit would ask and with how much noise.

    Attributes
    ----------
    recipe : str
    n_rows, n_features : int
    models : int
        Models that share the budget.
    classes : int
        Classes that one model tells apart by a margin each; 1 where a row has one margin.
    settings : dict
        The loop's constants after every default was filled in from public facts.
    asks : list of dict
        Each ask with its noise per turn: `strength` is mu, eta or epsilon of one draw. Where a plan has branches, `branch`
        names the one it belongs to; answers choose among them, and every one is priced.
    epsilon, delta, rho, mu : float or None
        What it would cost; None for a baseline without privacy.
    accountant : str
    reason : str
        Why this recipe, where a rule picked it.
    error : ExpectedError or None
        Bands of the test error, of the excess over the best model, and of the coefficients; None where no formula is calibrated.
    smallest_coefficient : float or None
        The smallest coefficient, in the user's units, that is found with probability 90 %.
    verdict, why : str
        useful, borderline, hopeless, or unknown; and a sentence about it.
    warnings : tuple of str
        What a user should know before spending.
    intervals : IntervalForecast or None
        How wide intervals will be, where they were asked for.
    outlook : Outlook or None
        The formulas behind `error`, for other numbers of rows and budgets.
    """

    recipe: str
    n_rows: int
    n_features: int
    models: int
    classes: int
    settings: dict[str, Json]
    asks: list[dict[str, Json]]
    epsilon: float | None
    delta: float | None
    rho: float | None
    mu: float | None
    accountant: str
    reason: str = ""
    error: ExpectedError | None = None
    smallest_coefficient: float | None = None
    verdict: str = "unknown"
    why: str = ""
    warnings: tuple[str, ...] = ()
    intervals: IntervalForecast | None = None
    outlook: Outlook | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, prepared: Prepared, outlook: Outlook | None = None) -> PlanSummary:
        """Summarise what an estimator prepared, and what to expect of it."""
        error = None if outlook is None else outlook.error()
        smallest = intervals = None
        model = prepared if prepared.inference is None else prepared.inference.first
        if outlook is not None and error is not None:
            left = error.excess.typical
            scale = outlook.assumed.scale(prepared.facts)
            smallest = smallest_coefficient(model, scale=scale, signal=error.signal, left=min(left, 1.0))
            intervals = forecast(prepared, scale=scale, signal=error.signal)
        verdict, why = ("unknown", "A baseline without privacy.") if outlook is None else outlook.verdict()
        priced: PricedPlan | None = prepared.priced
        asks: list[dict[str, Json]] = []
        for plan in prepared.plan.parts or (prepared.plan,):
            asks += _asks(plan, None if priced is None else replace(priced, plan=plan), "")
            for name, branch in plan.branches:
                asks += _asks(branch, None if priced is None else replace(priced, plan=branch), name)
        return cls(
            recipe=prepared.recipe.name,
            n_rows=prepared.facts.n_rows,
            n_features=prepared.facts.n_features,
            models=prepared.models,
            classes=classes_of(prepared.loss),
            settings={f.name: _setting(getattr(prepared.solver, f.name)) for f in fields(prepared.solver)},  # type: ignore[arg-type]
            asks=asks,
            epsilon=None if priced is None else priced.epsilon(prepared.delta),
            delta=None if priced is None else prepared.delta,
            rho=None if priced is None else priced.rho,
            mu=None if priced is None else priced.mu,
            accountant="none" if priced is None else priced.accountant,
            reason=prepared.reason,
            error=error,
            smallest_coefficient=smallest,
            verdict=verdict,
            why=why,
            warnings=(*_weak(prepared), *local.warnings(prepared)),
            intervals=intervals,
            outlook=outlook,
        )

    def rows_needed(self, epsilon: float = 1.0, error: float | None = None) -> int | None:
        """How many rows this epsilon takes.

        Parameters
        ----------
        epsilon : float
        error : float or None
            A typical test error to reach; None: the verdict useful.

        Returns
        -------
        int or None
            None beyond a billion rows, or where no formula is calibrated.
        """
        return None if self.outlook is None else self.outlook.rows_needed(epsilon, error)

    def epsilon_needed(self, n_rows: int | None = None, error: float | None = None) -> float | None:
        """What epsilon so many rows take (None: those of the plan); None beyond 50, or where no formula is calibrated."""
        return None if self.outlook is None else self.outlook.epsilon_needed(n_rows, error)

    def plot(self, where: str | PathLike[str] | Axes | None = None) -> Axes:
        """Draw the expected error against epsilon, on the current axes of pyplot, on given ones, or in a file; returns the axes."""
        if self.outlook is None:
            raise ValueError("a baseline without privacy has no expected error to plot. Choose a private recipe.")
        return plot_error(self.outlook, where, self.epsilon)

    def to_dict(self) -> dict[str, object]:
        """Plain JSON types."""
        plain = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "outlook"}
        return plain | {
            "error": None if self.error is None else self.error.to_dict(),
            "intervals": None if self.intervals is None else self.intervals.to_dict(),
            "warnings": list(self.warnings),
            "rows_needed": self.rows_needed(),
            "epsilon_needed": self.epsilon_needed(),
        }

    def __str__(self) -> str:
        lines = [f"{self.recipe} on {self.n_rows} rows x {self.n_features} features"]
        if self.models > 1:
            lines[0] += f", {self.models} one-versus-rest models"
        elif self.classes > 2:
            lines[0] += f", one model of {self.classes} classes"
        if self.reason:
            lines.append(f"  {self.reason}")
        if self.epsilon is None:
            lines.append("  no privacy: a baseline for comparison")
        else:
            lines.append(
                f"  costs ({self.epsilon:.6g}, {self.delta:.3g})-DP = {self.rho:.4g}-zCDP = {self.mu:.4g}-GDP, by {self.accountant}"
            )
        branches = list(dict.fromkeys(a["branch"] for a in self.asks if a["branch"]))
        for ask in self.asks:
            if ask["branch"] not in ("", *branches[-1:]):
                continue
            strength = ask.get("strength")
            often = "" if strength is None else f": strength {_span(strength)} per draw"
            lines.append(f"  asks {ask['text']}{often}")
        if len(branches) > 1:
            lines.append(f"  the last {branches[-1]!r} is one of {len(branches)} branches that answers choose from")
        lines.extend(f"  {name} = {_span(value)}" for name, value in self.settings.items() if value is not None)
        return "\n".join([*lines, *self._expected()])

    @property
    def caveats(self) -> tuple[str, ...]:
        """What speaks against spending the budget on it; first in `_repr_html_`."""
        none = ("no privacy: a baseline for comparison",) if self.epsilon is None else ()
        verdict = (f"hopeless: {self.why.rstrip('.')}",) if self.verdict == "hopeless" else ()
        return (*none, *(warning.rstrip(".") for warning in self.warnings), *verdict)

    def _repr_html_(self) -> str:
        cost = "" if self.epsilon is None else f", under ({self.epsilon:.6g}, {self.delta:.3g})-differential privacy"
        why = "" if self.caveats else f" {self.why}"
        head = (
            f"{self.recipe} on {self.n_rows:,} rows x {self.n_features:,} features{cost}. Verdict: {self.verdict}.{why}"
        )
        return page(self.caveats, head, good=not self.caveats, more=str(self))

    def _expected(self) -> list[str]:
        lines = [f"  warning: {warning}" for warning in self.warnings]
        if self.error is None:
            return lines
        what = "error rate" if self.error.constant < 1 else "mean squared error / variance"
        lines += [
            "what to expect: typical (90 % band)",
            f"  {what} {self.error.test}; a constant predictor has {self.error.constant:.3g}",
            f"  part of the attainable improvement that is lost {self.error.excess}",
        ]
        if self.error.coefficients is not None:
            lines.append(f"  relative error of the coefficients {self.error.coefficients}")
        if self.smallest_coefficient is not None:
            lines.append(f"  smallest coefficient found with probability 90 %: {self.smallest_coefficient:.3g}")
        rows, epsilon = self.rows_needed(), self.epsilon_needed()
        many = "more than a billion" if rows is None else f"about {round(rows, 2 - len(str(rows))):,}"
        lines += [
            f"  rows for a useful fit at epsilon = 1: {many}",
            f"  epsilon for a useful fit with {self.n_rows} rows: {'more than 50' if epsilon is None else f'about {epsilon:.2g}'}",
            f"  assumes that the best linear model removes {self.error.signal:.0%} of a constant predictor's error (signal=)",
            f"verdict: {self.verdict}. {self.why}",
        ]
        return lines if self.intervals is None else [*lines, *self.intervals.lines()]


def summarise(request: FitRequest, n_rows: int, n_features: int, assumed: Assumed) -> PlanSummary:
    """What a fit on data of this shape would ask, and what to expect of it. Reads no data, spends nothing.

    Parameters
    ----------
    request : FitRequest
    n_rows, n_features : int
        The public shape of the data.
    assumed : Assumed
        What is taken for granted about the data, for the expected error.
    """
    shape = Shape(n_rows=n_rows, n_features=n_features, models=models_of(request.classes))
    prepared = prepare(request, shape)
    if prepared.priced is None:
        return PlanSummary.of(prepared)
    if prepared.inference is not None:  # one part of the rows makes the model
        shape = replace(shape, n_rows=prepared.inference.first.facts.n_rows)
    outlook = Outlook(
        facts=in_half_widths(request.facts(shape)),
        recipe=request.recipe if prepared.inference is None else prepared.recipe,
        budget=request.budget_for(shape.n_rows)[0],
        delta=prepared.delta,
        models=shape.models,
        assumed=assumed,
    )
    return PlanSummary.of(prepared, outlook)


def _weak(prepared: Prepared) -> tuple[str, ...]:
    """Caveats that the statement of such a fit will carry because of its numbers."""
    priced = prepared.priced
    if priced is None:
        return ()
    epsilon = priced.epsilon(prepared.delta)
    return weaknesses(epsilon, prepared.delta, prepared.facts.n_rows, priced.mu, priced.rho)


def _asks(plan: Plan, priced: PricedPlan | None, branch: str) -> list[dict[str, Json]]:
    found = []
    for ask in plan.asks:
        entry: dict[str, Json] = {
            "branch": branch,
            "name": ask.name,
            "times": ask.times,
            "draws": ask.draws,
            "noise": str(ask.noise),
            "rows": str(ask.rows),
        }
        if priced is not None:
            strengths = [priced.cost(ask.name, t).strength for t in range(ask.times)]
            entry["strength"] = strengths[0] if len(set(strengths)) == 1 else plain(strengths)
        found.append(entry | {"text": describe(ask)})
    return found


def _setting(value: object) -> Json:
    """One constant of a loop: a clip by its two numbers, a matrix by its shape, everything else in its plain form."""
    if isinstance(value, Clip):
        return plain({"norm": value.norm, "entry": value.entry})
    if isinstance(value, tuple):
        return [_setting(entry) for entry in value]
    if isinstance(value, np.ndarray):
        return f"public numbers of shape {value.shape}"
    if is_dataclass(value) and not isinstance(value, type) and type(value).__str__ is object.__str__:
        return {field.name: _setting(getattr(value, field.name)) for field in fields(value)}
    return plain(value)


def _span(value: Json) -> str:
    numbers = [v for v in value if isinstance(v, int | float)] if isinstance(value, list) else []
    if isinstance(value, list) and value and len(numbers) == len(value):
        low, high = min(numbers), max(numbers)
        return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_span(part)}" for name, part in value.items() if part is not None)
    return f"{value:.4g}" if isinstance(value, float) else str(value)
