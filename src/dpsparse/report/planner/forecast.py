"""What to expect of a fit: bands of its error, a verdict, and how many rows or how much epsilon it would take."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from scipy.special import gammaincinv

from ...algorithms.constants import PLANNER
from ...algorithms.engine import ReleasesConstant
from ...core.budget import Budget
from ...core.facts import Facts
from ...core.plain import Printed
from ...core.printable import count_of
from ...fitting import FitPlan, Shape
from ...fitting.prepare import per_model, resolve
from ...recipes import DualAveraging, SelectPolish, Tables
from .assumptions import Assumptions, coefficients, counts, uniform_scale
from .formulas import Case, beyond_hope, both_odds, calibration, constant_miss, intercept_noise, part

#: Where answers are looked for.
MOST_ROWS = 10**9
LEAST_EPSILON, MOST_EPSILON = PLANNER.pair.epsilons


@dataclass(frozen=True)
class ErrorBand(Printed):
    """A 90 % band: of the data sets of the calibration that share the public facts, nine in ten lie inside.

    >>> 0.3 in ErrorBand(0.1, 0.2, 0.4)
    True
    """

    low: float
    typical: float
    high: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"{self.typical:.3g} ({self.low:.3g} to {self.high:.3g})"


@dataclass(frozen=True, kw_only=True)
class ExpectedError(Printed):
    r"""Three ways to say how wrong a fit will be.

    Attributes
    ----------
    test : ErrorBand
        Mean squared error over the variance of the target, or the error rate.
    excess : ErrorBand
        What noise and sampling take of the attainable improvement: (test error - that of the best model) / (constant
        predictor's - that of the best model). 0: as good as can be; 1: no better than a constant.
    coefficients : ErrorBand or None
        :math:`\|w - w^*\|/\|w^*\|`; None for documents, where true coefficients have no meaning.
    constant : float
        Test error of the constant predictor.
    signal : float
        Part of it that the best linear model is taken to remove.
    """

    test: ErrorBand
    excess: ErrorBand
    coefficients: ErrorBand | None
    constant: float
    signal: float


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What to expect, for these public facts and others like them. Formulas only: nothing is simulated or priced here.

    Parameters
    ----------
    prepared : FitPlan
        What would run: one model, or of a fit with intervals the part that makes the model.
    shape : Shape
        The public shape of the rows that make the model.
    assumed : Assumptions
        What is taken for granted about the data.
    """

    prepared: FitPlan
    shape: Shape
    assumed: Assumptions = Assumptions()

    @classmethod
    def of(cls, prepared: FitPlan, shape: Shape, assumed: Assumptions = Assumptions()) -> Forecast:  # noqa: B008
        """The outlook of what was prepared for data of this shape.

        A dictionary's share of the rarer class is taken for granted where no other was given.
        """
        model = prepared if prepared.inference is None else prepared.inference.first
        if assumed.base_rate is None and model.facts.target.classes and shape.models == 1:
            assumed = replace(assumed, base_rate=model.request.base_rate)
        made = replace(shape, n_rows=model.facts.n_rows, n_features=model.facts.n_features)
        return cls(prepared=model, shape=made, assumed=assumed)

    @property
    def facts(self) -> Facts:
        """The facts as the recipe sees them."""
        return self.prepared.facts

    @property
    def budget(self) -> Budget:
        """The budget of the whole fit."""
        return self.prepared.request.budget_for(self.shape.n_rows)[0]

    @property
    def known(self) -> bool:
        """Whether there is a formula for this recipe and loss."""
        return self.case() is not None

    def case(self, n_rows: int | None = None, epsilon: float | None = None) -> Case | None:
        """What the formulas see, with other rows or another epsilon; None where none is calibrated.

        Without either, of the recipe that was prepared; else of the one that would be.
        """
        request, shape, budget = self.prepared.request, self.shape, self.budget
        if epsilon is not None:
            budget = Budget.approx(epsilon, self.prepared.delta, str(budget.relation))
        recipe, facts, models = self.prepared.recipe, self.prepared.facts, self.prepared.models
        planned = n_rows is None and epsilon is None
        if not planned:
            shape = shape if n_rows is None else replace(shape, n_rows=n_rows)
            recipe, _, facts, _, models = resolve(replace(request, budget=budget), shape)
        if not isinstance(recipe, SelectPolish | DualAveraging | Tables) or not facts.target.direct:
            return None
        own = per_model(budget, models)
        raced = isinstance(recipe, Tables) and recipe.races(facts, own)
        solver = self.prepared.solver if planned else recipe.solver(facts, own)
        alone = isinstance(solver, ReleasesConstant) and solver.releases_constant(facts)
        # one model of K classes errs about as K models would that share its budget: its noise is in K margins
        budget = per_model(budget, shape.models)
        double = 2 / budget.kappa
        rho, mu = _strengths(budget)
        return Case(
            algorithm=recipe.name,
            classes=facts.target.classes,
            documents=facts.documents and not isinstance(recipe, Tables),
            counts=counts(facts),
            free=facts.intercept > 0,
            n_rows=facts.n_rows,
            n_features=facts.n_features,
            coefficients=coefficients(facts),
            rho=rho * double**2,
            mu=mu * double,
            base_rate=self.assumed.constant(facts) if facts.target.classes else 0.5,
            raced=raced and not alone,
            scale=self._narrowness(facts),
            constant_only=alone,
        )

    def _narrowness(self, facts: Facts) -> float:
        """Standard deviation of a typical feature over that of a uniform one within its bounds."""
        if self.assumed.feature_scale is None:
            return PLANNER.typical_scale
        return self.assumed.scale(facts) / uniform_scale(facts)

    def _cases(self, case: Case) -> tuple[Case, ...]:
        """The case itself; of tables whose number of coefficients is found out on the way, both outcomes."""
        return (case, replace(case, algorithm=SelectPolish.name)) if case.raced else (case,)

    def with_signal(self, signal: float) -> Forecast:
        """The same outlook for data with a known signal."""
        return replace(self, assumed=replace(self.assumed, signal=signal))

    def error(
        self, n_rows: int | None = None, epsilon: float | None = None, signal: float | None = None
    ) -> ExpectedError | None:
        """Bands of the error; None where no formula is calibrated. A given `signal` takes the assumed one's place."""
        here = self if signal is None else self.with_signal(signal)
        return here.error_in(here.case(n_rows, epsilon))

    def strengths(self) -> tuple[ExpectedError, ...]:
        """The error for a weak, a medium and a strong signal; empty where no formula is calibrated."""
        found = (self.error(signal=signal) for signal in PLANNER.several.strengths)
        return tuple(error for error in found if error is not None)

    def error_in(self, case: Case | None) -> ExpectedError | None:
        """The same for a case."""
        return None if case is None else self._error(case)

    def _error(self, case: Case) -> ExpectedError:
        excess, squares = self._parts(case, "excess"), self._parts(case, "coefficients")
        assert excess is not None
        typical, weak, strong = self._signals
        least, constant = self._constants
        low, middle, high = (constant * (1 - g * (1 - e)) for g, e in zip((strong, typical, weak), excess, strict=True))
        low = min(
            low, middle * least / constant
        )  # a rare class and a strong signal at once are rarer than one in twenty
        test = ErrorBand((1 - PLANNER.measured) * low, middle, (1 + PLANNER.measured) * high)
        return ExpectedError(
            test=test,
            excess=ErrorBand(*excess),
            coefficients=None if squares is None else ErrorBand(*(math.sqrt(v) for v in squares)),
            constant=constant,
            signal=typical,
        )

    @property
    def _constants(self) -> tuple[float, float]:
        """Error of the constant predictor: the least one and the typical one of the convention.

        For many classes, which are taken to be alike frequent, all but one of them.
        """
        if self.shape.models > 1 and self.assumed.base_rate is None:
            return (1 - 1 / self.shape.models,) * 2
        return self.assumed.constants(self.facts)

    @property
    def _signals(self) -> tuple[float, ...]:
        return self.assumed.signals(self.facts)

    def _parts(self, case: Case, what: str, levels: Sequence[float] = (0.05, 0.5, 0.95)) -> list[float] | None:
        """The excess, or the squared relative error of coefficients, at levels of the population.

        Nobody can know before the fit whether few coefficients are enough for a table: bands then
        extend from the lower end of the one outcome to the upper end of the other, and what is
        typical lies between.
        """
        found = [self._parts_of(c, what, levels) for c in self._cases(case)]
        if found[0] is None:
            return None
        many = [parts for parts in found if parts is not None]
        joined: list[float] = []
        for level, values in zip(levels, zip(*many, strict=True), strict=True):
            ends = min(values) if level < 0.5 else max(values)
            joined.append(math.exp(sum(map(math.log, values)) / len(values)) if level == 0.5 else ends)
        return joined

    def _parts_of(self, case: Case, what: str, levels: Sequence[float]) -> list[float] | None:
        """The same for one outcome.

        Where the signal is not declared, better ends belong to the strong signal of the convention,
        and worse ends to the weak one.
        """
        found = calibration()[case.kind]
        spread = found["spread"][what]
        if spread is None:
            return None
        typical, weak, strong = self._signals
        sure, parts = beyond_hope(case), []
        for level in levels:
            signal = typical if level == 0.5 else strong if level < 0.5 else weak
            excess, squares = both_odds(case, signal, found["constants"])
            odds, more = (excess, intercept_noise(case)) if what == "excess" else (squares, 0.0)
            value = part(odds, spread, level, signal)
            # the square of a normal number has a spread of its own
            value += sure * max(0.0, 1 - value) + more * 2 * float(gammaincinv(0.5, level))
            if what == "excess" and case.constant_only and not case.classes:
                value = max(value, 1 + constant_miss(case, level) / signal)
            parts.append(value)
        return parts

    # ---------------------------------------------------------------------------------------------- verdict

    def verdict(self, n_rows: int | None = None, epsilon: float | None = None) -> tuple[str, str]:
        """One of useful, borderline, hopeless, unknown; and why."""
        return self.verdict_in(self.case(n_rows, epsilon), epsilon)

    def verdict_in(self, case: Case | None, epsilon: float | None = None) -> tuple[str, str]:
        """The same for a case, at its epsilon where that is not the planned one."""
        if case is None:
            return "unknown", (
                "The planner's formulas are calibrated for auto, tables, select_polish and "
                "dual_averaging, with squared, Huber or logistic "
                "loss."
            )
        why = self.hopeless(case, epsilon)
        if why:
            return "hopeless", why
        rows = f"{count_of(case.n_rows, 'row')} at {_budget(self.budget, epsilon)}"
        word = "useful" if self._useful(case) else "borderline"
        return word, self._condition(case, rows, useful=word == "useful")

    def hopeless(self, case: Case, epsilon: float | None = None) -> str:
        """Why a fit should be no better than a constant, whatever the signal; empty where it may be."""
        if not case.constant_only and self._ratios(case, self._signals[2])[0] < PLANNER.hopeless:
            return ""
        rows = f"{count_of(case.n_rows, 'row')} at {_budget(self.budget, epsilon)}"
        if case.constant_only:
            return (
                f"Noise hides the signal: nothing can be asked about {case.n_features} features with {rows}, "
                "so that only a constant would be released."
            )
        return (
            f"Noise hides the signal: with {rows} and {case.n_features} features, four of five "
            "fits should be no better than a constant."
        )

    def _condition(self, case: Case, rows: str, *, useful: bool) -> str:
        """Which signal a useful fit takes, in a sentence; and what a declared one leads to."""
        needed = self._signal_needed(case)
        if self.assumed.signal is not None:
            good, bad = self._ratios(case)
            band = f"at most {_percent(bad)}" if useful else f"{_percent(good)} to {_percent(bad)}"
            said = (
                f"If your features {_explain(case, self.assumed.signal)}, the test error should be {band} of the "
                f"constant predictor's in {'four' if useful else 'three'} of five runs, with {rows}."
            )
            return said if needed is None else f"{said} A useful fit takes at least {_percent(needed)}."
        if needed is None:
            return f"With {rows}, no signal is strong enough for a useful fit in four of five runs."
        return (
            f"Useful if your features {_explain(case, needed, least=True)}. The test error should then be at least "
            f"{_percent(1 - PLANNER.useful)} below the constant predictor's in four of five runs, with {rows}."
        )

    def _ratios(self, case: Case, signal: float | None = None) -> tuple[float, float]:
        """Test error over the constant predictor's, in better and in worse runs.

        These are the better and the worse end of the three middle fifths of runs, at the assumed
        signal or at a given one.
        """
        here = self if signal is None else self.with_signal(signal)
        low, high = here._parts(case, "excess", (0.2, 0.8)) or (1.0, 1.0)
        return 1 - here._signals[0] * (1 - low), 1 - here._signals[0] * (1 - high)

    def _useful(self, case: Case) -> bool:
        """Whether four of five fits are useful at the declared signal; without one, at a medium or the weak one."""
        _, weak, _ = self._signals
        least = weak if self.assumed.signal is not None else max(weak, PLANNER.several.strengths[1])
        return not case.constant_only and self._ratios(case, least)[1] <= PLANNER.useful

    def _signal_needed(self, case: Case) -> float | None:
        def useful(signal: float) -> bool:
            return self._ratios(case, signal)[1] <= PLANNER.useful

        if case.constant_only:
            return None
        return _first(useful, 1 - PLANNER.useful, PLANNER.strongest, PLANNER.accuracy)

    def signal_needed(self, n_rows: int | None = None, epsilon: float | None = None) -> float | None:
        """The weakest signal for which four of five fits are useful.

        None where no signal is strong enough, or where no formula is calibrated.
        """
        case = self.case(n_rows, epsilon)
        return None if case is None else self._signal_needed(case)

    def _reached(self, n_rows: int | None, epsilon: float | None, error: float | None) -> bool:
        case = self.case(n_rows, epsilon)
        if case is None:
            return False
        return self._useful(case) if error is None else self._error(case).test.typical <= error

    def rows_needed(self, epsilon: float | None = 1.0, error: float | None = None) -> int | None:
        """Fewest rows for a useful fit, or for a typical test error of at most `error`; None beyond a billion."""
        found = _first(lambda v: self._reached(round(v), epsilon, error), 10.0, float(MOST_ROWS), PLANNER.accuracy)
        return None if found is None else math.ceil(found)

    def epsilon_needed(self, n_rows: int | None = None, error: float | None = None) -> float | None:
        """Least epsilon for a useful fit, or for a typical test error of at most `error`; None beyond 50."""
        return _first(lambda v: self._reached(n_rows, v, error), LEAST_EPSILON, MOST_EPSILON, PLANNER.accuracy)


@lru_cache(maxsize=256)  # every fit asks; it is a search of its own
def _strengths(budget: Budget) -> tuple[float, float]:
    """What a budget is worth for planning: rho and mu."""
    return budget.as_rho(), budget.as_mu()


def _first(reached: Callable[[float], bool], low: float, high: float, precision: float) -> float | None:
    """Least value from which on a goal is reached, by bisection on a logarithmic scale."""
    if not reached(high):
        return None
    if reached(low):
        return low
    while high / low > 1 + precision:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def _explain(case: Case, signal: float, *, least: bool = False) -> str:
    """What a signal means, after "your features"."""
    amount = f"{'at least ' * least}{_percent(signal)}"
    if case.classes:
        return f"avoid {amount} of the errors of always predicting the most common class"
    return f"explain {amount} of the target's variance"


def _percent(value: float) -> str:
    """A part in whole percent."""
    return f"{100 * value:.0f} %"


def _budget(budget: Budget, epsilon: float | None) -> str:
    if epsilon is not None:
        return f"epsilon = {epsilon:g}"
    if budget.epsilon is not None:
        return f"epsilon = {budget.epsilon:g}"
    return f"rho = {budget.rho:g}" if budget.rho is not None else f"mu = {budget.mu:g}"
