"""A priced plan in words and numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, is_dataclass
from os import PathLike
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...core.attacker import attacker_success, in_percent
from ...core.facts import Clip
from ...core.plain import Json, Printed, to_json
from ...core.printable import count_of
from ...core.words import statement_page
from ...fitting import FitPlan, FitRequest, Shape, plan_fit
from ...queries.losses import classes_of
from . import local
from .asks import PlannedAsk, ask_lines, kind_of_rows, planned_asks, span
from .assumptions import Assumptions
from .forecast import ExpectedError, Forecast
from .foresight import draft_of
from .intervals import IntervalForecast, forecast
from .smallest_coefficient import smallest_coefficient

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class PlanSummary(Printed):
    """What a fit would ask and with how much noise.

    Attributes
    ----------
    recipe : str
    n_rows, n_features : int
    sparse : bool
        Whether the plan is for sparse rows. A fit of rows of the other kind may have another plan.
    models : int
        Models that share the budget.
    classes : int
        Classes that one model distinguishes by a margin each; 1 where a row has one margin.
    settings : dict
        The loop's constants after every default was filled in from public facts.
    asks : tuple of PlannedAsk
        Every query of one model, at its price. Where a plan has branches, answers choose among
        them, and every one is priced.
    epsilon, delta, rho, mu : float or None
        What it would cost; None for a baseline without privacy. rho and mu are infinite where the
        statement will not state them.
    accountant : str
    adjacency, unit : str
        As the statement of such a fit will say.
    reason : str
        Why this recipe, where a rule picked it.
    notes : tuple of str
        Notes of the statement that do not depend on answers.
    error : ExpectedError or None
        Bands of the test error, of the excess over the best model, and of the coefficients; None
        where no formula is calibrated.
    signal_needed : float or None
        The weakest signal for which four of five fits are useful: the part of a constant
        predictor's error that the best linear model has to remove. None where none is strong enough.
    smallest_coefficient : float or None
        The smallest coefficient, in the user's units, that is found with probability 90 %.
    verdict, why : str
        useful, borderline, hopeless, or unknown; and a sentence about it.
    warnings : tuple of str
        Caveats that the statement of such a fit will carry, and what a user should know besides.
    intervals : IntervalForecast or None
        How wide intervals will be, where they were asked for.
    outlook : Forecast or None
        The formulas behind `error`, for other numbers of rows and budgets.
    """

    also: ClassVar[tuple[str, ...]] = ("rows_needed", "epsilon_needed", "strengths", "attacker_success")

    recipe: str
    n_rows: int
    n_features: int
    sparse: bool
    models: int
    classes: int
    settings: dict[str, Json]
    asks: tuple[PlannedAsk, ...]
    epsilon: float | None
    delta: float | None
    rho: float | None
    mu: float | None
    accountant: str
    adjacency: str
    unit: str
    reason: str = ""
    notes: tuple[str, ...] = ()
    error: ExpectedError | None = None
    signal_needed: float | None = None
    smallest_coefficient: float | None = None
    verdict: str = "unknown"
    why: str = ""
    warnings: tuple[str, ...] = ()
    intervals: IntervalForecast | None = None
    outlook: Forecast | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, prepared: FitPlan, shape: Shape, assumed: Assumptions = Assumptions()) -> PlanSummary:  # noqa: B008
        """Summarise what an estimator prepared for data of this shape, and what to expect of it."""
        priced = prepared.priced
        outlook = None if priced is None else Forecast.of(prepared, shape, assumed)
        error = None if outlook is None else outlook.error()
        smallest = intervals = None
        if outlook is not None and error is not None:
            scale = assumed.scale(prepared.facts)
            left = min(error.excess.typical, 1.0)
            smallest = smallest_coefficient(outlook.prepared, scale=scale, signal=error.signal, left=left)
            intervals = forecast(prepared, scale=scale, signal=error.signal)
        verdict, why = ("unknown", "A baseline without privacy.") if outlook is None else outlook.verdict()
        draft = draft_of(prepared, shape)
        return cls(
            recipe=draft.recipe,
            n_rows=draft.n_rows,
            n_features=prepared.facts.n_features,
            sparse=prepared.facts.sparse,
            models=prepared.models,
            classes=classes_of(prepared.loss),
            settings={
                f.name: _setting(getattr(prepared.solver, f.name))
                for f in fields(prepared.solver)  # type: ignore[arg-type]
            },
            asks=planned_asks(prepared.plan, prepared.of_one_model),
            **{name: None if priced is None else getattr(draft, name) for name in ("epsilon", "delta", "rho", "mu")},
            accountant=draft.accountant,
            adjacency=draft.adjacency,
            unit=draft.unit,
            reason=prepared.reason,
            notes=draft.notes,
            error=error,
            signal_needed=None if outlook is None else outlook.signal_needed(),
            smallest_coefficient=smallest,
            verdict=verdict,
            why=why,
            warnings=tuple(dict.fromkeys((*draft.caveats, *local.warnings(prepared)))),
            intervals=intervals,
            outlook=outlook,
        )

    def rows_needed(self, epsilon: float = 1.0, error: float | None = None) -> int | None:
        """How many rows this epsilon takes.

        Parameters
        ----------
        epsilon : float
        error : float or None
            A typical test error to attain; None: the verdict useful.

        Returns
        -------
        int or None
            None beyond a billion rows, or where no formula is calibrated.
        """
        return None if self.outlook is None else self.outlook.rows_needed(epsilon, error)

    def epsilon_needed(self, n_rows: int | None = None, error: float | None = None) -> float | None:
        """What epsilon this number of rows needs (None: those of the plan).

        None beyond 50, or where no formula is calibrated.
        """
        return None if self.outlook is None else self.outlook.epsilon_needed(n_rows, error)

    def strengths(self) -> tuple[ExpectedError, ...]:
        """The expected error for a weak, a medium and a strong signal; empty where no formula is calibrated."""
        return () if self.outlook is None else self.outlook.strengths()

    def plot(self, where: str | PathLike[str] | Axes | None = None) -> Axes:
        """Draw the expected error against epsilon, on the current axes of pyplot, on given ones, or in a file.

        Returns the axes.
        """
        if self.outlook is None:
            raise ValueError("a baseline without privacy has no expected error to plot. Choose a private recipe.")
        from ..expected import plot_error

        return plot_error(self.outlook, where, self.epsilon)

    def __str__(self) -> str:
        lines = [f"{self.recipe} on {self.n_rows} {kind_of_rows(self.sparse)} x {self.n_features} features"]
        if self.models > 1:
            lines[0] += f", {self.models} one-versus-rest models"
        elif self.classes > 2:
            lines[0] += f", one model of {self.classes} classes"
        if self.reason:
            lines.append(f"  {self.reason}")
        if self.epsilon is not None:
            known = [(v, name) for v, name in ((self.rho, "zCDP"), (self.mu, "GDP")) if v is not None and v < math.inf]
            also = "".join(f" = {v:.4g}-{name}" for v, name in known)
            lines.append(f"  costs ({self.epsilon:.6g}, {self.delta:.3g})-DP{also}, by {self.accountant}")
        lines += ask_lines(self.asks)
        lines.extend(f"  {name} = {span(value)}" for name, value in self.settings.items() if value is not None)
        return "\n".join([*lines, *self._expected()])

    def brief(self) -> str:
        """Six lines: verdict, cost, error, what a useful fit needs, what is assumed, what would run.

        Caveats of the statement come first, a line each; intervals that were asked for are a seventh.
        """
        shape = f"{self.n_rows:,} {kind_of_rows(self.sparse)} x {self.n_features:,} features"
        lines = [f"Warning: {warning}" for warning in self.warnings]
        lines += [
            f"Verdict: {_verdict(self.verdict, _first_sentence(self.why))}",
            f"Cost: {self._cost()}",
            f"Error: {self._test_error()}",
            f"Needed: {self._needed()}",
            f"Assumed: {self.assumed()}",
            f"Recipe: {self.recipe} on {shape}",
        ]
        if self.intervals is not None:
            lines.append(f"Intervals: {self.intervals.brief()}")
        return "\n".join(lines)

    def _cost(self) -> str:
        if self.epsilon is None or self.delta is None:
            return "no privacy at all: a baseline to compare with"
        return (
            f"({self.epsilon:.6g}, {self.delta:.3g})-differential privacy; an attacker's best guess about one record "
            f"is right at most {in_percent(self.attacker_success)} of the time (a coin: 50 %)"
        )

    @property
    def attacker_success(self) -> float:
        """How often an attacker guesses right between two equally likely neighbours, at most; 1 without privacy."""
        if self.epsilon is None or self.delta is None:
            return 1.0
        mu, rho = (math.inf if value is None else value for value in (self.mu, self.rho))
        return attacker_success(self.epsilon, self.delta, mu, rho)

    def _test_error(self) -> str:
        if self.error is None:
            return "unknown: no formula is calibrated for this recipe and loss"
        band, constant = self.error.test, self.error.constant
        shown = f"{band.typical:.2g}, 90 % band {band.low:.2g} to {band.high:.2g}"
        if constant < 1:
            return f"misclassification rate {shown}; always predicting the most common class: {constant:.2g}"
        return f"mean squared error / variance {shown}; predicting a constant: 1"

    def _needed(self) -> str:
        if self.error is None:
            return "unknown"
        at = 1.0 if self.epsilon is None else self.epsilon
        return (
            f"{_many(self.rows_needed(at))} rows at epsilon {at:.3g}, or {_much(self.epsilon_needed())} with these rows"
        )

    def assumed(self) -> str:
        """What the expected error takes for granted, in a line that names the options by which to declare it."""
        if self.error is None or self.outlook is None:
            return "nothing about the data"
        assumed, facts = self.outlook.assumed, self.outlook.facts
        typical, weak, strong = (f"{100 * signal:.0f} %" for signal in assumed.signals(facts))
        best = "of a constant's errors are avoidable" if facts.target.classes else "of the variance can be explained"
        said = [f"{typical} {best}" + (f" ({weak} to {strong}; --signal)" if assumed.signal is None else "")]
        if facts.target.classes and assumed.base_rate is None:
            said.append("classes are equally frequent (--base-rate)")
        if assumed.feature_scale is None:
            said.append("columns fill most of their bounds (--feature-scale)")
        return "; ".join(said)

    @property
    def caveats(self) -> tuple[str, ...]:
        """What speaks against spending the budget on it; first in `_repr_html_`."""
        verdict = (f"hopeless: {self.why.rstrip('.')}",) if self.verdict == "hopeless" else ()
        return (*(warning.rstrip(".") for warning in self.warnings), *verdict)

    def _repr_html_(self) -> str:
        cost = "" if self.epsilon is None else f", under ({self.epsilon:.6g}, {self.delta:.3g})-differential privacy"
        why = "" if self.caveats else f" {self.why}"
        shape = f"{self.n_rows:,} {kind_of_rows(self.sparse)} x {self.n_features:,} features"
        head = f"{self.recipe} on {shape}{cost}. Verdict: {self.verdict}.{why}"
        return statement_page(self.caveats, head, good=not self.caveats, more=str(self))

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
        lines += [
            f"  rows for a useful fit at epsilon = 1: {_many(self.rows_needed())}",
            f"  epsilon for a useful fit with {count_of(self.n_rows, 'row')}: "
            + _much(self.epsilon_needed()).removeprefix("epsilon "),
        ]
        if self.outlook is not None and self.outlook.assumed.signal is None:
            lines += [
                f"  {what} {error.test} if the best linear model removes {error.signal:.0%} of a constant "
                "predictor's error"
                for error in self.strengths()
            ]
        lines += [
            f"  assumes that the best linear model removes {self.error.signal:.0%} of a constant "
            "predictor's error (signal=)",
            f"verdict: {self.verdict}. {self.why}",
        ]
        return lines if self.intervals is None else [*lines, *self.intervals.lines()]


def summarise(request: FitRequest, shape: Shape, assumed: Assumptions) -> PlanSummary:
    """What a fit on data of this shape would ask, and what to expect of it. Reads no data, spends nothing.

    Parameters
    ----------
    request : FitRequest
    shape : Shape
        The public shape of the data.
    assumed : Assumptions
        What is taken for granted about the data, for the expected error.
    """
    return PlanSummary.of(plan_fit(request, shape), shape, assumed)


def _verdict(word: str, why: str) -> str:
    """A verdict and its reason; one that depends on a condition is said with it."""
    if not why.startswith("Useful if"):
        return f"{word}. {why}"
    return f"u{why[1:]}" if word == "useful" else f"{word}: u{why[1:]}"


def _first_sentence(text: str) -> str:
    return text.split(". ", maxsplit=1)[0].rstrip(".") + "."


def _many(rows: int | None) -> str:
    """A number of rows in two digits."""
    return "more than a billion" if rows is None else f"about {round(rows, 2 - len(str(rows))):,}"


def _much(epsilon: float | None) -> str:
    return "epsilon more than 50" if epsilon is None else f"epsilon about {epsilon:.2g}"


def _setting(value: object) -> Json:
    """One constant of a loop: a clip by its two numbers, a matrix by its shape, everything else in its plain form."""
    if isinstance(value, Clip):
        return to_json({"norm": value.norm, "entry": value.entry})
    if isinstance(value, tuple):
        return [_setting(entry) for entry in value]
    if isinstance(value, np.ndarray):
        return f"public numbers of shape {value.shape}"
    if is_dataclass(value) and not isinstance(value, type) and type(value).__str__ is object.__str__:
        return {field.name: _setting(getattr(value, field.name)) for field in fields(value)}
    return to_json(value)
