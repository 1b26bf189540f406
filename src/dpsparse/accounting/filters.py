r"""Privacy filters: how many fits may share one budget when each is chosen after seeing the models before it.

Inside one plan all noise is fixed in advance. Across fits it is not: how much the next one spends,
and whether there is a next one, may depend on what was released. A filter adds up costs and refuses
what would exceed a capacity that was fixed before the first release.

Guarantee
---------
Whatever is asked, in whatever way it was chosen, everything that one filter lets through is
together (epsilon, delta)-differentially private, with its own epsilon and delta.

* `GaussianFilter`: costs are :math:`\mu_i^2` with slacks :math:`s_i`, where
  :math:`\delta_i(\epsilon) \le G_{\mu_i}(\epsilon) + s_i` [ST22]_. Capacity
  :math:`\mu(\epsilon, \delta)^2`.
* `RenyiFilter`: costs are Renyi divergences at one order, fixed in advance [FZ21]_, and the tight
  conversion at that order.
* `PureFilter`: pure epsilons, which add up [RRUV16]_.

Several filters with :math:`\sum_j\delta_j \le \delta` may run side by side, and what any of them
lets through is let through: a set of transcripts splits into parts, one for each filter that has
let all of its transcript through, and on its part the run cannot be told from one that this filter
alone had guarded. Proofs: ``docs/guarantees/ledger.md``.

Costs are whole numbers of `UNIT`, rounded up, and capacities rounded down: sums of any length are
exact.

References
----------
.. [FZ21] Feldman and Zrnic, NeurIPS 2021: individual privacy accounting via a Renyi filter.
.. [ST22] Smith and Thakurta, 2022: fully adaptive composition for Gaussian differential privacy.
.. [RRUV16] Rogers, Roth, Ullman and Vadhan, NeurIPS 2016: privacy odometers and filters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..core.codec import form
from ..core.curves import ORDERS, Curve, gaussian_epsilon, gaussian_mu
from .costs.base import Cost
from .domination import dominating_mu

#: One unit of cost: of mu^2, of a Renyi divergence, of epsilon.
UNIT = 1e-12
#: Units that stand for a cost without a bound; larger than any capacity.
UNBOUNDED = 10**40
#: Part of delta that a ledger led by a Gaussian filter leaves to a Renyi filter, and part that it keeps as slack.
ASIDE = 5e-4
#: Slack is counted in this many parts of the whole; an entry that needs some takes one part in 50
#: to 100 of what is left.
PARTS, TAKEN = 10**12, 50


def cost_units(cost: float) -> int:
    """A cost in whole units, rounded up."""
    return math.ceil(cost / UNIT) if cost / UNIT < UNBOUNDED else UNBOUNDED


@dataclass(frozen=True)
class Charge:
    """What one entry costs in each filter, in units, and how many parts of slack it takes."""

    costs: Mapping[str, int]
    slack: int = 0


@form("name", "gaussian")
@dataclass(frozen=True)
class GaussianFilter:
    """Sum of mu squared. `slack` is the delta that all slacks together may take, beside `delta`."""

    name: ClassVar[str] = "gaussian"

    epsilon: float
    delta: float
    slack: float
    capacity: int

    @classmethod
    def of(cls, epsilon: float, delta: float, slack: float) -> GaussianFilter:
        """The filter for (epsilon, delta + slack)."""
        return cls(epsilon, delta, slack, math.floor(gaussian_mu(epsilon, delta) ** 2 / UNIT))

    def cost(self, bill: Cost, slack: int) -> tuple[int, int]:
        """Units of a dominating mu squared."""
        mu, used = dominating_mu(bill, self.slack * (slack / PARTS))
        return cost_units(mu * mu), slack if used else 0

    def largest_epsilon(self, left: int, delta: float) -> float:
        """Epsilon of the Gaussian that is left."""
        return gaussian_epsilon(math.sqrt(max(left, 0) * UNIT), delta)


def renyi_capacities(epsilon: float, delta: float) -> Curve:
    r"""The divergences, at `ORDERS`, that imply (epsilon, delta).

    At order a it is :math:`\epsilon - \log(1-1/a) + (\log\delta + \log a)/(a-1)`.
    """
    return np.asarray(epsilon - np.log1p(-1 / ORDERS) + (math.log(delta) + np.log(ORDERS)) / (ORDERS - 1))


@form("name", "renyi")
@dataclass(frozen=True)
class RenyiFilter:
    """Sum of Renyi divergences at one order."""

    name: ClassVar[str] = "renyi"

    epsilon: float
    delta: float
    order: float
    capacity: int

    @classmethod
    def of(cls, epsilon: float, delta: float, order: float | None = None) -> RenyiFilter:
        r"""The filter for (epsilon, delta), at the order that leaves most space for Gaussian-like costs.

        A Gaussian costs a multiple of the order, so the quotient by it is made large.
        """
        room = renyi_capacities(epsilon, delta)
        best = int(np.argmax(room / ORDERS)) if order is None else int(np.argmin(np.abs(ORDERS - order)))
        return cls(epsilon, delta, float(ORDERS[best]), max(0, math.floor(float(room[best]) / UNIT)))

    def cost(self, bill: Cost, slack: int) -> tuple[int, int]:
        """Units of the divergence at the order."""
        return cost_units(float(bill.renyi(np.array([self.order]))[0])), 0

    def largest_epsilon(self, left: int, delta: float) -> float:
        """Epsilon of the Gaussian with this divergence."""
        return gaussian_epsilon(math.sqrt(2 * max(left, 0) * UNIT / self.order), delta)


@form("name", "pure")
@dataclass(frozen=True)
class PureFilter:
    """Sum of pure epsilons."""

    name: ClassVar[str] = "pure"

    epsilon: float
    capacity: int

    @classmethod
    def of(cls, epsilon: float) -> PureFilter:
        """The filter for (epsilon, 0)."""
        return cls(epsilon, math.floor(epsilon / UNIT))

    def cost(self, bill: Cost, slack: int) -> tuple[int, int]:
        """Units of epsilon."""
        return cost_units(bill.pure()), 0

    def largest_epsilon(self, left: int, delta: float) -> float:
        """Epsilon that is left."""
        return max(left, 0) * UNIT


#: A sum of costs with a capacity: each has `cost`, the units of a bill and the parts of slack that it takes, and
#: `largest_epsilon`, of an all-Gaussian fit (or a pure one) that these units would take.
Filter = GaussianFilter | RenyiFilter | PureFilter

#: Ways in which a dataset's ledger may count; None until its first entry decides.
KINDS = ("gaussian", "renyi", "pure")


def filters_of(kind: str, epsilon: float, delta: float) -> tuple[Filter, ...]:
    """The filters of a ledger that counts in this way. Their deltas add up to `delta`."""
    if kind == "pure":
        return (PureFilter.of(epsilon),)
    if kind == "renyi":
        return (RenyiFilter.of(epsilon, delta),)
    aside = ASIDE * delta
    return (
        GaussianFilter.of(epsilon, delta - 2 * aside, aside),
        RenyiFilter.of(epsilon, aside),
    )


def portion(slack: int) -> int:
    """What the next entry may take of the slack that is left.

    A power of two, so that equal bills are often priced alike.
    """
    return 1 << max(0, (slack // TAKEN).bit_length() - 1) if slack >= TAKEN else 0


def filter_costs(filters: tuple[Filter, ...], bill: Cost, slack: int) -> Charge:
    """What a bill costs in each filter, when `slack` parts are left."""
    part = portion(slack)
    found = {f.name: f.cost(bill, part) for f in filters}
    return Charge({name: cost for name, (cost, _) in found.items()}, max(used for _, used in found.values()))


def recharge(filters: tuple[Filter, ...], bill: Cost, used: int) -> Charge:
    """The same for an entry that took `used` parts of slack; to check a stored charge."""
    found = {f.name: f.cost(bill, used) for f in filters}
    return Charge({name: cost for name, (cost, _) in found.items()}, used)
