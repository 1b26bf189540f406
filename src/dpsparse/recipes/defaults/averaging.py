"""Dual averaging on rows of about length 1: the clip, the length of the path, and a low intercept column."""

from __future__ import annotations

import math

from ...algorithms.constants import AVERAGING, CLASSES, ENGINE
from ...algorithms.dual_averaging import Averaging
from ...core.budget import Budget
from ...core.facts import Facts
from ..base import check_positive, check_whole


def check_loop(steps: int | None, clip: float | None, momentum: float | None, margin_noise: float | None) -> None:
    """Refuse constants of the loop that make no sense."""
    check_whole(steps, "steps")
    check_positive(clip, "clip")
    check_positive(margin_noise, "margin_noise")
    if momentum is not None and not 0 <= momentum < 1:
        raise ValueError(f"momentum must lie in [0, 1), got {momentum!r}.")


def low_intercept(facts: Facts) -> Facts:
    """An intercept column no higher than the features' bound or a tenth of a row."""
    if facts.intercept <= 0:
        return facts
    return facts.with_(intercept=min(facts.feature_bound, math.sqrt(AVERAGING.intercept) * facts.row_bound))


def intercept_weight(facts: Facts) -> float:
    """Weight that makes the intercept column a hundredth of a squared row of length 1."""
    return math.sqrt(AVERAGING.intercept) / facts.intercept if facts.free else 1.0


def typical_slope(facts: Facts, part: float) -> float:
    """A clip for rows of length 1: a third of the target bound for regression, else `part` of the largest slope."""
    if facts.target.residual:
        return min(facts.target_bound / 3, facts.slope_bound)
    return part * (1.0 if facts.target.joint else min(facts.target_bound, facts.slope_bound))


def noise_length(facts: Facts, budget: Budget, share: float, clip: float, margin_noise: float) -> float:
    """Length of a path that puts `margin_noise` typical margins of noise into the margin of a row of length 1."""
    unit = clip if facts.target.residual else 1.0
    root = budget.as_mu() * math.sqrt(share)
    return margin_noise * unit * facts.n_rows * root / (budget.kappa * clip)


def averaging(
    facts: Facts,
    budget: Budget,
    share: float,
    clip: float,
    margin_noise: float,
    *,
    steps: int | None,
    momentum: float,
    least_steps: int = CLASSES.whole.least_steps,
    most_steps: int = CLASSES.whole.most_steps,
    spread: float = CLASSES.spread,
) -> Averaging:
    r"""The loop whose noise on the margin of a row of length 1 is `margin_noise`, with enough steps to be stable.

    Rows of length 1 give a curvature of at most :math:`\beta_0`, and momentum :math:`\beta` is
    stable for steps below :math:`2(1+\beta)/((1-\beta)\beta_0)`. Real rows spread over many
    directions, so that twice this is allowed to a first step; where the budget would buy a longer
    path than `most_steps` such steps, the path is shortened to that. `spread` multiplies the step
    that counts as stable: with many classes the curvature is spread over their margins too, and
    that of two classes of documents over very many columns.
    """
    length = noise_length(facts, budget, share, clip, margin_noise)
    stable = ENGINE.stable * spread
    steps = steps or min(most_steps, max(least_steps, math.ceil(length * facts.curvature / stable)))
    length = min(length, 2 * stable * steps / facts.curvature)
    return Averaging(steps=steps, length=length, clip=clip, share=share, momentum=momentum)
