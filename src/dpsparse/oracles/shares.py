r"""The oracle of sites: rows stay where they are, every site adds its share of the noise, and only a sum is published.

An answer takes four steps: charge; every site adds up its own rows, rounds, and adds its share
of noise; the integers are added, modulo :math:`2^{64}`; the public number of all rows divides.

Guarantee
---------
Sites use one public lattice, made for the public number of all rows, so the sum of their integers
is that of a curator, but for rounding, which each does for itself. One record is at one site: it
moves the rounded sum of that site by what `PricedNoise` states, and no other. Each share has
standard deviation :math:`\sigma/\sqrt m` for the priced :math:`\sigma`. If at least m of the sites
that answer add their shares honestly and keep them secret, the noise of the sum is at least that of
the price (`core.mechanisms.shares`), and the guarantee to everybody who sees *sums* is the price.
Fewer than m answers are not published. More of them make more noise.

*One query.* Shares add up in units of the lattice, and each site makes its own for the query,
ask and turn that it was sent. The guarantee about sums therefore assumes that the m honest sites were
sent the same ones: to an aggregator who sends other ones to some of them, the sum holds fewer units
of noise. Nothing in a part shows this. `SharedNoiseOracle` asks all alike; a secure sum between
processes must add only parts to one (query, ask, turn), for example with masks that the sites
derive from a digest of it. What single parts cost (`single_site_bill`) holds whatever each site was
sent.

Anyone who sees the integers of a single site, as an aggregator without secure aggregation does, sees
them with noise :math:`\sigma/\sqrt m`: the same plan at m times the rho (`single_site_bill`).
Integers modulo :math:`2^{64}` are what secure aggregation adds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..accounting.costs import PlanCost
from ..accounting.pricing import PricedPlan
from ..core.errors import PrivacyError
from ..core.facts import Facts, Vector
from ..core.mechanisms import Randomness, gaussian_share
from ..core.plan import Ask, Noise, Plan
from ..queries.kinds import Query
from ..queries.losses import Loss, guard
from ..queries.rules import SUMS
from ..rows.hosts import Host
from ..rows.lattice import Lattice
from .gate import ChargedOracle, Gate, PaymentLike, ProgressCallback, check_plan
from .noise_info import PricedNoise

Integers = NDArray[np.int64]
_SUMS = {kind.__name__ for kind in SUMS}


def check_shareable(plan: Plan) -> None:
    """Refuse a plan that no curator may answer, or whose noise cannot be made in shares.

    Selections, statistics, noise that is not Gaussian.
    """
    for ask in plan.all_asks():
        if ask.question not in _SUMS or ask.noise is not Noise.GAUSSIAN:
            raise PrivacyError(
                f"ask {ask.name!r} is not a sum with Gaussian noise, so sites cannot make its "
                "noise in shares. Use a recipe of noisy sums, "
                "such as dp_sgd_ht, dp_ight with mechanism='dense', or dual_averaging."
            )
    check_plan(plan, together=False)


def single_site_bill(priced: PricedPlan, honest: int) -> PlanCost:
    """What anyone who sees the integers of single sites may learn, as a bill: the same plan at m times the rho."""
    return PlanCost.of(priced).scaled(float(honest))


class Part(Protocol):
    """A site, as the aggregator sees it."""

    def part(self, question: Query, ask: str) -> Integers | None:
        """Its noisy integers; None for a site that does not answer."""
        ...

    def take_branch(self, branch: str) -> None:
        """Go on with a branch of the plan."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class SharedNoise(PricedNoise):
    """The terms of sites that make noise in shares.

    With all of them honest, the noise is wider by the root of `spare`.
    """

    spare: float = 1.0

    def check_plan(self) -> None:
        """Refuse what sites cannot make noise for in shares."""
        check_shareable(self.plan)

    def deviation_of(self, scale: float, ask: Ask, divisor: float) -> float:
        """With the shares of all sites."""
        return math.sqrt(self.spare) * super().deviation_of(scale, ask, divisor)


class NoiseShare:
    """One site: rows on a host, a gate of its own, and its share of the noise.

    Parameters
    ----------
    host : Host
        With the facts of all sites together, and the rows of this one.
    loss : Loss
    priced : PricedPlan
    honest : int
        m: the number of shares that make up the priced noise.
    randomness : Randomness
    payment : Payment, optional
        Started before the first answer.
    """

    def __init__(
        self,
        host: Host,
        loss: Loss,
        priced: PricedPlan,
        honest: int,
        randomness: Randomness,
        payment: PaymentLike | None = None,
    ) -> None:
        self._gate = Gate(SharedNoise(priced, host.lattice, loss=guard(loss)), randomness.key, payment)
        self._host, self._loss, self._honest, self._randomness = host, guard(loss), honest, randomness

    def part(self, question: Query, ask: str) -> Integers:
        """Pass the gate, add up, round, add the share."""
        charge = self._gate.next(question, ask)
        coarse = charge.spec.rounded(self._host.total(charge, self._loss))
        units = charge.scale / charge.spec.step * np.ones(coarse.shape)
        return gaussian_share(coarse, units, self._honest, self._randomness)

    def take_branch(self, branch: str) -> None:
        """Go on with a branch of the plan, at its price."""
        self._gate.take_branch(branch)


class SharedNoiseOracle(ChargedOracle[SharedNoise]):
    """Adds up what sites answer. It holds no rows and draws no noise.

    Parameters
    ----------
    facts : Facts
        Of all sites together.
    priced : PricedPlan
    sites : sequence of Part
    honest : int
        m: at least this number of sites must answer, and are trusted to add their share.
    watcher : callable, optional
        Told the name of every ask that is charged.
    """

    def __init__(
        self,
        facts: Facts,
        priced: PricedPlan,
        sites: Sequence[Part],
        honest: int,
        watcher: ProgressCallback | None = None,
    ) -> None:
        if not 1 <= honest <= len(sites):
            raise PrivacyError(f"of {len(sites)} sites between 1 and {len(sites)} can be honest, not {honest!r}.")
        terms = SharedNoise(priced, Lattice(facts), spare=len(sites) / honest)
        super().__init__(facts, Gate(terms, watcher=watcher))
        self._sites = tuple(sites)
        self._honest = honest

    def answer(self, question: Query, ask: str) -> Vector:
        """Charge, ask every site, add up."""
        charge = self.charge(question, ask)
        parts = [found for site in self._sites if (found := site.part(question, ask)) is not None]
        if len(parts) < self._honest:
            raise PrivacyError(
                f"{len(parts)} sites answered, and {self._honest} shares make the priced noise. "
                "The turn is spent, and nothing is published."
            )
        total = np.zeros_like(parts[0])
        for part in parts:
            if part.shape != total.shape or part.dtype != np.int64:
                raise PrivacyError(
                    "a site answered with another number of integers. The turn is spent, and nothing is published."
                )
            total += part  # modulo 2^64
        self.receipts.append(charge.receipt)
        return np.asarray(total * (charge.spec.step / charge.divisor), dtype=np.float64)

    def take_branch(self, branch: str) -> None:
        """Go on with a branch of the plan, at its price."""
        super().take_branch(branch)
        for site in self._sites:
            site.take_branch(branch)
