"""Are the bounds any good? A priced count of what was clipped, asked beside a fit and told in its statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..core import Ask, Noise, Plan, PrivacyError
from ..core.facts import Vector
from ..queries.kinds import ClippedShare, Oracle

#: Name of the ask.
ASK = "clipped"
#: Words of the note that tells how much was clipped.
CLIPPED = "were clipped to the declared bounds"
#: Parts of entries and of targets above which advice is given.
MANY, MANY_TARGETS = 0.05, 0.02


def with_check(plan: Plan, share: float | None) -> Plan:
    """The plan with a count of what is clipped before everything else, at this share of the whole; None: as it is."""
    return with_count(plan, share, ASK, "ClippedShare", "check_bounds")


def with_count(plan: Plan, share: float | None, name: str, question: str, argument: str) -> Plan:
    """The plan with one more query before everything else, at this share of the whole; None: as it is."""
    if share is None:
        return plan
    if plan.local:
        raise PrivacyError(
            f"{argument} counts over all rows in one place, and this recipe randomises on devices. Leave {argument}=None."
        )
    pure = all(ask.noise.pure for ask in _all(plan))
    ask = Ask(
        name=name,
        question=question,
        noise=Noise.LAPLACE if pure else Noise.GAUSSIAN,
        share=_weight(plan) * share / (1 - share),
    )
    order = (name, *plan.order) if plan.order else ()
    return replace(plan, asks=(ask, *plan.asks), order=order)


def ask_clipped(oracle: Oracle) -> tuple[Vector, float]:
    """Noisy parts of entries, rows and targets that were clipped, and the standard deviation of the noise in each."""
    question = ClippedShare()
    found = np.asarray(oracle.answer(question, ASK))
    return found, oracle.deviation(question, ASK, 0)


def clipping_notes(answers: Sequence[tuple[Vector, float]], *, classes: bool) -> tuple[str, ...]:
    """What a statement says about clipping, and advice; the answers of several models are averaged."""
    if not answers:
        return ()
    entries, rows, targets = np.clip(np.mean([found for found, _ in answers], axis=0), 0.0, 1.0)
    off = 200 * float(np.mean([noise for _, noise in answers])) / len(answers) ** 0.5
    said = [f"{_percent(entries)} of entries", f"{_percent(rows)} of rows by their norm"]
    said += [] if classes else [f"{_percent(targets)} of targets"]
    notes = [f"about {', '.join(said)} {CLIPPED}, give or take {max(off, 0.1):.2g} %"]
    if entries > MANY + off / 100:
        notes.append(
            "many entries were clipped: feature_bound is too narrow for this data. Look the limits up once more, or learn them with PrivateBounds"
        )
    if targets > MANY_TARGETS + off / 100 and not classes:
        notes.append(
            "many targets were clipped: choose a larger target_bound, or a target_center nearer to them, or learn both with PrivateBounds"
        )
    return tuple(notes)


def _percent(part: float) -> str:
    return f"{100 * part:.2g} %"


def _all(plan: Plan) -> list[Ask]:
    return [*plan.asks, *(ask for _, branch in plan.branches for ask in _all(branch))]


def _weight(plan: Plan) -> float:
    """Shares of all asks, along the dearest branch."""
    return sum(ask.share for ask in plan.asks) + max((_weight(branch) for _, branch in plan.branches), default=0.0)
