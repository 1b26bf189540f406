r"""The central oracle: a trusted curator holds the rows and answers with noise.

An answer takes four steps: pass the gate, which checks and pays; add up the exact integers of
all shards; add the noise of the charge; divide by the public number of rows.

Guarantee
---------
`queries` bounds what one record contributes, `Sensitivity` turns that into a sensitivity for the
adjacency, `PricedNoise` adds the rounding of the released lattice, and `PricedPlan` says which
multiple of it the noise must be. Selections release an index only and use the fine sum. Minimisers
come from `queries.minimisers`, with the sensitivity that is proved there. Everything that is public
about a query is checked before it is charged, and nothing private is looked at before that.

`ExactOracle` answers the same without noise, clip and privacy: it turns every private solver into its
non-private baseline. `make_oracle` says who answers a plan.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..accounting.pricing import PricedPlan
from ..core.errors import PrivacyError
from ..core.facts import Vector
from ..core.mechanisms import (
    Randomness,
    discrete_gaussian,
    gaussian_tilt,
    gumbel_top_k,
    lattice_gaussian,
    lattice_laplace,
    permute_and_flip,
)
from ..core.plan import Noise, Plan
from ..core.statement import Receipt
from ..core.threads import run_in_thread, thread_count
from ..queries.charge import Charge
from ..queries.kinds import Indices, PerturbedMinimum, Query, Released, RidgeMinimum, Select, SupportVotes
from ..queries.losses import Loss, guard
from ..queries.minimisers import MinimiserSpec, finished_name, perturbed_minimum, ridge_minimum
from ..queries.rules import CHOICES, MINIMA, SUMS, exact_sum
from ..queries.scores import candidates_of, scores_of
from ..queries.sensitivity import SumSpec
from ..queries.votes import votes
from ..rows.hosts import Host
from ..rows.shard import Shard
from .gate import ChargedOracle, Gate, PaymentLike, ProgressCallback
from .local import LocalOracle
from .noise_info import PricedNoise, ZeroNoise

#: Numbers of an answer from which on its noise is drawn in another thread: below, starting it takes as long.
DRAWN_ASIDE = 2**14


class CentralOracle(ChargedOracle[PricedNoise]):
    """Rows on a host, loss, priced plan and randomness; its public methods are noisy answers.

    Parameters
    ----------
    host : Host
    loss : Loss
    priced : PricedPlan
    randomness : Randomness
    payment : Payment, optional
        Started before the first answer.
    watcher : callable, optional
        Told the name of every ask that is charged.
    """

    def __init__(
        self,
        host: Host,
        loss: Loss,
        priced: PricedPlan,
        randomness: Randomness,
        payment: PaymentLike | None = None,
        watcher: ProgressCallback | None = None,
    ) -> None:
        self._host, self._loss, self._randomness = host, guard(loss), randomness
        terms = PricedNoise(priced, host.lattice, host.shards is not None, self._loss)
        super().__init__(host.facts, Gate(terms, randomness.key, payment, watcher))
        self._last: Charge | None = None

    def answer(self, question: Query, ask: str) -> Released:
        """Check, pay, compute, protect."""
        return NOISY[type(question)](self, self.charge(question, ask))

    @property
    def priced(self) -> PricedPlan:
        """What was paid for, from here on."""
        return self.terms.priced

    def deviation(self, question: Query, ask: str, turn: int) -> float:
        """Noise of an answer to a query: of the last one as it was drawn, of any other as it would be."""
        last = self._last
        if last is not None and last.query is question and (last.ask.name, last.turn) == (ask, turn):
            return self.terms.deviation_of(last.scale, last.ask, last.divisor)
        return super().deviation(question, ask, turn)

    def take_branch(self, branch: str) -> None:
        """Go on with a branch of the plan, at its price."""
        super().take_branch(branch)
        self._last = None

    # ---------------------------------------------------------------------------------------------- sums

    def _sum(self, charge: Charge) -> Vector:
        """Round to the released lattice, add the priced noise, divide by what is public."""
        spec = charge.spec
        noisy = self._noisy(charge, spec, charge.scale / spec.step)
        self._last = charge
        self.receipts.append(charge.receipt)
        noisy *= spec.step / charge.divisor
        return noisy

    def _noisy(self, charge: Charge, spec: SumSpec, scale: float | Vector) -> Vector:
        """A rounded sum with noise, in steps; where there is much Gaussian noise, it is drawn while the sum is made.

        The noise of a sum of zeros is noise alone, and whole: added to the sum it is what noise on
        the sum would have been, to the bit, for the generator is taken at the same place: after the
        key of a sample.
        """
        if charge.ask.noise is not Noise.GAUSSIAN or spec.size < DRAWN_ASIDE or thread_count() < 2:
            return self._add(charge.ask.noise, spec.rounded(self._host.total(charge, self._loss)), scale)
        noise = run_in_thread(lambda: lattice_gaussian(np.zeros(spec.size, dtype=np.int64), scale, self._randomness))
        try:
            total = self._host.total(charge, self._loss)
        finally:
            noisy = noise.result()
        noisy += spec.rounded(total)
        return noisy

    def _add(self, noise: Noise, total: NDArray[np.int64], scale: float | Vector) -> Vector:
        if noise is Noise.LAPLACE:
            return lattice_laplace(total, scale, self._randomness)
        if noise is Noise.DISCRETE_GAUSSIAN:
            return discrete_gaussian(total, scale, self._randomness)
        return lattice_gaussian(total, scale, self._randomness)

    # ---------------------------------------------------------------------------------------------- selections

    def _select(self, charge: Charge) -> Indices:
        """The candidates with the largest scores of a sum."""
        question, spec = charge.query, charge.spec
        mean = np.asarray(self._host.total(charge, self._loss) * spec.unit / charge.divisor, dtype=float)
        scores = scores_of(question.score, mean, self.facts.free)
        return self._choose(charge, scores, candidates_of(question, scores))

    def _choice(self, charge: Charge) -> Indices:
        """The candidate with the best score of counts."""
        scores = CHOICES[type(charge.query)].scores(charge.query, self._host.total(charge, self._loss))
        return self._choose(charge, scores, np.arange(scores.size))

    def _vote(self, charge: Charge) -> Indices:
        """The features with the most votes."""
        counted = votes(charge, self._shards, self._loss, self._randomness.key())
        return self._choose(charge, counted, np.arange(counted.size))

    def _choose(self, charge: Charge, scores: Vector, candidates: Indices) -> Indices:
        """The candidates that the priced noise chooses."""
        receipt = charge.receipt
        if charge.ask.noise is Noise.GUMBEL:
            best = gumbel_top_k(scores[candidates], receipt.draws, charge.scale, self._randomness)
        else:
            best = np.array([permute_and_flip(scores[candidates], charge.scale, self._randomness)])
        self.receipts.append(receipt)
        return candidates[best]

    # ---------------------------------------------------------------------------------------------- minimisers

    @property
    def _shards(self) -> tuple[Shard, ...]:
        """The rows, which the gate knows to be in one place."""
        assert self._host.shards is not None
        return self._host.shards

    def _ridge(self, charge: Charge) -> Vector:
        """A minimiser, protected as its proof says."""
        spec = charge.spec
        values = ridge_minimum(charge, self._shards, self._loss, spec.tolerance)
        return self._publish(charge.receipt, spec, values)

    def _perturbed(self, charge: Charge) -> Vector:
        """Tilt the objective, minimise it, and cover what keeps the minimum from being exact."""
        spec = charge.spec
        tilt = gaussian_tilt(spec.size, charge.scale, self._randomness)
        values = perturbed_minimum(charge, self._shards, self._loss, tilt, spec.tolerance)
        self.receipts.append(charge.receipt)
        finished = Receipt(finished_name(charge.ask.name), Noise.GAUSSIAN, 1, 1.0, spec.rounded_sensitivity, spec.scale)
        return self._publish(finished, spec, values)

    def _publish(self, receipt: Receipt, spec: MinimiserSpec, values: Vector) -> Vector:
        """Put values on their lattice and add noise."""
        noisy = self._add(receipt.noise, spec.whole(values), spec.scale / spec.unit)
        self.receipts.append(receipt)
        return noisy * spec.unit


#: How each kind of query is answered.
NOISY: dict[type, Callable[[CentralOracle, Charge], Released]] = {
    Select: CentralOracle._select,
    SupportVotes: CentralOracle._vote,
    **dict.fromkeys(SUMS, CentralOracle._sum),
    **dict.fromkeys(CHOICES, CentralOracle._choice),
    RidgeMinimum: CentralOracle._ridge,
    PerturbedMinimum: CentralOracle._perturbed,
}


# ------------------------------------------------------------------------------------------------ without noise


class ExactOracle(ChargedOracle[ZeroNoise]):
    """Answers the same asks as the central oracle, exactly. What it returns must not be published.

    Clips of what polishing asks stay: there they are part of the query, quantiles that the solver chose.
    """

    def __init__(
        self,
        host: Host,
        loss: Loss,
        plan: Plan,
        generator: np.random.Generator,
        payment: PaymentLike | None = None,
        watcher: ProgressCallback | None = None,
    ) -> None:
        terms = ZeroNoise(plan, host.facts, host.shards is not None)

        def key() -> int:
            return int.from_bytes(generator.bytes(16), "little")

        super().__init__(host.facts, Gate(terms, key, payment, watcher))
        if host.shards is None:
            raise PrivacyError("exact answers need all rows in one place, and this host keeps them apart.")
        self._host, self._shards = host, host.shards
        self._loss, self._key = loss, key

    def answer(self, question: Query, ask: str) -> Released:
        """Check, pay, and answer without protection."""
        charge = self.charge(question, ask)
        self.receipts.append(Receipt(ask, Noise.NONE, charge.ask.draws, charge.rate, 0.0, 0.0))
        return EXACT[type(question)](self, charge)

    def _mean(self, charge: Charge) -> Vector:
        return exact_sum(charge, self._shards, self._loss) / charge.divisor

    def _select(self, charge: Charge) -> Indices:
        question = charge.query
        scores = scores_of(question.score, self._mean(charge), self.facts.free)
        keep = candidates_of(question, scores)
        return keep[np.argsort(-scores[keep], kind="stable")[: question.count]]

    def _choice(self, charge: Charge) -> Indices:
        counts = self._host.total(charge, self._loss)
        return np.array([np.argmax(CHOICES[type(charge.query)].scores(charge.query, counts))])

    def _vote(self, charge: Charge) -> Indices:
        counted = votes(charge, self._shards, self._loss, self._key(), clipped=False)
        return np.argsort(-counted, kind="stable")[: charge.query.count]

    def _minimum(self, charge: Charge) -> Vector:
        return MINIMA[type(charge.query)].exact(charge, self._shards, self._loss)


#: The same without noise.
EXACT: dict[type, Callable[[ExactOracle, Charge], Released]] = {
    Select: ExactOracle._select,
    SupportVotes: ExactOracle._vote,
    **dict.fromkeys(SUMS, ExactOracle._mean),
    **dict.fromkeys(CHOICES, ExactOracle._choice),
    **dict.fromkeys(MINIMA, ExactOracle._minimum),
}


# ------------------------------------------------------------------------------------------------ which of them


def make_oracle(
    host: Host,
    loss: Loss,
    plan: PricedPlan | Plan,
    randomness: Randomness,
    payment: PaymentLike | None = None,
    watcher: ProgressCallback | None = None,
) -> CentralOracle | LocalOracle | ExactOracle:
    """Who answers: people themselves where each speaks once, otherwise a trusted curator.

    Nobody protects a plan without a price.
    """
    if isinstance(plan, Plan):
        return ExactOracle(host, loss, plan, randomness.generator(), payment, watcher)
    kind = LocalOracle if plan.plan.local else CentralOracle
    return kind(host, loss, plan, randomness, payment, watcher)
