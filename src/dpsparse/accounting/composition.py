r"""The privacy cost of a composition of draws that are all known: Renyi divergences, epsilon, delta and mu.

`Account` takes the least of the bounds that the accountants of this package prove. `sampled_renyi` is one of
them: Renyi divergences of Poisson-sampled Gaussians, also for ledgers that count at an order fixed in advance.

Guarantee
---------
`sampled_renyi` bounds the Renyi divergence of the adaptive composition of all steps, in both
directions.

**One step.** `pairs` gives a dominating pair (P, Q) on a line. Cut the line at places
:math:`x_0 < \dots < x_n`. Within a cell the ratio :math:`l = dP/dQ` lies between its ends,
:math:`l^\alpha` is convex in it, so moving the mass of the cell to the two ends in the way that
keeps both its P- and its Q-probability raises :math:`E_Q l^\alpha`. What lies below :math:`x_0` is
moved up to it. Above :math:`x_n = h` the moment is bounded in closed form, with
:math:`u = (x - 1/2)/z^2`, :math:`P = N_0\,((1-q) + q e^u)` and
:math:`Q \ge (1-q)^{[\text{replace-one}]} N_0`:

.. math:: \int_h^\infty P^\alpha Q^{1-\alpha} \le (1-q)^{(1-\alpha)[\text{replace-one}]}
          \bigl(q + (1-q)e^{-u(h)}\bigr)^\alpha\, e^{\alpha(\alpha-1)/2z^2}\, \Phi\bigl((\alpha-h)/z\bigr),

since :math:`(1-q) + qe^u \le e^u (q + (1-q)e^{-u(h)})` there and
:math:`N_0 e^{\alpha u} = e^{\alpha(\alpha-1)/2z^2}N_\alpha`. In the other direction of add-remove
:math:`dP/dQ \le 1/(1-q)` everywhere. No mass is left out: nothing is added to a delta.

**Composition.** The pair of a step does not depend on earlier answers, so divergences add up
[M17]_. A published number of steps N with a law of its own has the moment :math:`E_N M^N`, M that
of one step.

References
----------
.. [M17] Mironov, CSF 2017, Proposition 1: adaptive composition of Renyi differential privacy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import log_ndtr

from ..core.adjacency import Adjacency
from ..core.budget import Budget
from ..core.curves import ORDERS, Curve, gaussian_delta, renyi_delta, renyi_epsilon
from ..core.plan import RandomTurns
from . import pld, selections
from .draws import TurnCosts
from .pairs import Pair, dominating_pairs
from .pld import LossCounts, SampledGaussian
from .pricing import LARGEST_RECURSION_EPSILON, spent_epsilon
from .recursion import UNIT
from .stages import Stage

#: Cells per standard deviation of the noise: they widen the loss of a step by a part of 1/4 of the inverse square.
CELLS = 64
#: How far the grid goes in standard deviations: below, and beyond a record's own contribution above.
BELOW, ABOVE = 12.0, 30.0


def sampled_renyi(steps: Iterable[SampledGaussian | LossCounts], relation: Adjacency, orders: Curve = ORDERS) -> Curve:
    """Upper bounds on the Renyi divergences of Poisson-sampled and unsampled Gaussians together.

    Examples
    --------
    >>> steps = [(0.01, 1.0, 100)]
    >>> float(np.round(sampled_renyi(steps, Adjacency.ADD_REMOVE, np.array([2.0, 16.0]))[0], 4))
    0.0172
    """
    totals = [np.zeros_like(orders) for _ in dominating_pairs(0.5, 1.0, relation)]
    for step in steps:
        answers, count = step if isinstance(step, LossCounts) else (((step[0], step[1]),), step[2])
        pairs = [dominating_pairs(rate, multiplier, relation) for rate, multiplier in answers]
        for way, total in enumerate(totals):
            turn = np.sum([_log_moments(pair[way], orders) for pair in pairs], axis=0)
            total += _powers(turn, count) / (orders - 1)
    return np.asarray(np.max(totals, axis=0))


def _powers(log_moments: Curve, count: int | RandomTurns) -> Curve:
    """Log moments of a composition from those of one step."""
    if isinstance(count, RandomTurns):
        return np.array([count.log_moment(float(v)) for v in log_moments])
    return count * log_moments


def _log_moments(pair: Pair, orders: Curve) -> Curve:
    """Bounds on log E_Q (dP/dQ)^order of one step."""
    if pair.rate >= 1:  # two Gaussians
        return np.asarray(orders * (orders - 1) * ((pair.above - pair.below) / pair.multiplier) ** 2 / 2)
    z = pair.multiplier
    x = np.arange(pair.below - BELOW * z, pair.above + ABOVE * z, z / CELLS)
    losses = _log_ratio(x, pair, pair.above) - _log_ratio(x, pair, pair.below)
    p, q = pair.masses(np.r_[-np.inf, x, np.inf])
    width = np.diff(losses)
    with np.errstate(divide="ignore", invalid="ignore"):
        kept = np.exp(losses[:-1] + np.log(q[1:-1]) - np.log(p[1:-1]))  # between exp(-width) and 1
        part = (1 - kept) / -np.expm1(-width)
    part = np.where(np.isfinite(part), np.clip(part, 0.0, 1.0), 1.0)  # where digits are lost, all moves up
    mass = np.zeros_like(x)
    mass[:-1] += p[1:-1] * (1 - part)
    mass[1:] += p[1:-1] * part
    mass[0] += p[0]
    used = mass > 0
    losses, log_mass = losses[used], np.log(mass[used])
    margin = 4 * (x.size + 8) * 2.0**-53  # rounding of masses, exponentials and their sum
    exponents = np.multiply.outer(orders - 1, losses) + log_mass
    top = exponents.max(axis=1)
    inside = top + np.log(np.exp(exponents - top[:, None]).sum(axis=1)) + margin * (1 + np.abs(top))
    return np.asarray(np.logaddexp(inside, _log_tail(pair, float(x[-1]), orders)))


def _log_ratio(x: Curve, pair: Pair, side: float) -> Curve:
    """Logarithm of one of the two laws against N(0)."""
    if side == 0:
        return np.zeros_like(x)
    moved = (side * x - 0.5) / pair.multiplier**2
    return np.asarray(np.logaddexp(np.log1p(-pair.rate), np.log(pair.rate) + moved))


def _log_tail(pair: Pair, h: float, orders: Curve) -> Curve:
    """Bounds on the part of the moment above h."""
    q, z = pair.rate, pair.multiplier
    floor = np.log1p(-q)
    if pair.above == 0:
        return np.asarray((1 - orders) * floor + log_ndtr(-h / z))
    lift = np.logaddexp(np.log(q), floor - (h - 0.5) / z**2)
    tail = orders * lift + orders * (orders - 1) / (2 * z * z) + log_ndtr((orders - h) / z)
    return np.asarray(tail + ((1 - orders) * floor if pair.below else 0.0))


@dataclass(frozen=True, eq=False)
class Account:
    """Draws under an adjacency.

    Guarantee
    ---------
    Every method is the least of bounds that are each valid for the adaptive composition of the draws (`draws`, `pld`,
    `selections`, `sampled_renyi`), in both directions.
    """

    costs: TurnCosts
    adjacency: Adjacency

    @cached_property
    def _everywhere(self) -> Curve:
        return self._renyi(ORDERS)

    def renyi(self, orders: Curve = ORDERS) -> Curve:
        """Renyi divergences; sampling and random numbers of turns are counted."""
        return self._everywhere if orders is ORDERS else self._renyi(orders)

    def _renyi(self, orders: Curve) -> Curve:
        costs = self.costs
        if not costs.sampled:
            return costs.renyi(orders)
        found = sampled_renyi(self._steps, self.adjacency, orders)
        return found if costs.random else np.minimum(found, costs.renyi(orders))

    def pure(self) -> float:
        """Epsilon at delta = 0."""
        return self.costs.pure if self.costs.all_pure else math.inf

    def mu(self) -> float:
        """GDP from closed forms: exact for unsampled Gaussians."""
        return self.costs.mu

    @property
    def exact(self) -> bool:
        """Whether `mu` is exact: nothing but unsampled Gaussians, in every branch."""
        return self.costs.gaussian and not self.costs.sampled

    def delta(self, epsilon: float) -> float:
        """Hockey-stick divergence."""
        costs = self.costs
        if epsilon >= self.pure():
            return 0.0
        found = [gaussian_delta(epsilon, costs.mu)] if costs.mu < math.inf else []
        if not self.exact:
            found.append(renyi_delta(self.renyi(), epsilon))
        if self._stage is not None:
            found.append(selections.stage_delta(epsilon, self._stage))
        if costs.sampled:
            found.append(pld.sampled_delta(self._steps, epsilon, self.adjacency))
        return min(found)

    def deltas(self, epsilons: Curve, scale: float) -> Curve:
        """Hockey-stick divergences at many epsilons >= 0, from one run of each accountant; sharp down to `scale`."""
        costs = self.costs
        found = np.array([renyi_delta(self.renyi(), float(e)) for e in epsilons])
        found[epsilons >= self.pure()] = 0.0
        if self._stage_curve is not None:
            grid, bounds = self._stage_curve  # between its points chords in exp(epsilon) lie above a delta curve
            alphas = np.exp(np.minimum(epsilons, grid[-1])) * (1 - 16 * UNIT)
            found = np.minimum(found, np.interp(alphas, np.exp(grid), bounds) + 16 * UNIT)
        if costs.sampled:
            losses = pld.composed_losses(self._steps, self.adjacency, scale)
            found = np.minimum(found, [max(loss.delta(float(e)) for loss in losses) for e in epsilons])
        return found

    def epsilon(self, delta: float) -> float:
        """What an accountant certifies for the whole."""
        return spent_epsilon(self.costs, delta, Budget(adjacency=self.adjacency))

    @cached_property
    def _stage(self) -> Stage | None:
        """For the recursion over selections, where that applies and its grid is not too wide."""
        small = renyi_epsilon(self.renyi(), 1e-6) <= 1.5 * LARGEST_RECURSION_EPSILON
        return self.costs.stage() if small else None

    @cached_property
    def _stage_curve(self) -> tuple[Curve, Curve] | None:
        return None if self._stage is None else selections.stage_curve(self._stage)

    @property
    def _steps(self) -> list[pld.LossCounts]:
        return self.costs.multipliers(self.adjacency.kappa)
