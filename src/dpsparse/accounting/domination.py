r"""A Gaussian that is at least as revealing as a whole bill: how anything enters a ledger that counts in Gaussian DP.

Let :math:`\delta(\epsilon)` bound a bill and :math:`G_\mu(\epsilon)` be the curve of N(0,1) against
N(mu,1). `dominating_mu` finds a small mu with

.. math:: \delta(\epsilon) \le G_\mu(\epsilon) + \delta_0 \qquad \text{for every } \epsilon \ge 0,

which `filters.GaussianFilter` turns into a cost of :math:`\mu^2` and a slack of :math:`\delta_0`. A
plan of k selections of one range is close to a Gaussian as a whole (k = 5: 3 % above its zCDP),
although one alone is not (25 %).

Guarantee
---------
The inequality holds at every epsilon, not only where it was looked at. Both sides are convex in
:math:`a = e^\epsilon`. Between two points of the grid :math:`\delta` lies below its chord and
:math:`G_\mu` above its tangents at both ends, :math:`dG_\mu/da = -\Phi(-\mu/2-\epsilon/\mu)`; chord
minus the larger tangent is largest at an end or where the tangents meet, and there it is compared.
The grid ends where :math:`\delta \le \delta_0`, and :math:`\delta` falls. Rounding of the Gaussian
side is subtracted from it.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import log_ndtr

from ..core.curves import Curve
from .costs.base import Cost
from .costs.plan import PlanCost
from .costs.sum import SumCost
from .costs.unit import bare_cost
from .recursion import UNIT

#: Points of the grid in epsilon.
POINTS = 400
#: Largest epsilon to which a curve is followed.
FARTHEST = 700.0
#: Rounding of mu upwards.
SAFETY = 1 + 1e-9


def dominating_mu(bill: Cost, slack: float) -> tuple[float, float]:
    """A mu and the part of `slack` that it needs, 0 where a closed form is exact or as good; infinite without one.

    Examples
    --------
    >>> from dpsparse.accounting import price
    >>> from dpsparse.core import Ask, Budget, Noise, Plan
    >>> plan = Plan(asks=(Ask(name="choice", noise=Noise.GUMBEL, times=10),))
    >>> bill = PlanCost.of(price(plan, Budget.zcdp(0.02)))
    >>> round(dominating_mu(bill, 1e-11)[0] ** 2 / 2, 4), round(bill.mu() ** 2 / 2, 4)
    (0.0213, 0.0314)
    """
    closed = bill.mu() * SAFETY
    if _exact(bill) or slack <= 0:
        return closed, 0.0
    epsilons = _grid(bill, slack)
    if epsilons is None:
        return closed, 0.0
    bounds = _deltas(bill, epsilons, slack)
    high = 1.0 if math.isinf(closed) else closed
    while not _dominates(high, epsilons, bounds, slack):
        high *= 2
        if high > 1e4:
            return closed, 0.0
    low = 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if _dominates(middle, epsilons, bounds, slack) else (middle, high)
    found = high * SAFETY
    return (found, slack) if found < closed else (closed, 0.0)


def excess(bill: PlanCost, rho: float, slack: float) -> float:
    r"""The x >= 0 with which :math:`\delta(\epsilon) \le G_\mu(\epsilon) + slack` for :math:`\mu^2 = 2\rho(1+x)`.

    Infinite if no x does.

    Examples
    --------
    >>> from dpsparse.accounting import price
    >>> from dpsparse.core import Ask, Budget, Noise, Plan
    >>> plan = Plan(asks=(Ask(name="choice", noise=Noise.GUMBEL, times=10),))
    >>> round(excess(PlanCost.of(price(plan, Budget.zcdp(0.02))), 0.02, 1e-11), 3)
    0.065
    """
    return max(dominating_mu(bill, slack)[0] ** 2 / (2 * rho) - 1, 0.0)


def _exact(bill: Cost) -> bool:
    bill = bare_cost(bill)
    return isinstance(bill, PlanCost | SumCost) and bill.account is not None and bill.account.exact


def _deltas(bill: Cost, epsilons: Curve, slack: float) -> Curve:
    bill = bare_cost(bill)
    if isinstance(bill, PlanCost | SumCost) and bill.account is not None:
        return bill.account.deltas(epsilons, slack)
    return np.array([bill.delta(float(e)) for e in epsilons])


def _grid(bill: Cost, slack: float) -> Curve | None:
    """Epsilons from 0 to one with delta <= slack, close together near 0; None if there is no such epsilon."""
    top = 0.25
    while float(_deltas(bill, np.array([top]), slack)[0]) > slack:
        top *= 1.5
        if top > FARTHEST:
            return None
    return np.asarray(top * np.linspace(0.0, 1.0, POINTS) ** 1.5)


def _dominates(mu: float, epsilons: Curve, bounds: Curve, slack: float) -> bool:
    """Whether G_mu + slack is above the curve with these bounds, at and between the points."""
    below = log_ndtr(-mu / 2 - epsilons / mu)
    first = np.exp(log_ndtr(mu / 2 - epsilons / mu))
    gauss = first - np.exp(epsilons + below) - (1024 + 16 * epsilons) * UNIT * first
    # one cell is 0 <= x <= 1 in exp(epsilon): the tangents fall by `left` and `right` over all of it
    widths = np.expm1(np.diff(epsilons))
    left = np.exp(epsilons[:-1] + below[:-1]) * widths
    right = np.exp(epsilons[:-1] + below[1:]) * widths
    with np.errstate(divide="ignore", invalid="ignore"):
        meet = (gauss[:-1] - gauss[1:] - right) / (left - right)
    meet = np.clip(np.nan_to_num(meet, nan=0.5), 0.0, 1.0)
    tangent = np.maximum(gauss[:-1] - left * meet, gauss[1:] + right * (1 - meet))
    chord = bounds[:-1] + (bounds[1:] - bounds[:-1]) * meet
    room = slack * (1 - 1e-6)
    return bool(np.all(bounds <= gauss + room) and np.all(chord <= tangent + room))
