"""What runs in two worlds prove about an answer or a fit, against what it claims."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NotRequired, TypedDict

import numpy as np

from ..core import Ask, EveryRow, Noise, PoissonRows
from ..core.facts import Vector
from ..queries.kinds import Query
from .canaries import NeighbouringData
from .claims import Claim
from .lower_bounds import LowerBound, event, two_worlds
from .responses import Response, clearest
from .result import Check
from .runs import priced_alone
from .subject import Subject


class NamedFinding(TypedDict):
    """What was attacked, in words, and how much of the stated movement the canaries use."""

    name: str
    detail: str
    reach: NotRequired[float]


def strength_of(ask: Ask) -> float:
    r"""Mu, eta or epsilon of one answer that is attacked alone.

    Constants do not depend on it, so it is chosen for power: N runs know mu to a relative
    :math:`\sqrt{2p(1-p)}/(\varphi(\mu/2)\,\mu\sqrt N)` with :math:`p = \Phi(\mu/2)`: 1.9 of a root
    of N at 1, 1.1 at 2, 0.9 at 3. Beyond 2 a gross error is no longer seen sooner, since it shows
    in rare events only. Likewise 5/2 for the range of a selection. Where rows are sampled the
    canary must show when it was drawn.
    """
    if isinstance(ask.rows, PoissonRows):
        return 4.0
    return 2.5 if ask.noise is Noise.GUMBEL else 2.0


@dataclass(frozen=True, eq=False)
class AskAttack:
    """A query, its worlds, and what they answer before noise."""

    question: Query
    ask: Ask
    worlds: NeighbouringData
    here: Response
    there: Response

    @property
    def strength(self) -> float:
        """Mu, eta or epsilon of one draw."""
        return strength_of(self.ask)


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
    named: NamedFinding = {"name": f"ask {one.ask.name!r}", "detail": detail, "reach": reach}
    if one.ask.noise is Noise.GUMBEL:  # the first of the draws: its law has range eta
        return _judge_range(one, present[:, 0], absent[:, 0], confidence, delta, named)
    by = _learned_scores(present[:, 0], absent[:, 0]) if one.here.scores else _projections(one, present, absent)
    pure = one.strength if one.ask.noise.pure else None
    bound = two_worlds(*by, delta=delta, confidence=confidence, aim=claim.excess if pure is None else "epsilon")
    return _judged(claim, bound, named, pure)


def _judged(claim: Claim, bound: LowerBound, named: NamedFinding, pure: float | None = None) -> Check:
    why = claim.contradiction(bound) if claim.refuted_by(bound) else ""
    if named.get("reach", 0.0) > 1 + 1e-6:
        why = _too_far(named["reach"])
    unit, proved, claimed = ("mu", bound.mu, claim.mu_at(bound))
    if pure is not None:
        unit, proved, claimed = ("epsilon", bound.epsilon_at(0.0), pure)
    return Check(unit=unit, proved=proved, claimed=claimed, violated=bool(why), why=why, bound=bound, **named)


def _too_far(moved: float) -> str:
    """What needs no statistics."""
    return f"the canaries move the answer {moved:.4g} times as far as its noise was made for"


def _judge_range(
    one: AskAttack, present: Vector, absent: Vector, confidence: float, delta: float, named: NamedFinding
) -> Check:
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
    why = ""
    if named.get("reach", 0.0) > 1 + 1e-6:
        why = _too_far(named["reach"])
    elif proved > one.strength:
        why = f"the log-odds of two sets of candidates shift by at least {proved:.4g}, claimed {one.strength:.4g}"
    return Check(unit="range", proved=proved, claimed=one.strength, violated=bool(why), why=why, bound=bound, **named)


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
        checks.append(_judged(claim, bound, {"name": name, "detail": f"claims {claim.label}; worlds {worlds.label!r}"}))
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
