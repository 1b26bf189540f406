r"""The delta curve of a private search, from the delta curve of one run.

Renyi divergences of a search (`random_stopping`) are one bound on it. This is another, often a
better one [KRW24]_; a search is charged the smaller of both.

Guarantee
---------
Let one run have hockey-stick divergence at most :math:`\hat\delta(e)` in both directions, and let
the number of runs have the generating function f. An outcome that is beaten with probability p by
another run under one dataset, and with probability p' under its neighbour, is returned with density
:math:`f'(1-p)\,dQ` and :math:`f'(1-p')\,dQ'`. With

.. math:: W(p) = f'(1-p), \qquad R(p) = \frac{W(p)}{W(T(p))}, \qquad
          T(p) = \inf_e\; e^e p + \hat\delta(e) \ge p',

the search has :math:`\delta(\epsilon) \le E_{Q'}\psi(dQ/dQ')` for
:math:`\psi(l) = \sup_p W(p)\,(l - e^\epsilon/R(p))_+`. That is convex, a sum of hockey sticks
:math:`\sum_k s_k (l - e^\epsilon t_k)_+`, so

.. math:: \delta(\epsilon) \le \sum_k s_k\,\hat\delta(\epsilon + \log t_k).

Proof: ``docs/guarantees/search.md``. The one term :math:`E K\,\hat\delta(\epsilon - \log\max_p R)`
of [KRW24]_ is never smaller: :math:`\sum_k s_k = E K` and :math:`t_k \ge 1/\max_p R`.

References
----------
.. [KRW24] Koskela, Redberg and Wang, ICML 2024: privacy profiles for private selection.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..core.curves import Curve, largest

#: Slopes that fall and starting points: p' <= slope * p + start for every event, each line on its own.
Lines = tuple[Curve, Curve]

#: Lines that bound the trade-off curve of a run. Any number is valid; at 1000 the mean mu is within 1e-3 of its limit.
LINES = 1000
#: Delta of a run beyond which its curve is not followed.
FARTHEST = 1e-15
#: Part by which places and sums are moved to the safe side: over 1000 times the rounding of a sum of `LINES` numbers.
MARGIN = 1e-9


@dataclass(frozen=True, eq=False)
class SearchProfile:
    """Weights s and shifts log t of the sum above, and the delta curve of a run (at any epsilon >= 0)."""

    weights: Curve
    shifts: Curve
    run: Callable[[Curve], Curve]

    @classmethod
    def of(cls, run: Callable[[Curve], Curve], log_slope: Callable[[Curve], Curve]) -> SearchProfile:
        """For runs with this delta curve; `log_slope` is the logarithm of W, which falls in p."""
        return cls(*sticks(_lines(run), log_slope), run)

    def delta(self, epsilon: float) -> float:
        """Hockey-stick divergence of the search."""
        terms = self.weights * _both_sides(self.run, epsilon + self.shifts)
        return min(1.0, float(terms.sum()) * (1 + MARGIN))

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon >= 0 that is certified at `delta`, rounded up."""
        if self.delta(0.0) <= delta:
            return 0.0
        high = 1.0
        while self.delta(high) > delta:
            high *= 2
            if high > 1e6:
                return float("inf")
        return high - largest(lambda gap: self.delta(high - gap) <= delta, 0.0, high, steps=60)


def _both_sides(run: Callable[[Curve], Curve], e: Curve) -> Curve:
    r"""The curve at any e: :math:`H_a(P\|Q) = 1 - a + a H_{1/a}(Q\|P)`."""
    right = run(np.abs(e))
    left = -np.expm1(np.minimum(e, 0.0)) + np.exp(np.minimum(e, 0.0)) * right
    return np.asarray(np.where(e < 0, left, right))


def _lines(run: Callable[[Curve], Curve]) -> Lines:
    """Lines above the trade-off curve of a run, from its delta curve: p' <= exp(e) p + delta(e)."""
    end = 1.0
    while float(run(np.array([end]))[0]) > FARTHEST and end < 512.0:
        end *= 2
    start = end
    end -= largest(lambda gap: float(run(np.array([start - gap]))[0]) <= FARTHEST, 0.0, start * (1 - 1e-3), steps=12)
    e = np.linspace(end, -end, LINES)
    return np.exp(e), _both_sides(run, e)


def sticks(lines: Lines, log_slope: Callable[[Curve], Curve]) -> tuple[Curve, Curve]:
    """Weights and log places of hockey sticks whose sum is above psi, in units of exp(epsilon).

    Every line is above p' everywhere, whatever its neighbours; it is used between its meeting
    points with them, where it is the lowest. On a line log R has its maximum at an end of the
    stretch: for the logarithmic and geometric laws it is a multiple of the logarithm of a ratio of
    two linear functions, for the Poisson law it is linear. W falls in p.
    """
    slopes, starts = lines  # slopes fall: the first line is used at the smallest p
    with np.errstate(divide="ignore", invalid="ignore"):
        meets = np.clip(np.nan_to_num(np.diff(starts) / -np.diff(slopes), nan=0.0), 0.0, 1.0)
    meets = np.r_[0.0, np.maximum.accumulate(meets), 1.0]
    ends = [meets[:-1], meets[1:]]
    log_w = log_slope(ends[0])
    log_r = np.max([log_slope(p) - log_slope(slopes * p + starts) for p in ends], axis=0)
    front = np.r_[True, log_r[1:] > np.maximum.accumulate(log_r)[:-1]]  # the rest has a smaller W and no larger R
    weights, places = np.exp(log_w[front]), np.exp(-np.maximum(log_r[front], 0.0))
    kept: list[int] = []
    joints: list[float] = []  # where each kept line overtakes the one after it
    for i in range(weights.size):  # slopes fall and zeros fall: an upper envelope, from the right
        while kept:
            j = kept[-1]
            rise = weights[j] - weights[i]
            joint = (weights[j] * places[j] - weights[i] * places[i]) / rise if rise > 0 else np.inf
            if joint < (joints[-1] if joints else np.inf):
                joints.append(joint)
                break
            kept.pop()
            if joints:
                joints.pop()
        kept.append(i)
    places_of = np.r_[joints, places[kept[-1]]]
    steps = -np.diff(np.r_[weights[kept], 0.0])
    return steps, np.log(np.asarray(places_of)) - MARGIN * 1e-3
