r"""An odometer: a bound on the privacy loss so far that is valid at every entry.

It may be read after every entry, and holds whatever was chosen or stopped because of it.

A filter answers for its capacity, fixed in advance. The smallest capacity that *would have*
sufficed is not such a bound: a user who stops when the loss happens to be high stops at a small sum
(``docs/guarantees/ledger.md``). An odometer runs many filters at once, each with its own part of
delta, and reads the smallest that was never exceeded.

Guarantee
---------
Let :math:`E` be the epsilon that `odometer` gives for the transcript at which the analyst stops.
For all neighbours and every set S of transcripts

.. math:: P(S) \le E_Q[e^{E}; S] + \delta .

*Proof.* Give each transcript to the filter j of the list below with the smallest epsilon of those
that let all of it through; let :math:`R_j` be those of filter j, and :math:`\epsilon_j, \delta_j`
its guarantee. Along :math:`R_j` the filter never refused, so each transcript in it has the
probability it has where filter j alone stands guard, and
:math:`P(S \cap R_j) \le e^{\epsilon_j} Q(S\cap R_j) + \delta_j`. Sum over j: the reading on
:math:`R_j` is :math:`\epsilon_j`, and :math:`\sum_j\delta_j \le \delta`. Where the reading is
infinite there is nothing to show. :math:`\square`

The filters, by parts of delta (`FIRST`, `GAUSSIAN`, `RENYI`, of sum 1):

* *one entry*: nothing but the first entry is let through. It was chosen before anything was
  released, so its own accountant holds.
* *Gaussian*, on levels :math:`\epsilon_k = \epsilon\,r^k`, k any whole number: the sum of mu
  squared and of slacks (`filters`).
* *Renyi*, on the same levels, each at one order that its epsilon and delta alone decide.
* *pure*: for pure entries the losses add up in every transcript, at no delta.

Level k has the part :math:`(1+|k|)^{-2}/\sum_i(1+|i|)^{-2}` of its kind's delta. The sum over all
whole i is :math:`2\pi^2/6 - 1`, so that the parts add up to one and every sum has a level.

References
----------
.. [RRUV16] Rogers, Roth, Ullman and Vadhan, NeurIPS 2016: privacy odometers and filters.
.. [WRRW23] Whitehouse, Ramdas, Rogers and Wu, ICML 2023: fully adaptive composition in differential privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from ..core.curves import ORDERS, Curve, gaussian_mu
from .filters import renyi_capacities

#: Parts of delta for the first entry alone, for Gaussian levels and for Renyi levels; their sum is 1.
FIRST, GAUSSIAN, RENYI = 0.1, 0.6, 0.3
#: Part of a Gaussian level's delta that is kept for the slacks of its entries.
SLACK = 0.1
#: Ratio of neighbouring levels: a reading is rounded up by at most this.
RATIO = 1.1
#: Levels below and above the total that are looked at: 1.1^60 is 304, and what is beyond reads as infinite.
REACH = 60
#: Sum of (1 + |k|)^-2 over all whole k.
WEIGHTS = math.pi**2 / 3 - 1


@dataclass(frozen=True)
class Spent:
    """What entries cost together.

    Attributes
    ----------
    count : int
        How many there are.
    first : callable
        The epsilon of the first one alone, at a delta.
    mu_squared, slack : float
        Sum of squares of dominating mus, and the delta by which they fall short.
    renyi : array
        Sum of their divergences at `ORDERS`.
    pure : float
        Sum of their pure epsilons; infinite if one has none.
    """

    count: int
    first: Callable[[float], float]
    mu_squared: float
    slack: float
    renyi: Curve
    pure: float


def odometer(total: float, delta: float, taken: Spent) -> float:
    """A bound on what was lost so far, in epsilon at `delta`.

    Parameters
    ----------
    total : float
        The epsilon around which the levels lie; fixed before the first entry.
    delta : float
    taken : Taken
    """
    if taken.count == 0:
        return 0.0
    found = [taken.pure]
    if delta > 0:
        if taken.count == 1:
            found.append(taken.first(FIRST * delta))
        found.append(_lowest(total, delta, lambda e, d: _gaussian_fits(e, GAUSSIAN * d, taken)))
        found.append(_lowest(total, delta, lambda e, d: _renyi_fits(e, RENYI * d, taken)))
    return min(found)


def levels(total: float, delta: float) -> Iterable[tuple[float, float]]:
    """Epsilon and delta of each level, from below."""
    return ((total * RATIO**k, delta / (WEIGHTS * (1 + abs(k)) ** 2)) for k in range(-REACH, REACH + 1))


def _lowest(total: float, delta: float, fits: Callable[[float, float], bool]) -> float:
    return next((e for e, d in levels(total, delta) if fits(e, d)), math.inf)


def _gaussian_fits(epsilon: float, delta: float, taken: Spent) -> bool:
    if taken.slack > SLACK * delta:
        return False
    return taken.mu_squared <= gaussian_mu(epsilon, (1 - SLACK) * delta) ** 2


def _renyi_fits(epsilon: float, delta: float, taken: Spent) -> bool:
    room = renyi_capacities(epsilon, delta)
    best = int(np.argmax(room / ORDERS))
    return bool(taken.renyi[best] <= room[best])
