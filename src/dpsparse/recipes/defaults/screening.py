r"""Choosing a support first: norms, clips and the first stage of recipes that then work on it alone.

All numbers come from public facts. :math:`K_2, K_\infty` bound the norm and the entries of a row,
:math:`h` is the height of the intercept column, :math:`T` a typical target (`Target.typical`).
"""

from __future__ import annotations

import math

from ...algorithms.constants import PAPERS, STEPS
from ...algorithms.screening import Screening
from ...core.facts import Clip, Facts


def require_convex(facts: Facts, recipe: str) -> None:
    """Refuse losses without a proven minimiser, before anything is read."""
    if not facts.convex:
        raise ValueError(
            f"recipe {recipe!r} needs a loss whose minimiser has a stability proof (squared, "
            "huber, logistic, poisson), got "
            f"{facts.loss!r}. Use a recipe that asks for clipped gradients, such as 'dp_ight'."
        )


def support_norm(facts: Facts, count: int) -> float:
    r"""Largest norm of a row on `count` features and the intercept: :math:`\min(K_2, \sqrt{sK_\infty^2 + h^2})`."""
    return min(facts.norm_bound, math.hypot(math.sqrt(count) * facts.feature_bound, facts.intercept))


def typical_norm(facts: Facts, count: int) -> float:
    r"""A typical norm of a row on the support.

    It is 0.7 of the box, or the part :math:`\max(1/4, \sqrt{s/d})` of the row's norm.

    Features uniform in their bounds have 0.58 of the box; a few hundred words of a text have about
    a quarter of its norm. Gradients are clipped by it: a row that is longer than typical gets a
    smaller threshold, and no bias in the model.
    """
    box = math.hypot(math.sqrt(count) * facts.feature_bound, facts.intercept)
    return min(
        PAPERS.typical_box * box,
        facts.norm_bound * min(1.0, max(PAPERS.text_part, math.sqrt(count / facts.n_features))),
    )


def slope_limit(facts: Facts, part: float) -> float:
    """Bound on the slope of one row: `part` of a typical target, or of the steepest slope of a class."""
    return min(part * facts.target.typical, facts.slope_bound)


def screening(facts: Facts, count: int, mechanism: str, parts: int | None, share: float) -> Screening:
    r"""The first stage. Slopes are clipped at T/5 (classes: 1/2), since the order of correlations needs no more.

    ``auto`` peels iff :math:`K_2/K_\infty > \sqrt{s\ln d}`, when the noise that decides is then
    smaller. An intercept is asked for first, with slopes up to the target bound (classes: 1/2) and
    5 % of the budget.
    """
    slope = min(0.5 if facts.target.classes else facts.target.typical / STEPS.typical_over_clip, facts.slope_bound)
    if mechanism == "auto":
        limit = math.sqrt(count * math.log(max(facts.n_features, 2)))
        mechanism = "peel" if facts.norm_bound / facts.entry_bound > limit else "dense"
    widest = min(0.5 if facts.target.classes else max(facts.target_bound, slope), facts.slope_bound)
    return Screening(
        count=count,
        centre=Clip(widest * facts.norm_bound, slope=widest) if facts.free else None,
        centre_share=min(PAPERS.centre_share, share / 2),
        clip=Clip(slope * facts.norm_bound, slope * facts.entry_bound if mechanism == "peel" or parts else None),
        parts=parts,
        dense=mechanism == "dense" and parts is None,
        share=share,
    )


def check_mechanism(mechanism: str) -> None:
    """Refuse an unknown mechanism."""
    if mechanism not in ("auto", "dense", "peel"):
        raise ValueError(f"mechanism must be 'auto', 'dense' or 'peel', got {mechanism!r}.")


def check_part(value: float, what: str) -> None:
    """Refuse a part of the budget that is not strictly between 0 and 1."""
    if not (isinstance(value, int | float) and 0 < value < 1):
        raise ValueError(f"{what} must lie strictly between 0 and 1, got {value!r}.")
