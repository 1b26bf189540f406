r"""What whole sites changed in a model, as one noisy average: the client-level unit, with a server that is trusted.

Guarantee
---------
Every change is clipped to norm S and truncated towards zero to whole multiples of
:math:`S/2^{20}`, which only shrinks: one site moves the integer sum by at most S, and exchanging
one for another by :math:`2S`. Noise of the priced multiple of :math:`\kappa S` is added once, to
the sum, by `lattice_gaussian`; the divisor is the public rate times the public number of sites. A
site that is absent adds nothing, so the stated sensitivity holds no matter who answers. Sites that are
sampled by coins amplify the guarantee only as long as the coins stay secret. Anyone who holds the
changes sees them without noise: the guarantee is about what is *published*.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from ..accounting.pricing import PricedPlan
from ..core.errors import PrivacyError
from ..core.facts import Clip, Vector
from ..core.mechanisms import Randomness, lattice_gaussian
from ..core.plan import Ask, EveryRow, Noise, Plan, PoissonRows
from ..core.statement import Receipt
from ..queries.kinds import Gradient, Query
from ..queries.sensitivity import check_bound
from ..rows.sampling import PoissonSample
from .gate import Gate, TurnNoise, check_answerable

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
class ClippedMeanNoise:
    r"""The terms of means of clipped vectors with Gaussian noise.

    Gradients of networks and changes of whole sites are such means.

    Guarantee
    ---------
    Everybody adds a vector of norm at most S, so neighbours move the sum by at most
    :math:`\kappa S`.

    Parameters
    ----------
    plan : Plan
        What may be asked.
    priced : PricedPlan or None
        Its price; a plan without one has no noise, for baselines.
    clip : float
        S.
    count : int
        The public number of records, or of sites.
    """

    plan: Plan
    priced: PricedPlan | None
    clip: float
    count: int

    def branch(self, name: str) -> NoReturn:
        """These plans have none."""
        raise PrivacyError("plans of means of clipped vectors have no branches.")

    def check_plan(self) -> None:
        """Refuse an ask, or a clip, that does not belong to a mean of clipped vectors with Gaussian noise."""
        noisy = self.priced is not None
        for ask in self.plan.asks:
            check_answerable(Gradient, ask, together=False, noisy=noisy)
            if ask.noise not in (Noise.GAUSSIAN, Noise.NONE) or ask.question not in (None, Gradient.__name__):
                raise PrivacyError(f"ask {ask.name!r} is no mean of clipped vectors with Gaussian noise.")
        check_bound(self.clip, "a clip")

    def measure(self, query: Query, ask: Ask, turn: int) -> TurnNoise:
        """Noise of the priced multiple of the clip."""
        if not isinstance(query, Gradient) or query.clip != Clip(self.clip):
            raise PrivacyError(f"ask {ask.name!r} was priced for gradients within a clip, and for nothing else.")
        rate = ask.sampling_rate
        if self.priced is None:
            return TurnNoise(0.0, math.inf, rate, rate * self.count)
        cost = self.priced.cost(ask.name, turn)  # refuses a turn that was not priced
        return TurnNoise(self.priced.kappa * self.clip, cost.strength, rate, rate * self.count)

    def receipt(self, name: str) -> Receipt:
        """What is drawn for each turn: public."""
        noise = self.measure(Gradient(np.zeros(0), Clip(self.clip)), self.plan[name], 0)
        return Receipt(name, Noise.GAUSSIAN, 1, noise.rate, noise.sensitivity, noise.sensitivity / noise.strength)


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
        self.terms.check_plan()
        if not 1 <= self.sites <= LARGEST_SITES:
            raise PrivacyError("changes of sites need a public number of sites.")

    @property
    def terms(self) -> ClippedMeanNoise:
        """How much noise averages get: public."""
        return ClippedMeanNoise(self.priced.plan, self.priced, self.clip, self.sites)

    @property
    def receipt(self) -> Receipt:
        """What is drawn for each round: public."""
        return self.terms.receipt(NAME)

    def invite(self, randomness: Randomness) -> list[int]:
        """The sites that take part in a round, each by a coin of its own: **secret**."""
        rate = self.priced.plan[NAME].sampling_rate
        if rate == 1:
            return list(range(self.sites))
        return [int(i) for i in np.flatnonzero(PoissonSample(rate, randomness.key()).mask(0, self.sites))]

    def average(self, turn: int, changes: Sequence[Vector], size: int, randomness: Randomness) -> Vector:
        """The noisy average of a round.

        Changes in, of at most as many sites as there are, one number for each of `size`
        coefficients out.
        """
        gate = Gate(self.terms, used={NAME: turn})  # rounds are counted, and paid for, by the server
        charge = gate.next(Gradient(np.zeros(0), Clip(self.clip)), NAME)
        if len(changes) > self.sites:
            raise PrivacyError(f"{len(changes)} changes came from {self.sites} sites.")
        unit = self.clip / UNITS
        total = np.zeros(size, dtype=np.int64)
        for change in changes:
            total += self._whole(change, unit)
        noisy = lattice_gaussian(total, self.priced.kappa * UNITS / charge.strength, randomness)
        return np.asarray(noisy * (unit / charge.divisor))

    def _whole(self, change: Vector, unit: float) -> np.ndarray:
        """A change within the clip, in whole units; what is no number counts as zero."""
        known = np.nan_to_num(np.clip(change, -self.clip, self.clip))
        norm = float(np.linalg.norm(known))
        if norm > self.clip * (1 - 1e-9):
            known = known * (self.clip * (1 - 1e-9) / norm)
        return np.trunc(known / unit).astype(np.int64)
