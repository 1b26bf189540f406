r"""What whole sites changed in a model, as one noisy average: the client-level unit, with a server that is trusted.

Guarantee
---------
Every change is held within norm S and truncated towards zero to whole multiples of :math:`S/2^{20}`, which only shrinks: one site moves the
integer sum by at most S, and exchanging one for another by :math:`2S`. Noise of the priced multiple of :math:`\kappa S` is added once, to the sum, by
`lattice_gaussian`; the divisor is the public rate times the public number of sites. A site that is absent adds nothing, so the stated
sensitivity holds whoever answers. Sites that are sampled by coins amplify the promise only as long as the coins stay secret.
Whoever holds the changes sees them without noise: the promise is about what is *published*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..accounting.pricing import PricedPlan
from ..core.errors import PrivacyError
from ..core.facts import Vector
from ..core.mechanisms import Randomness, lattice_gaussian
from ..core.plan import Ask, EveryRow, Noise, Plan, PoissonRows
from ..core.statement import Receipt
from ..rows.sampling import PoissonSample
from .base import check_clipped_mean, sample_rate

#: Units of the lattice in the norm S of one change.
UNITS = 2.0**20
#: Most sites: times UNITS it is far below 2^62.
LARGEST_SITES = 2**30
NAME = "changes"


def changes_plan(rounds: int, rate: float) -> Plan:
    """One noisy average for each round, of sites that take part with probability `rate`."""
    rows = EveryRow() if rate >= 1 else PoissonRows(rate)
    return Plan(asks=(Ask(name=NAME, noise=Noise.GAUSSIAN, times=rounds, rows=rows),))


@dataclass(frozen=True, eq=False)
class ClientUpdates:
    """Noisy averages of what sites changed.

    Parameters
    ----------
    priced : PricedPlan
        Of a `changes_plan`.
    clip : float
        S: the norm within which one site changes a model.
    sites : int
        The public number of sites.
    """

    priced: PricedPlan
    clip: float
    sites: int

    def __post_init__(self) -> None:
        check_clipped_mean(self.priced.plan[NAME], self.clip)
        if not 1 <= self.sites <= LARGEST_SITES:
            raise PrivacyError("changes of sites need a public number of sites.")

    @property
    def receipt(self) -> Receipt:
        """What is drawn for each round: public."""
        cost = self.priced.cost(NAME)
        moved = self.priced.kappa * self.clip
        return Receipt(NAME, Noise.GAUSSIAN, 1, cost.sampling_rate, moved, moved / cost.strength)

    def invite(self, randomness: Randomness) -> list[int]:
        """The sites that take part in a round, each by a coin of its own: **secret**."""
        rate = sample_rate(self.priced.plan[NAME])
        taking = (
            np.ones(self.sites, dtype=bool)
            if rate is None
            else PoissonSample(rate, randomness.key()).mask(0, self.sites)
        )
        return [int(i) for i in np.flatnonzero(taking)]

    def average(self, turn: int, changes: Sequence[Vector], size: int, randomness: Randomness) -> Vector:
        """The noisy average of a round: changes in, of at most as many sites as there are, one number for each of `size` coefficients out."""
        cost = self.priced.cost(NAME, turn)  # refuses a turn that was not priced
        if len(changes) > self.sites:
            raise PrivacyError(f"{len(changes)} changes came from {self.sites} sites.")
        unit = self.clip / UNITS
        total = np.zeros(size, dtype=np.int64)
        for change in changes:
            total += self._whole(change, unit)
        noisy = lattice_gaussian(total, self.priced.kappa * UNITS / cost.strength, randomness)
        return np.asarray(noisy * (unit / (cost.sampling_rate * self.sites)))

    def _whole(self, change: Vector, unit: float) -> np.ndarray:
        """A change within the clip, in whole units; what is no number counts as zero."""
        known = np.nan_to_num(np.clip(change, -self.clip, self.clip))
        norm = float(np.linalg.norm(known))
        if norm > self.clip * (1 - 1e-9):
            known = known * (self.clip * (1 - 1e-9) / norm)
        return np.trunc(known / unit).astype(np.int64)
