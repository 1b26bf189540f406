r"""The local oracle: every person randomises the own answer, and nobody else sees it.

An answer is told in four lines: charge; each person of this turn's group computes the own clipped gradient, or takes the own
label; a local randomiser turns it into a report; reports are added up, and the mean is unbiased.

Guarantee
---------
What one person contributes is a function of that record and of public things, held within a public bound (`PrivateRows`). The
randomiser is as private as the price says for *any two* values within the bound. People are dealt into groups by their
position and public chance (`OncePerPerson`), so one record touches one report; whoever sees all reports, and not only their
mean, learns no more than the price allows. Here the protocol is simulated: rows and reports live in one process.
``dpsparse.local`` has the same randomisers on devices.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..accounting.pricing import PricedPlan
from ..data.personal import PIECE_ENTRIES
from ..data.rows import PrivateRows
from ..facts import Clip, Facts, Vector
from ..losses import Loss, guard
from ..mechanisms import Randomness
from ..mechanisms.local import LocalGaussian, Piecewise, PrivUnit, RandomisedResponse, TwoPoint, best_scalar
from ..oracle import Gradient, Labels, Oracle, Question
from ..privacy.errors import PrivacyError
from ..privacy.participation import OncePerPerson
from ..privacy.plan import Ask, Noise, Plan
from ..privacy.statement import Answer
from .central import CentralOracle
from .till import Till

Randomiser = TwoPoint | Piecewise | RandomisedResponse | PrivUnit | LocalGaussian


@dataclass(frozen=True)
class LocalTerms:
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

    def groups(self, ask: str) -> int:
        """Into how many groups people are dealt."""
        paid = self.plan[ask]
        return paid.times // _once(paid).reports

    def people(self, ask: str, turn: int) -> int:
        """How many people answer a turn, for the public number of people."""
        groups = self.groups(ask)
        return self.facts.n_rows // groups + (turn % groups < self.facts.n_rows % groups)

    def radius(self, question: Question) -> float:
        """Answers of one person lie within this of their centre."""
        if isinstance(question, Labels):
            return 0.5 if self.classes else self.facts.target_bound
        if isinstance(question, Gradient) and question.support is None and question.clip.columns is None:
            return question.clip.norm
        raise PrivacyError(
            f"people are not asked {type(question).__name__} here: only whole gradients within a norm, or labels."
        )

    def randomiser(self, question: Question, ask: str, turn: int = 0) -> Randomiser:
        """What a device does to an answer, at its price."""
        paid, radius = self.plan[ask], self.radius(question)
        once = _once(paid)
        if once.labels is not isinstance(question, Labels):
            raise PrivacyError(
                f"ask {ask!r} was priced for {'labels' if once.labels else 'gradients'}, not for {type(question).__name__}."
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

    def scale(self, ask: str, turn: int, clip: Clip) -> float:
        """Standard deviation of a mean gradient within `clip`, on average over coordinates."""
        return self.deviation(Gradient(self.facts.first(), clip), ask, turn)

    def deviation(self, question: Question, ask: str, turn: int) -> float:
        """At most this standard deviation, on average over the coordinates of a mean gradient; of one label."""
        randomiser = self.randomiser(question, ask, turn)
        worst = randomiser.worst_variance if isinstance(randomiser, TwoPoint | Piecewise) else randomiser.variance()
        if isinstance(question, Labels):
            return math.sqrt(worst)
        return math.sqrt(worst / self.facts.dimension / self.people(ask, turn))


def _once(ask: Ask) -> OncePerPerson:
    if not isinstance(ask.rows, OncePerPerson):
        raise PrivacyError(f"ask {ask.name!r} is not one of the local model; plan it with OncePerPerson().")
    return ask.rows


class LocalOracle(Oracle):
    """People, simulated on one machine; each answers one turn with a report of the own.

    Parameters
    ----------
    rows : PrivateRows
        One row for each person.
    loss : Loss
    priced : PricedPlan
        Every ask ``OncePerPerson``.
    randomness : Randomness
    on_charge : callable, optional
        Told the name of every ask that is charged.
    entries : int
        People report in pieces of about this many numbers; a matter of memory.
    """

    def __init__(
        self,
        rows: PrivateRows,
        loss: Loss,
        priced: PricedPlan,
        randomness: Randomness,
        on_charge: Callable[[str], None] | None = None,
        *,
        entries: int = PIECE_ENTRIES,
    ) -> None:
        if not priced.plan.local:
            raise PrivacyError(
                "the local oracle answers plans in which each person speaks once, and this is another one."
            )
        if rows.targets().size != rows.facts.n_rows:
            raise PrivacyError("the number of people must be the declared one; use adjacency='replace-one'.")
        self.facts = rows.facts.with_(design=rows.public(loss)) if priced.plan.labels_only else rows.facts
        self.priced = priced
        self.plan = priced.plan
        self.terms = LocalTerms(priced, rows.facts, loss.classes)
        self.passes = 0.0
        self.till = Till(priced.plan, on_charge)
        self._rows = rows
        self._loss = guard(loss)
        self._randomness = randomness
        self._entries = entries

    def answer(self, question: Question, ask: str) -> Any:
        """Charge, let this turn's people report, add up."""
        paid, turn = self.till.charge(ask)
        randomiser = self.terms.randomiser(question, ask, turn)
        groups = self.terms.groups(ask)
        self.passes += 1 / groups
        if isinstance(question, Labels):
            told = self.terms.label_reports(randomiser, self._rows.targets(), self._randomness)
            answer = self.terms.label_values(randomiser, told)
        else:
            answer = self._mean(question, randomiser, _once(paid).deal(self.facts.n_rows, groups) == turn % groups)
        apart = 2 * self.terms.radius(question)
        self.till.receipt(Answer(ask, paid.noise, 1, 1 / groups, apart, apart / self.priced.cost(ask, turn).strength))
        return answer

    def _mean(self, question: Any, randomiser: Randomiser, members: Any) -> Vector:
        """Mean of the reports of a group; sums are of whole numbers, so their order does not show."""
        total = np.zeros(self.facts.dimension, dtype=np.int64)
        for own in self._rows.contributions(
            self._loss, question.w, question.clip, members, entries=self._entries, sparse=self.facts.dimension > 1
        ):
            total += randomiser.total(own, self._randomness)
        return np.asarray(total * (randomiser.unit / int(members.sum())), dtype=np.float64)

    def scale(self, ask: str, turn: int, clip: Clip) -> float:
        """Noise of a mean gradient within `clip`."""
        return self.terms.scale(ask, turn, clip)

    def deviation(self, question: Question, ask: str, turn: int) -> float:
        """Noise of an answer to a question."""
        return self.terms.deviation(question, ask, turn)

    def choose(self, branch: str) -> None:
        """Local plans have no branches."""
        self.terms.branch(branch)

    def __repr__(self) -> str:
        return f"LocalOracle({self.plan!r})"

    def __reduce__(self) -> Any:
        raise TypeError("an oracle holds rows and is not copied or stored.")


def answering(
    rows: PrivateRows,
    loss: Loss,
    priced: PricedPlan,
    randomness: Randomness,
    on_charge: Callable[[str], None] | None = None,
) -> CentralOracle | LocalOracle:
    """Who answers a priced plan: people themselves where each speaks once, otherwise a trusted curator."""
    kind = LocalOracle if priced.plan.local else CentralOracle
    return kind(rows, loss, priced, randomness, on_charge)
