r"""What a plan of selections, noises and perturbed objectives costs: the exact recursion over its steps.

.. math:: \delta(e) \le (G\, A_{\eta_1} \cdots A_{\eta_k} U_0)(e), \qquad U_0(e) = (1-e^e)_+

with the operators of `recursion`: all noise first, then the selections in the order in which they run. At the
same (epsilon, delta) this admits 10 to 35 % more budget than adding zCDP costs.

**Guarantee.** Every delta and epsilon is a bound from above and every budget one from below, for all adaptive
ways to run the plan: what is selected, and where in its stage noise is added, may depend on everything
released; ranges, noise levels and counts are fixed beforehand, or by the branch taken. For a plan that is too
long the answer is trivial (delta 1, epsilon infinite, budget 0), so a caller can take the best of several.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from .recursion import (
    UNIT,
    Curve,
    before_noise,
    before_selection,
    gaussian,
    laplace,
    nothing_left,
    objective,
    one_selection,
    pure,
)
from .stages import Stage

#: Grid cells in a typical range, more in short plans; the bound falls towards the exact one as they grow.
POINTS = 20
#: The same while a calibration is still searching.
COARSE = 6
#: Where a search starts beyond the logarithm of the budget that zCDP would roughly admit, and the
#: step at which the fine grid takes over. Any start ends at the same delta: plans of selections
#: were found .5 to .8 beyond.
BEYOND, NEAR_ENOUGH = 0.5, 0.008
#: Standard deviations of the loss below 0 to which a grid goes. A curve is continued below by its
#: chord to (0, 1), any grid gives a bound.
BELOW = 4.0
#: Operators of a plan times the root of its longest path (the grid grows with it); about 3 s of calibration.
COSTLIEST = 12000.0


def stage_delta(epsilon: float, plan: Stage, points: int = POINTS) -> float:
    """Bound from above on delta(epsilon) of a plan.

    Examples
    --------
    >>> round(stage_delta(0.0, Stage(((1.0, 1),))), 6)  # one exponential mechanism: tanh(1/4)
    0.244919
    """
    if not 0 <= epsilon < math.inf or points < 2:
        raise ValueError(f"Expected a finite epsilon >= 0 and at least 2 points, got {epsilon} and {points}.")
    return _delta(epsilon, plan, points)


def stage_epsilon(delta: float, plan: Stage, points: int = POINTS) -> float:
    """Epsilon, rounded up, for which a plan is (epsilon, delta)-DP."""
    if not 0 < delta < 1:
        raise ValueError(f"Expected 0 < delta < 1, got {delta}.")
    from scipy.optimize import brentq  # takes long to import, and most fits do not need it

    def excess(epsilon: float) -> float:
        return math.log(max(_delta(epsilon, plan, points), 1e-300) / delta)

    if excess(0.0) <= 0:
        return 0.0
    high = 1.0
    while excess(high) > 0:
        high *= 2
        if high > 1024 or too_long(plan):
            return math.inf
    epsilon = float(brentq(excess, 0.0, high, xtol=1e-6, rtol=1e-6))
    while excess(epsilon) > 0:
        epsilon += 1e-6 * (1 + epsilon)
    return epsilon


def calibrate_stage(
    epsilon: float, delta: float, plan: Stage, at: Callable[[float], Stage | None] | None = None
) -> float:
    """Budget r, rounded down, with which a plan is (epsilon, delta)-DP; 0 if the plan is too long to tell.

    The plan is given at budget 1: a selection of share a has the range sqrt(8 r a) at budget r, the
    Gaussians together mu = sqrt(2 r gaussian_share), a Laplace noise the level sqrt(2 r a), so that
    r times a share is a zCDP cost. The budget returned is one at which delta was evaluated on the
    fine grid and found small enough.

    Parameters
    ----------
    epsilon, delta : float
    plan : Stage
    at : callable, optional
        The plan at a budget, where a caller has it digit by digit; by default `plan` scaled.

    Examples
    --------
    >>> plan = Stage.from_shares([(0.05, 10)], 0.5, (), ())
    >>> round(calibrate_stage(1.0, 1e-5, plan), 4)  # adding zCDP costs would admit 0.0306
    0.0356
    """
    if not 0 < epsilon < math.inf or not 0 < delta < 1:
        raise ValueError(f"Expected a finite epsilon > 0 and 0 < delta < 1, got {epsilon} and {delta}.")
    if plan.variance == 0:
        raise ValueError("Every share is 0, which any budget allows. Give a share to a selection or a noise.")
    left = epsilon - plan.offset
    if too_long(plan) or left <= 0:
        return 0.0

    def excess(log_r: float, points: int) -> float:
        r = math.exp(log_r)
        there = plan.scaled(math.exp(log_r / 2)) if at is None else at(r)
        assert there is not None
        return math.log(max(_delta(epsilon, there, points), 1e-300) / delta)

    rough = math.log(left**2 / (2 * plan.variance * (math.log(1 / delta) + left)))  # zCDP, roughly
    lowest = rough - 4
    log_r, slope = _coarse(lambda x: excess(x, COARSE), rough + BEYOND, max(1.0, math.log(1 / delta)))
    loss = plan.largest_loss
    safe = 2 * math.log(epsilon / loss) - 1e-12 if loss < math.inf else -math.inf  # delta 0
    known: dict[float, float] = {}
    for _ in range(8):  # secant steps on the fine grid, aimed a little below the target
        if log_r < lowest:  # delta is below the rounding margin
            break
        gap = known[log_r] = excess(log_r, POINTS)
        safe = max(safe, log_r) if gap <= 0 else safe
        if -2e-3 <= gap <= 0:
            break
        if len(known) > 1:
            (x0, y0), (x1, y1) = list(known.items())[-2:]
            slope = (y1 - y0) / (x1 - x0) if (y1 - y0) * (x1 - x0) > 0 else slope
        log_r -= max(-0.1, min(0.1, (gap + 1e-3) / max(0.1, slope)))
    while safe == -math.inf and log_r > lowest:
        log_r -= 1e-3
        safe = log_r if excess(log_r, POINTS) <= 0 else safe
    return math.exp(safe)


def _coarse(excess: Callable[[float], float], start: float, slope: float) -> tuple[float, float]:
    """About where a rising function is 0, and its slope there.

    Secant steps of at most 0.4, kept between values of both signs.
    """
    low, high = -math.inf, math.inf
    x, y = start, excess(start)
    for _ in range(40):
        low, high = (low, x) if y > 0 else (x, high)
        low, high = (min(low, high), max(low, high))
        step = max(-0.4, min(0.4, -y / max(0.1, slope)))
        if abs(step) < NEAR_ENOUGH:
            break
        ahead = x + step if low < x + step < high else (low + high) / 2
        then = excess(ahead)
        slope = (then - y) / (ahead - x) if (then - y) * (ahead - x) > 0 else slope
        x, y = ahead, then
        if x < start - 4.9:  # delta is below the rounding margin
            break
    return x - y / max(0.1, slope) if abs(y) < 1 else x, slope


def too_long(plan: Stage) -> bool:
    """Whether a plan has more steps than the recursion is run for."""
    return plan.operators * math.sqrt(plan.length) > COSTLIEST


@lru_cache(maxsize=64)
def _delta(epsilon: float, plan: Stage, points: int) -> float:
    if too_long(plan):
        return 1.0
    if epsilon >= plan.largest_loss:
        return 0.0
    e, h, here = _grid(plan, epsilon, points)
    return float(_curve(plan, e, h, points)[here])


def forget_selections() -> None:
    """Forget what was evaluated in this process: for those who measure."""
    _delta.cache_clear()


def stage_curve(plan: Stage, points: int = POINTS) -> tuple[Curve, Curve] | None:
    """Bounds on delta on a grid of epsilons from 0 or just below it to where it meets the rounding margin.

    None if the plan is too long to tell.
    """
    if too_long(plan):
        return None
    e, h, _ = _grid(plan, plan.largest_loss, points)
    first = int(np.searchsorted(e, 0.0, side="right")) - 1
    return e[first:], _curve(plan, e, h, points)[first:]


def _grid(plan: Stage, epsilon: float, points: int) -> tuple[Curve, float, int]:
    """Epsilons around one of interest (or the largest that matters), their step, and which of them is that one."""
    fine = points * max(1.0, math.sqrt(64 / plan.length))
    spread = math.sqrt(plan.variance)
    epsilon = min(epsilon, plan.variance + plan.shift + 12 * spread)  # beyond, delta is less than the rounding margin
    h = min(0.5, 2 * spread / math.sqrt(plan.length) / fine)  # h^2/4 per step, little against the variance
    eta = plan.heaviest_range
    if eta >= 2 * h:
        h = eta / (2 * math.ceil(eta / (2 * h) - 1e-9)) * (1 + 8 * UNIT)  # so that t = eta / 2 is on the grid
    reach = min(epsilon + 4 * spread, plan.largest_loss) + h
    least = min(BELOW * spread + plan.shift, plan.largest_loss) + h  # below, curves are all but straight in exp(e)
    below, above = math.ceil((least + epsilon) / h), math.ceil((reach - epsilon) / h)
    return epsilon + h * np.arange(-below, above + 1, dtype=np.float64), h, below


def _curve(stage: Stage, e: Curve, h: float, points: int, after: Curve | None = None) -> Curve:
    """Bounds on delta at the grid points, when what follows the stage has the bounds `after` (None: nothing follows).

    A stage that runs several times is what follows itself.
    """
    for _ in range(stage.times):
        after = _once(stage, e, h, points, after)
    return nothing_left(e) if after is None else after


def _once(stage: Stage, e: Curve, h: float, points: int, after: Curve | None) -> Curve:
    """One run of a stage: noise and blocks first, then selections, then the worst branch, then what follows."""
    singles, blocks = stage.steps
    etas = list(singles)
    if stage.branches:
        curve: Curve = np.max([_curve(branch, e, h, points, after) for branch in stage.branches], axis=0)
    elif after is not None:
        curve = after
    elif stage.own_length == 1 and stage.mu > 0:
        return gaussian(e, stage.mu)
    else:
        curve = one_selection(e, etas.pop()) if etas else nothing_left(e)
        curve = np.minimum(1.0, curve + (16 + 4 * np.abs(e)) * UNIT)
    for eta in reversed(etas):
        curve = before_selection(curve, eta, h, nodes=3 * points)
    for (eta, size), count in blocks.items():
        noise = _block(eta, size, h, points)
        for _ in range(count):
            curve = before_noise(curve, noise, h)
    for draws, shape in ((stage.laplaces, laplace), (stage.pures, pure)):
        for level, count in draws:
            for _ in range(count if level > 0 else 0):
                curve = before_noise(curve, shape(_losses(level, h), level), h)
    for m, offset, count in stage.objectives:
        noise = objective(_losses(offset + m * m / 2 + 9 * m, h), m, offset)
        for _ in range(count):
            curve = before_noise(curve, noise, h)
    if stage.mu > 0:
        curve = before_noise(curve, gaussian(_losses(9 * stage.mu + stage.mu**2 / 2, h), stage.mu), h)
    return curve


def _losses(reach: float, h: float) -> Curve:
    cells = math.ceil(reach / h)
    return h * np.arange(-cells, cells + 1, dtype=np.float64)


def _block(eta: float, size: int, h: float, points: int) -> Curve:
    """Curve of their recursion: that of a pair that dominates `size` adaptive selections of one range."""
    own = eta / points * (1 + 8 * UNIT)
    e = _losses(min(size * eta, 3.75 * math.sqrt(size) * eta), own)
    curve = _curve(Stage(((eta, size),)), e, own, points)
    alpha = np.exp(_losses(float(e[-1]), h)) * (1 - 16 * UNIT)
    chords = np.interp(alpha, np.concatenate([[0.0], np.exp(e)]), np.concatenate([[1.0], curve]))
    return np.asarray(np.minimum(1.0, chords + 16 * UNIT))
