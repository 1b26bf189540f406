r"""The local oracle: every person randomises their own answer, and nobody else sees it.

An answer takes four steps: charge; each person of this turn's group computes their own clipped
gradient, or takes their own label; a local randomiser turns it into a report; reports are added up,
and the mean is unbiased.

Guarantee
---------
What one person contributes is a function of that record and of public things, clipped to a public
bound (`answers.contributions`). The randomiser is as private as the price says for *any two* values
within the bound. People are dealt into groups by their position and public chance
(`OncePerPerson`), so one record touches one report; anyone who sees all reports, and not only their
mean, learns no more than the price allows. Here the protocol is simulated: rows and reports live in
one process. ``dpsparse.local`` has the same randomisers on devices.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from ..accounting.pricing import PricedPlan
from ..core.errors import PrivacyError
from ..core.facts import Facts, Vector
from ..core.mechanisms import Randomness
from ..core.mechanisms.local import LocalGaussian, Piecewise, PrivUnit, RandomisedResponse, TwoPoint, best_scalar
from ..core.participation import OncePerPerson
from ..core.plan import Ask, Noise, Plan
from ..queries.charge import Charge
from ..queries.gradient import contributions
from ..queries.kinds import Gradient, Query, RandomizedLabels
from ..queries.losses import Loss, guard
from ..rows.hosts import Host
from ..rows.shard import Shard
from ..rows.single_records import PIECE_ENTRIES, PublicRows, private_targets
from .gate import ChargedOracle, Gate, PaymentLike, ProgressCallback, TurnNoise

Randomiser = TwoPoint | Piecewise | RandomisedResponse | PrivUnit | LocalGaussian


@dataclass(frozen=True)
class LocalNoise:
    """Which randomiser answers, and how exact the mean of its reports is. Public.

    Parameters
    ----------
    priced : PricedPlan
    facts : Facts
    classes : bool
        Whether targets are classes, coded 0 and 1.
    """

    priced: PricedPlan
    facts: Facts
    classes: bool

    @property
    def plan(self) -> Plan:
        """What may be asked."""
        return self.priced.plan

    def branch(self, name: str) -> NoReturn:
        """Local plans have none."""
        raise PrivacyError("plans of the local model have no branches.")

    def check_plan(self) -> None:
        """Refuse plans that are not of the local model."""
        if not self.plan.local:
            raise PrivacyError(
                "the local oracle answers plans in which each person speaks once, and this is another one."
            )

    def measure(self, query: Query, ask: Ask, turn: int) -> TurnNoise:
        """How far apart two answers of one person can be, and what randomises them."""
        spec, groups = self.randomiser(query, ask.name, turn), self.groups(ask.name)
        strength = self.priced.cost(ask.name, turn).strength
        return TurnNoise(2 * self.radius(query), strength, 1 / groups, self.people(ask.name, turn), spec)

    def groups(self, ask: str) -> int:
        """Into how many groups people are dealt."""
        paid = self.plan[ask]
        return paid.times // _once(paid).reports

    def people(self, ask: str, turn: int) -> int:
        """How many people answer a turn, for the public number of people."""
        groups = self.groups(ask)
        return self.facts.n_rows // groups + (turn % groups < self.facts.n_rows % groups)

    def radius(self, question: Query) -> float:
        """Answers of one person lie within this of their centre."""
        if isinstance(question, RandomizedLabels):
            return 0.5 if self.classes else self.facts.target_bound
        if isinstance(question, Gradient) and question.support is None and question.clip.columns is None:
            return question.clip.norm
        raise PrivacyError(
            f"people are not asked {type(question).__name__} here: only whole gradients within a norm, or labels."
        )

    def randomiser(self, question: Query, ask: str, turn: int = 0) -> Randomiser:
        """What a device does to an answer, at its price."""
        paid, radius = self.plan[ask], self.radius(question)
        once = _once(paid)
        if once.labels is not (type(question) is RandomizedLabels):
            raise PrivacyError(
                f"ask {ask!r} was priced for {'labels' if once.labels else 'gradients'}, not for "
                f"{type(question).__name__}."
            )
        strength = self.priced.cost(ask, turn).strength
        dimension = 1 if once.labels else self.facts.dimension
        if paid.noise is Noise.LOCAL_GAUSSIAN:
            return LocalGaussian(dimension, strength, radius)
        if once.labels and self.classes:
            return RandomisedResponse(strength)
        if dimension > 1:
            return PrivUnit(dimension, strength, radius, 0.0 if once.randomiser == "duchi" else None)
        if once.randomiser == "piecewise":
            return Piecewise(strength, radius)
        return (
            TwoPoint(strength, radius) if once.randomiser in ("two-point", "duchi") else best_scalar(strength, radius)
        )

    @property
    def centre(self) -> float:
        """What labels are measured from: half for classes, coded 0 and 1."""
        return 0.5 if self.classes else 0.0

    def label_reports(self, randomiser: Randomiser, targets: Vector, randomness: Randomness) -> NDArray[np.int32]:
        """One report about each target."""
        values = targets if isinstance(randomiser, RandomisedResponse) else targets - self.centre
        return randomiser.reports(values, randomness)

    def label_values(self, randomiser: Randomiser, reports: NDArray[np.int32]) -> Vector:
        """Estimates of targets from reports."""
        return np.asarray(self.centre + reports.astype(float) * randomiser.unit)

    def deviation(self, question: Query, ask: str, turn: int) -> float:
        """At most this standard deviation, on average over the coordinates of a mean gradient; of one label."""
        randomiser = self.randomiser(question, ask, turn)
        worst = randomiser.worst_variance if isinstance(randomiser, TwoPoint | Piecewise) else randomiser.variance()
        if _once(self.plan[ask]).labels:
            return math.sqrt(worst)
        return math.sqrt(worst / self.facts.dimension / self.people(ask, turn))


def person_charge(question: Query, terms: LocalNoise) -> Charge:
    """A charge for the one answer of one person, who pays for it alone: on a device, or in an audit."""
    return Gate(terms).next(question, terms.plan.asks[0].name)


def _once(ask: Ask) -> OncePerPerson:
    if not isinstance(ask.rows, OncePerPerson):
        raise PrivacyError(f"ask {ask.name!r} is not one of the local model; plan it with OncePerPerson().")
    return ask.rows


class LocalOracle(ChargedOracle[LocalNoise]):
    """People, simulated on one machine; each answers one turn with a report of their own.

    Parameters
    ----------
    host : Host
        One row for each person, in one place.
    loss : Loss
    priced : PricedPlan
        Every ask ``OncePerPerson``.
    randomness : Randomness
    payment : Payment, optional
        Started before the first answer.
    watcher : callable, optional
        Told the name of every ask that is charged.
    entries : int
        People report in pieces of about this many numbers; a matter of memory.
    """

    def __init__(
        self,
        host: Host,
        loss: Loss,
        priced: PricedPlan,
        randomness: Randomness,
        payment: PaymentLike | None = None,
        watcher: ProgressCallback | None = None,
        *,
        entries: int = PIECE_ENTRIES,
    ) -> None:
        gate = Gate(LocalNoise(priced, host.facts, loss.classes), payment=payment, watcher=watcher)
        if host.shards is None:
            raise PrivacyError("people are simulated in one place, and this host keeps rows apart.")
        self._shards: tuple[Shard, ...] = host.shards
        if sum(shard.rows for shard in self._shards) != host.facts.n_rows:
            raise PrivacyError("the number of people must be the declared one; use adjacency='replace-one'.")
        public = priced.plan.labels_only
        facts = host.facts.with_(design=PublicRows(self._shards, loss)) if public else host.facts
        super().__init__(facts, gate)
        self.priced = priced
        self._loss = guard(loss)
        self._randomness = randomness
        self._entries = entries

    def answer(self, question: Query, ask: str) -> Vector:
        """Charge, let this turn's people report, add up."""
        charge = self.charge(question, ask)
        if isinstance(question, Gradient):
            groups = self.terms.groups(ask)
            members = _once(charge.ask).deal(self.facts.n_rows, groups) == charge.turn % groups
            answer = self._mean(charge, members)
        else:
            reports = self.terms.label_reports(charge.spec, private_targets(charge, self._shards), self._randomness)
            answer = self.terms.label_values(charge.spec, reports)
        self.receipts.append(charge.receipt)
        return answer

    def _mean(self, charge: Charge, members: NDArray[np.bool_]) -> Vector:
        """Mean of the reports of a group; sums are of whole numbers, so their order does not show."""
        total = np.zeros(self.facts.dimension, dtype=np.int64)
        sparse = self.facts.dimension > 1
        for own in contributions(charge, self._shards, self._loss, members, self._entries, sparse=sparse):
            total += charge.spec.total(own, self._randomness)
        return np.asarray(total * (charge.spec.unit / int(members.sum())), dtype=np.float64)

    def take_branch(self, branch: str) -> None:
        """Local plans have no branches."""
        self.terms.branch(branch)
