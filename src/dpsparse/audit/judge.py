r"""What runs on two neighbouring datasets prove about an answer or a fit, compared with what its guarantee claims.

`judge_ask` and `judge_fit` compute lower bounds from the runs, and a `Claim` says whether a bound contradicts it.
A claim is a list of :math:`(\epsilon, \delta)` that are all guaranteed at once (the curve
:math:`\delta(\epsilon)`), with a :math:`\mu` where one is guaranteed too. An event that is too likely
in one world for what it is in the other, at any of the points, refutes the claim.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from ..accounting import PricedPlan
from ..accounting.draws import TurnCost, TurnCosts
from ..accounting.pld import sampled_delta
from ..accounting.selections import stage_delta, too_long
from ..core import EveryRow, Noise, Statement
from ..core.curves import gaussian_delta, renyi_delta
from ..core.facts import Vector
from .canaries import AskAttack, NeighbouringData
from .lower_bounds import LowerBound, event, two_worlds
from .responses import clearest
from .result import Check
from .runs import priced_alone
from .subject import Subject

#: Epsilons at which curves are compared: dense where events of a few thousand runs can contradict them.
EPSILONS = tuple(np.r_[np.linspace(0.0, 3.0, 31), np.linspace(3.25, 12.0, 36)].tolist())

#: Probabilities that differ by less are equal.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Claim:
    """A guarantee: what it is called, points (epsilon, delta) of its curve, and mu (infinite if none is guaranteed).

    Examples
    --------
    >>> from dpsparse.audit import Claim, event
    >>> seen = event(700, 1000, 100, 1000)
    >>> Claim.gaussian(1.0).refuted_by(seen)
    True
    >>> Claim.gaussian(3.0).refuted_by(seen)
    False
    """

    label: str
    points: tuple[tuple[float, float], ...]
    mu: float = math.inf

    @classmethod
    def gaussian(cls, mu: float) -> Claim:
        """mu-GDP."""
        return cls(f"mu = {mu:.4g}", tuple((e, gaussian_delta(e, mu)) for e in EPSILONS), mu)

    @classmethod
    def approx(cls, epsilon: float, delta: float) -> Claim:
        """(epsilon, delta)-DP and no more: one point."""
        return cls(f"epsilon = {epsilon:.4g} at delta {delta:.3g}", ((epsilon, delta),))

    @classmethod
    def priced(cls, priced: PricedPlan) -> Claim:
        """All that a priced plan guarantees: its whole curve, by the best valid account at each point."""
        costs = TurnCosts.of(priced.plan, priced.rho_scale)
        points = tuple((e, _promised_delta(costs, e, priced)) for e in _epsilons(costs))
        return cls(_label(priced, costs), points, costs.mu)

    @classmethod
    def statement(cls, statement: Statement) -> Claim:
        """What a statement guarantees: epsilon at delta, mu, and the curve of its rho."""
        if not statement.priced:
            raise ValueError("a model without privacy claims nothing that could be refuted.")
        points = [(statement.epsilon, statement.delta)]
        if math.isfinite(statement.rho):
            line = TurnCost(Noise.GAUSSIAN, statement.rho).renyi()
            points += [(e, renyi_delta(line, e)) for e in EPSILONS]
        label = f"epsilon = {statement.epsilon:.4g} at delta {statement.delta:.3g}"
        return cls(label, tuple(sorted(points)), statement.mu)

    def allowed(self, high: Vector | float) -> Vector:
        """The largest probability that the claim allows an event.

        The event has a probability of at most `high` in the other world.
        """
        high = np.asarray(high, dtype=float)
        most = np.ones_like(high)
        if math.isfinite(self.mu):
            most = np.where((high > 0) & (high < 1), ndtr(ndtri(np.clip(high, 1e-300, 1 - 1e-16)) + self.mu), high)
        for epsilon, delta in self.points:
            factor = math.exp(epsilon)
            most = np.minimum(most, np.minimum(factor * high + delta, 1 - (1 - high - delta) / factor))
        return np.clip(most, 0.0, 1.0)

    def excess(self, low: Vector, high: Vector) -> Vector:
        """How far the probabilities of an event exceed what the claim allows.

        The event has a probability of at least `low` in one world and at most `high` in the other.

        Positive: impossible. In the unit of mu: the difference of the distances of normal laws that
        the event proves and that the claim allows.
        """
        most = np.minimum(self.allowed(high), 1 - ROUNDING)
        return np.asarray(ndtri(low) - ndtri(most))

    def mu_at(self, bound: LowerBound) -> float:
        """The distance of normal laws that the claim allows for this event; mu itself, where that is the claim."""
        most = float(self.allowed(bound.absent_high))
        return float(ndtri(most) - ndtri(bound.absent_high)) if 0 < most < 1 else self.mu

    def refuted_by(self, bound: LowerBound) -> bool:
        """Whether the bound proves, with its confidence, that the claim is false."""
        return bool(bound.present_low > self.allowed(bound.absent_high) + ROUNDING)

    def contradiction(self, bound: LowerBound) -> str:
        """Why the claim is refuted, in words; empty where it is not."""
        if not self.refuted_by(bound):
            return ""
        gap, epsilon, delta = max((bound.delta_at(e) - d, e, d) for e, d in self.points)
        if gap > 0:
            return f"at epsilon {epsilon:.3g} delta is at least {bound.delta_at(epsilon):.3g}, claimed {delta:.3g}"
        return f"mu is at least {bound.mu:.4g}, claimed {self.mu:.4g}"

    def epsilon_at(self, delta: float) -> float:
        """The smallest listed epsilon at which at most `delta` is claimed; infinite if no epsilon does."""
        return min((e for e, d in self.points if d <= delta), default=math.inf)


def _epsilons(costs: TurnCosts) -> tuple[float, ...]:
    """Where to look: for pure plans also at the epsilon from which on delta is zero."""
    return tuple(sorted({*EPSILONS, costs.pure})) if costs.all_pure else EPSILONS


def _promised_delta(costs: TurnCosts, epsilon: float, priced: PricedPlan) -> float:
    """The smallest delta that a valid account certifies at `epsilon`."""
    if costs.gaussian:
        exact = math.inf if costs.random else gaussian_delta(epsilon, costs.mu)
        if not costs.sampled:
            return exact
        steps = costs.multipliers(priced.kappa)
        return min(exact, sampled_delta(steps, epsilon, priced.budget.relation))
    found = [1.0, renyi_delta(costs.renyi(), epsilon)]
    if math.isfinite(costs.mu):
        found.append(gaussian_delta(epsilon, costs.mu))
    if costs.all_pure:  # no epsilon-DP mechanism is worse than randomised response
        total = costs.pure
        found.append(max(0.0, -math.expm1(epsilon - total) / (1 + math.exp(-total))))
    stage = costs.stage()
    if stage is not None and not too_long(stage):
        found.append(stage_delta(epsilon, stage))
    return min(found)


def _label(priced: PricedPlan, costs: TurnCosts) -> str:
    if costs.gaussian and not costs.sampled:
        return f"mu = {costs.mu:.4g}"
    if costs.own.total() == 1 and not costs.branches:
        [cost] = costs.own
        if cost.noise is Noise.GUMBEL:
            return f"range eta = {cost.strength:.4g}"
        if cost.noise.pure:
            return f"epsilon = {cost.strength:.4g}"
        if cost.sampling_rate < 1:
            return f"mu = {cost.strength:.4g} on rows sampled at rate {cost.sampling_rate:.3g}"
    delta = priced.budget.delta or 1e-5
    return f"epsilon = {priced.epsilon(delta):.4g} at delta {delta:.3g}"


def _check(
    name: str,
    detail: str,
    why: str,
    bound: LowerBound,
    unit: str,
    proved: float,
    claimed: float,
    reach: float = math.nan,
) -> Check:
    """One attack; canaries that move an answer too far need no statistics."""
    if reach > 1 + 1e-6:
        why = f"the canaries move the answer {reach:.4g} times as far as its noise was made for"
    return Check(name, detail, unit, proved, claimed, bool(why), why, bound, reach)


def judge_ask(
    subject: Subject, one: AskAttack, present: Vector, absent: Vector, *, confidence: float, delta: float
) -> Check:
    """Compare answers in two worlds with what one answer claims."""
    claim = Claim.priced(priced_alone(one.ask, one.strength, subject.priced.budget, 1))
    rows = "" if isinstance(one.ask.rows, EveryRow) else f", {one.ask.rows}"
    reach = one.here.moved(one.there)
    detail = (
        f"{type(one.question).__name__}, {one.ask.noise} noise{rows}; worlds {one.worlds.label!r}, "
        f"which use {reach:.0%} of the stated sensitivity"
    )
    name = f"ask {one.ask.name!r}"
    if one.ask.noise is Noise.GUMBEL:  # the first of the draws: its law has range eta
        bound, proved, why = _shift_of_odds(one, present[:, 0], absent[:, 0], confidence, delta)
        return _check(name, detail, why, bound, "range", proved, one.strength, reach)
    by = _learned_scores(present[:, 0], absent[:, 0]) if one.here.scores else _projections(one, present, absent)
    pure = one.ask.noise.pure
    bound = two_worlds(*by, delta=delta, confidence=confidence, aim="epsilon" if pure else claim.excess)
    measured = ("epsilon", bound.epsilon_at(0.0), one.strength) if pure else ("mu", bound.mu, claim.mu_at(bound))
    return _check(name, detail, claim.contradiction(bound), bound, *measured, reach)


def _shift_of_odds(
    one: AskAttack, present: Vector, absent: Vector, confidence: float, delta: float
) -> tuple[LowerBound, float, str]:
    """How far the log-odds of some candidates against others shift: at most eta, for a selection of range eta.

    Every log-ratio of chances lies in an interval of length eta, so the ratio of two sums of chances moves by no more.
    """
    size = int(max(present.max(), absent.max())) + 1
    here, there = (np.bincount(v[::2].astype(np.intp), minlength=size).astype(float) for v in (present, absent))
    _, up, down = clearest(here, there) if size > 1 else (0.0, np.zeros(0, int), np.zeros(0, int))
    hits = [int(np.isin(v[1::2], up).sum()) for v in (present, absent)]
    both = [h + int(np.isin(v[1::2], down).sum()) for h, v in zip(hits, (present, absent), strict=True)]
    bound = event(hits[0], max(both[0], 1), hits[1], max(both[1], 1), delta, confidence)
    with np.errstate(divide="ignore"):
        odds = np.log([bound.present_low, bound.absent_high]) - np.log1p([-bound.present_low, -bound.absent_high])
    proved = max(0.0, float(odds[0] - odds[1])) if np.all(np.isfinite(odds)) else 0.0
    why = f"the log-odds of two sets of candidates shift by at least {proved:.4g}, claimed {one.strength:.4g}"
    return bound, proved, why if proved > one.strength else ""


def _learned_scores(present: Vector, absent: Vector) -> tuple[Vector, Vector]:
    """Log-ratio of how often each candidate was chosen, by the runs with even numbers."""
    size = int(max(present.max(), absent.max())) + 1
    here, there = (np.bincount(v[::2].astype(np.intp), minlength=size) + 0.5 for v in (present, absent))
    ratio = np.log(here) - np.log(there)
    return ratio[present.astype(np.intp)], ratio[absent.astype(np.intp)]


def _projections(one: AskAttack, present: Vector, absent: Vector) -> tuple[Vector, Vector]:
    """The likelihood ratio of noise around the two exact answers: a projection; for Laplace noise, distances."""
    if one.here.l1:
        unit = one.here.values - one.there.values
        middle = (present[::2].mean(axis=0) + absent[::2].mean(axis=0)) / 2
        half = (present[::2].mean(axis=0) - absent[::2].mean(axis=0)) / 2 * (np.abs(unit) > 0)
        return tuple(
            np.abs(v - middle + half).sum(axis=1) - np.abs(v - middle - half).sum(axis=1) for v in (present, absent)
        )
    direction = one.here.values - one.there.values
    return present @ direction, absent @ direction


def judge_fit(
    subject: Subject,
    worlds: NeighbouringData,
    present: Vector,
    absent: Vector,
    *,
    widths: dict[str, int],
    confidence: float,
) -> list[Check]:
    """Compare whole fits in two worlds with what the plan claims, by all answers and by the model alone."""
    claim = Claim.priced(subject.priced)
    told = sum(widths.values())
    model = present.shape[1] - told
    delta = subject.priced.budget.delta or 0.0
    checks = []
    for name, columns in (("fit, all answers", slice(None)), ("fit, the model alone", slice(0, model))):
        scores = discriminant(present[:, columns], absent[:, columns])
        bound = two_worlds(*scores, delta=delta, confidence=confidence, aim=claim.excess)
        detail = f"claims {claim.label}; worlds {worlds.label!r}"
        checks.append(_check(name, detail, claim.contradiction(bound), bound, "mu", bound.mu, claim.mu_at(bound)))
    return checks


def discriminant(present: Vector, absent: Vector) -> tuple[Vector, Vector]:
    """Scores of runs along the direction that separates the runs with even numbers best (Fisher's discriminant)."""
    a, b = present[::2], absent[::2]
    scale = np.sqrt((a.var(axis=0) + b.var(axis=0)) / 2)
    # a number that is constant within the worlds and differs between them distinguishes them without fail
    scale = np.where(scale > 1e-12 * (np.abs(a).max(axis=0) + 1e-300), scale, 1e-9)
    a, b = a / scale, b / scale
    difference = a.mean(axis=0) - b.mean(axis=0)
    spread = (np.cov(a, rowvar=False) + np.cov(b, rowvar=False)).reshape(difference.size, -1) / 2
    direction = np.linalg.solve(spread + 1e-3 * np.eye(difference.size), difference) / scale
    return present @ direction, absent @ direction
