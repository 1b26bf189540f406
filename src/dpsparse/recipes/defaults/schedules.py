r"""Paths along gradients with dense noise, on all rows or on samples: clips, steps, numbers of steps and batches.

One rule serves them all. A loop that follows a path of length :math:`P = \sum_t \eta_t` along noisy
gradients adds to every coefficient noise of standard deviation :math:`P\,\kappa C/(n\mu)`, whatever
the number of steps: the noise of one step grows with the root of their number, and independent
steps add up to a root again. In the margin of a row that is :math:`P\,\kappa C K_s/(n\mu)`, with
:math:`K_s = \min(K_2, K_\infty\sqrt{2s\ln(ed/s)})` for the s coordinates that noise and threshold
favour. Paths end where this is `noise` typical targets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...algorithms.constants import STEPS
from ...algorithms.steps import FixedSteps, PacedSteps, StepRule
from ...core.budget import Budget
from ...core.facts import Clip, Facts
from ...core.plan import EveryRow, Participation, PoissonRows


@dataclass(frozen=True)
class DefaultSchedule:
    """A clip, a number of turns, the piece of the path that each pays for, and the rule of the step lengths.

    `spare` says how much larger the clip is than it has to be.
    """

    clip: Clip
    turns: int
    piece: float
    step_rule: StepRule
    spare: float

    @classmethod
    def of(
        cls,
        facts: Facts,
        budget: Budget,
        kept: int,
        turns: int | None = None,
        clip: float | None = None,
        step_size: float | None = None,
        *,
        steady: bool = False,
    ) -> DefaultSchedule:
        r"""The rule of this module for what the user left open.

        The clip is :math:`C = R K_2` with R = 0.3 for classes and a fifth of a typical target for
        regression. Where the budget allows a path f times longer than T of the longest steps,
        :math:`1.2\,d/(\beta_0 K_2^2)`, that slack is shared between less noise and a larger R:
        :math:`\sqrt f` times as large, up to the largest slope or target. A given `step_size` is
        taken at every turn, as in the papers. Classes on dense rows may share more (`class_slack`).

        Small batches have too much noise for a loop to widen its clip on the way: where they keep
        the clip of the start (`steady`), turns beyond the usual number are taken only as far as the
        clip is the largest all the same. More turns with a tighter clip led to other optima. Such
        loops move all coefficients, and on texts their steps are no longer than
        :math:`20/(\beta_0K_2^2)`, with :math:`\beta_0` at most 1.
        """
        longest = longest_step(facts)
        per_clip = path_per_clip(facts, budget, kept, STEPS.whole_noise)
        tight = tight_clip(facts)
        if turns is None:
            turns = default_turns(facts, budget, kept)
            if steady:
                free = per_clip * tight / (longest * largest_clip(facts) ** 2)
                turns = max(usual_turns(facts, budget), min(turns, int(free)))
        spare = math.sqrt(max(1.0, per_clip / (turns * longest * tight)))
        widest = 1.0
        if clip is None:
            largest = largest_clip(facts)
            clip = min(largest, tight * max(spare, class_slack(facts, per_clip)))
            widest = largest / clip
        # texts bend where words go together, which no formula of their bounds can say: more, shorter steps
        if steady and facts.documents:
            longest = min(longest, STEPS.longest_on_texts / (min(facts.curvature, 1.0) * facts.norm_bound**2))
        if step_size is not None:
            return cls(Clip(clip), turns, step_size, FixedSteps(), spare)
        rule = PacedSteps(
            longest,
            group=STEPS.document_group if facts.documents else STEPS.group,
            low_noise=quiet_noise(facts, kept),
            widest=widest,
        )
        b = STEPS.whole_noise * facts.target.margin * clip / per_clip
        path = path_within(facts, b, noise_at_end=STEPS.whole_noise)
        return cls(Clip(clip), turns, path / turns, rule, spare)


def quiet_noise(facts: Facts, kept: int) -> float:
    r"""Noise :math:`\sigma^2\eta` of steps at which that of the margins is `quiet` typical ones.

    It is :math:`2\beta(qt)^2/s`, see `PacedSteps`.

    :math:`\beta` is the curvature of the loss at a typical margin, at most 1: bounds for counts are
    far above it.
    """
    return 2 * min(facts.curvature, 1.0) * (STEPS.quiet * facts.target.margin) ** 2 / kept


def path_per_clip(facts: Facts, budget: Budget, kept: int, noise: float = STEPS.noise) -> float:
    r"""Length of a path times the clip at which the noise in a margin is `noise` typical margins."""
    return noise * facts.target.margin * facts.n_rows * budget.as_mu() / (budget.kappa * kept_norm(facts, kept))


def class_slack(facts: Facts, per_clip: float) -> float:
    r"""How many times wider the clip of classes is than the tight one, on dense rows.

    A tight clip holds back the rows that are predicted worst, so that a loop that has converged under it is up to 1.4
    times too steep: models of true classes got worse with more epsilon and with more rows. Uncorrelated columns are
    learned after a few times :math:`d/(\beta_0K_2^2)`; of a path that may be f times as long as `class_path` of these,
    the slack is shared as above: :math:`\sqrt f`.
    """
    if not facts.target.classes or facts.documents:
        return 1.0
    rate = facts.curvature * facts.norm_bound**2 / facts.n_features
    return math.sqrt(max(1.0, per_clip * rate / (STEPS.class_path * tight_clip(facts))))


def path_within(facts: Facts, noise: float, doubt: float = 2.0, noise_at_end: float = STEPS.noise) -> float:
    r"""Length of a path that puts noise of P times `noise` into a margin.

    Uncorrelated columns are learned at the rate :math:`a = \beta_0K_2^2/d`: what is missing falls
    like :math:`e^{-aP}` and the noise rises like bP, in typical margins. Where b is below a/2
    (`doubt` 2), the path ends at `noise_at_end` typical margins of noise. Where it is above, noise comes
    before knowledge, and the path is shorter by a/2b: the least of :math:`e^{-2aP} + (bP)^2` is
    then near :math:`P = a/b^2`, and never above that of no step at all; half of it, since real
    columns do not fill their bounds. The larger the doubt, the shorter. Texts are never so spread
    over their columns, and end at `noise_at_end`.
    """
    rate = math.inf if facts.documents else facts.curvature * facts.norm_bound**2 / facts.n_features
    b = noise / facts.target.margin
    return noise_at_end / b * min(1.0, rate / (doubt * b))


def longest_step(facts: Facts) -> float:
    """Of loops on uncorrelated columns that fill their bounds."""
    return STEPS.longest * facts.n_features / (facts.curvature * facts.norm_bound**2)


def tight_clip(facts: Facts) -> float:
    """Of gradients, where noise is a concern."""
    return facts.norm_bound * (
        STEPS.class_clip if facts.target.classes else facts.target.typical / STEPS.typical_over_clip
    )


def largest_clip(facts: Facts) -> float:
    """Of gradients: the largest slope or target."""
    return facts.norm_bound * min(facts.slope_bound, max(facts.target_bound, facts.target.typical))


def usual_turns(facts: Facts, budget: Budget) -> int:
    """Turns of a loop, where noise is a concern; see `default_turns`."""
    work = _work(facts)
    clear = facts.n_rows * budget.as_mu() / budget.kappa
    least, most = STEPS.pair.turns
    return max(1, int(min(max(least, min(most, STEPS.work / work)), (clear / 4) ** 2)))


def _work(facts: Facts) -> float:
    """Entries that a turn reads, and what its noise costs."""
    row = min(facts.n_features, STEPS.whole.sparse_row) if facts.documents else facts.n_features
    return facts.n_rows * row + STEPS.whole.noisy_coordinate * facts.n_features


def default_turns(facts: Facts, budget: Budget, kept: int) -> int:
    r"""Turns of a loop: as many as read 1e9 entries, within 30..200, and no more than leave steps visible.

    More turns at the same path cost no privacy, only time. The noise of one of T answers is
    :math:`\kappa C\sqrt T/(n\mu)`; where it nears C nothing detects a step that is too long: T is at
    most :math:`(n\mu/4\kappa)^2`. Where it is harmless even for the longest steps
    (`quiet_noise`), more turns go on towards the optimum: up to five times as many entries and
    turns.
    """
    clear = facts.n_rows * budget.as_mu() / budget.kappa
    calm = quiet_noise(facts, kept) / longest_step(facts) * (clear / tight_clip(facts)) ** 2
    more, most = STEPS.whole.more, STEPS.pair.turns[1]
    return max(usual_turns(facts, budget), int(min(more * most, more * STEPS.work / _work(facts), calm)))


def kept_norm(facts: Facts, kept: int) -> float:
    """The norm of a row on the `kept` coordinates that noise favours most."""
    spread = math.sqrt(2 * kept * math.log(math.e * facts.n_features / kept))
    return min(facts.norm_bound, facts.entry_bound * spread)


def signal(facts: Facts, budget: Budget, kept: int) -> float:
    r"""How far one step with the whole budget can tell a coefficient that carries 1/s of the target from noise.

    :math:`n\mu K_\infty / (\kappa K_2\sqrt{2s\ln d})`, the rule of `DPIGHT`.
    """
    noise = budget.kappa * facts.norm_bound * math.sqrt(2 * kept * math.log(max(facts.n_features, 2)))
    return facts.n_rows * budget.as_mu() * facts.entry_bound / noise


def default_rate(budget: Budget, steps: int) -> float:
    r"""A rate at which sampling costs little: :math:`q = 2\mu/(\kappa\sqrt T)`, at most a half.

    By the central limit theorem the noise in a mean gradient is then within a few per cent of that on every row. From
    :math:`q = 4` on it is 1: sampling would be a larger error than the noise.
    """
    rate = 2 * budget.as_mu() / (budget.kappa * math.sqrt(steps))
    return 1.0 if rate >= 4 else min(0.5, rate)


def participation(batch_size: float | None, facts: Facts, rate: float) -> Participation:
    """A Poisson sample with this expected number of rows (None: at this rate); every row from n on."""
    rate = rate if batch_size is None else batch_size / facts.n_rows
    return EveryRow() if rate >= 1 else PoissonRows(rate)


def batches(
    sizes: float | tuple[float, ...] | None, facts: Facts, rate: float
) -> Participation | tuple[Participation, ...]:
    """The same for a public schedule of batch sizes."""
    if isinstance(sizes, tuple):
        return tuple(participation(size, facts, rate) for size in sizes)
    return participation(sizes, facts, rate)


def check_batch(value: float | None, what: str) -> None:
    """Refuse an expected number of rows that is not positive."""
    if value is not None and not (
        isinstance(value, int | float | np.number) and not isinstance(value, bool) and np.isfinite(value) and value > 0
    ):
        raise ValueError(f"{what} must be a positive number of rows or None, got {value!r}.")


def check_schedule(batch_size: float | tuple[float, ...] | None, steps: int | None) -> None:
    """Refuse batch sizes that are not positive, or a schedule without one for each step."""
    if not isinstance(batch_size, tuple):
        check_batch(batch_size, "batch_size")
        return
    for size in batch_size:
        check_batch(size, "batch_size")
    if steps is None or len(batch_size) != steps:
        raise ValueError(f"batch_size must hold one number for each of the steps; steps is {steps!r}.")
