r"""The central oracle: a trusted curator holds the rows and answers with noise.

An answer is told in five lines: charge; add up the exact integers of all shards; know how far neighbours can move them; add noise
of the priced multiple of that; divide by the public number of rows.

Guarantee
---------
`answers` bounds what one record contributes, `Sensitivity` turns that into a sensitivity for the adjacency, `PricedNoise` adds the rounding
of the released lattice, and `PricedPlan` says which multiple of it the noise must be. Selections release an index only and use the
fine sum. Minimisers come from `queries.minimisers`, with the sensitivity that is proved there. Everything that is public about a question is
checked before it is charged, and nothing private is looked at before that.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

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
from ..core.plan import Ask, Noise
from ..core.statement import Receipt
from ..core.threads import run_in_thread, thread_count
from ..queries.kinds import (
    CountQuery,
    Indices,
    MinimiserQuery,
    PerturbedMinimum,
    Query,
    Released,
    Select,
    SumQuery,
    SupportVotes,
)
from ..queries.losses import Loss, guard
from ..queries.minimisers import (
    RECORDS,
    Estimate,
    output_sensitivity,
    perturbed_minimum,
    proven_offset,
    public_side,
    split,
    tilted_side,
)
from ..queries.rules import (
    CHOICES,
    MINIMA,
    SUMS,
    VOTE_RANGE,
    SumSpec,
    SumSpecCache,
    measure,
    rounding,
    score_sensitivity,
    scores_of,
    votes,
)
from ..rows.hosts import Host
from ..rows.sampling import PoissonSample
from ..rows.shard import Shard
from .base import ChargedOracle, check_plan, check_query, sample_rate, share_of_columns, share_of_rows
from .noise_info import PricedNoise
from .till import PaymentLike, ProgressCallback

Computation = Callable[[], Released]
#: Numbers of an answer from which on its noise is drawn in another thread: below, starting it takes as long.
DRAWN_ASIDE = 2**14


class CentralOracle(ChargedOracle):
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
        check_plan(priced.plan, together=host.shards is not None)
        super().__init__(host.facts, priced.plan, payment, watcher)
        self.priced = priced
        self._host = host
        self._loss = guard(loss)
        self._randomness = randomness
        self._terms: PricedNoise | None = None
        self._measures = SumSpecCache(lambda question: measure(question, host.lattice))
        self._told: tuple[Query, str, int, float] | None = None
        self._ways: dict[type, Callable[..., Computation]] = {
            Select: self._selection,
            SupportVotes: self._vote,
            **dict.fromkeys(SUMS, self._sum),
            **dict.fromkeys(CHOICES, self._choice),
            **dict.fromkeys(MINIMA, self._estimate),
            PerturbedMinimum: self._perturbed,
        }

    def answer(self, question: Query, ask: str) -> Released:
        """Check what is public, charge, compute, protect."""
        paid, turn = self.till.next(ask)
        check_query(question, paid, together=self._host.shards is not None)
        compute = self._ways[type(question)](question, paid, turn)
        self.till.charge(ask)
        self.passes += share_of_rows(paid) * share_of_columns(question, self.facts.dimension)
        return compute()

    def take_branch(self, branch: str) -> None:
        """Go on with a branch of the plan, at its price."""
        self.till.take_branch(branch)
        self.priced = self.priced.branch(branch)
        self.plan = self.priced.plan
        self.choices = (*self.choices, branch)
        self._told = None

    def deviation(self, question: Query, ask: str, turn: int) -> float:
        """Noise of an answer to a question: of the last one as it was drawn, of any other as it would be."""
        if self._told is not None and self._told[0] is question and self._told[1:3] == (ask, turn):
            return self._told[3]
        return self.terms.deviation(question, ask, turn)

    @property
    def terms(self) -> PricedNoise:
        """How much noise answers get from here on: public."""
        if self._terms is None or self._terms.priced is not self.priced:
            self._terms = PricedNoise(self.priced, self._host.lattice)
        return self._terms

    # ---------------------------------------------------------------------------------------------- sums

    def _sum(self, question: SumQuery, ask: Ask, turn: int) -> Computation:
        """A noisy sum, divided by what is public."""
        return partial(self._release, question, ask, turn, self._measures.of(question))

    def _release(self, question: SumQuery, ask: Ask, turn: int, measured: SumSpec) -> Vector:
        """Round to the released lattice, add the priced noise, divide by what is public."""
        cost = self.priced.cost(ask.name, turn)
        sensitivity = self.terms.sensitivity(measured, ask)
        scale = sensitivity / cost.strength
        noisy = self._noisy(question, ask, measured, scale / measured.step)
        self._told = (question, ask.name, turn, self.terms.deviation_of(scale, ask, turn))
        self.till.receipt(Receipt(ask.name, ask.noise, 1, cost.sampling_rate, sensitivity, scale))
        noisy *= measured.step / self.terms.divisor(ask.name, turn)
        return noisy

    def _noisy(self, question: SumQuery, ask: Ask, measured: SumSpec, scale: float | Vector) -> Vector:
        """A rounded sum with noise, in steps; where there is much Gaussian noise, it is drawn while the sum is made.

        The noise of a sum of zeros is noise alone, and whole: added to the sum it is what noise on the sum would have been, to the bit, for the
        generator is taken at the same place: after the key of a sample.
        """
        draw = self._draw(ask)
        size = measured.reach.entry.size
        if ask.noise is not Noise.GAUSSIAN or size < DRAWN_ASIDE or thread_count() < 2:
            return self._add(ask.noise, measured.rounded(self._host.total(question, self._loss, draw)), scale)
        noise = run_in_thread(lambda: lattice_gaussian(np.zeros(size, dtype=np.int64), scale, self._randomness))
        try:
            total = self._host.total(question, self._loss, draw)
        finally:
            noisy = noise.result()
        noisy += measured.rounded(total)
        return noisy

    def _draw(self, ask: Ask) -> PoissonSample | None:
        """Which rows answer, if not all."""
        rate = sample_rate(ask)
        return None if rate is None else PoissonSample(rate, self._randomness.key())

    def _total(self, question: SumQuery | CountQuery, ask: Ask) -> NDArray[np.int64]:
        """The exact integers of all rows, or of a sample."""
        return self._host.total(question, self._loss, self._draw(ask))

    def _add(self, noise: Noise, total: NDArray[np.int64], scale: float | Vector) -> Vector:
        if noise is Noise.LAPLACE:
            return lattice_laplace(total, scale, self._randomness)
        if noise is Noise.DISCRETE_GAUSSIAN:
            return discrete_gaussian(total, scale, self._randomness)
        return lattice_gaussian(total, scale, self._randomness)

    # ---------------------------------------------------------------------------------------------- selections

    def _selection(self, question: Select, ask: Ask, turn: int) -> Computation:
        """The candidates with the largest scores of a sum."""
        measured, lattice = measure(question.of, self._host.lattice), self._host.lattice
        divisor = self.terms.divisor(ask.name, turn)
        moved = (
            score_sensitivity(question.score, measured.reach, self.priced.budget.relation, self.facts.free) / divisor
        )
        largest = lattice.largest_total * float(np.max(measured.unit)) / divisor
        sensitivity = moved + rounding(question.score, largest)

        def compute() -> Indices:
            mean = np.asarray(self._total(question.of, ask) * measured.unit / divisor, dtype=float)
            scores = scores_of(question.score, mean, self.facts.free)
            keep = np.ones(scores.size, dtype=bool)
            if question.excluded is not None:
                keep[question.excluded] = False
            return self._choose(ask, turn, scores, sensitivity, question.count, np.flatnonzero(keep))

        return compute

    def _choice(self, question: CountQuery, ask: Ask, turn: int) -> Computation:
        """The candidate with the best score of counts."""
        rule = CHOICES[type(question)]
        moved = rule.spread(question, self.priced.budget.relation)

        def compute() -> Indices:
            scores = rule.scores(question, self._total(question, ask))
            return self._choose(ask, turn, scores, moved, 1, np.arange(scores.size))

        return compute

    def _vote(self, question: SupportVotes, ask: Ask, turn: int) -> Computation:
        """The features with the most votes."""

        def compute() -> Indices:
            counted = votes(self._shards, self._loss, question, self._randomness.key())
            return self._choose(ask, turn, counted, VOTE_RANGE, question.count, np.arange(counted.size))

        return compute

    def _choose(
        self, ask: Ask, turn: int, scores: Vector, sensitivity: float, count: int, candidates: Indices
    ) -> Indices:
        """The candidates that the priced noise chooses."""
        cost = self.priced.cost(ask.name, turn)
        scale = sensitivity / cost.strength
        if ask.noise is Noise.GUMBEL:
            best = gumbel_top_k(scores[candidates], count, scale, self._randomness)
        else:
            best = np.array([permute_and_flip(scores[candidates], scale, self._randomness)])
        self.till.receipt(Receipt(ask.name, ask.noise, count, cost.sampling_rate, sensitivity, scale))
        return candidates[best]

    # ---------------------------------------------------------------------------------------------- statistics

    @property
    def _shards(self) -> tuple[Shard, ...]:
        """The rows, which `check_answerable` knows to be in one place."""
        assert self._host.shards is not None
        return self._host.shards

    def _estimate(self, question: MinimiserQuery, ask: Ask, turn: int) -> Computation:
        """A minimiser, protected as its proof says."""
        rule = MINIMA[type(question)]
        assert rule.estimate is not None
        public_side(question, self._loss, self.facts.n_rows).check()
        strength = self.priced.cost(ask.name, turn).strength
        estimate = partial(rule.estimate, self._shards, self._loss, question, self.priced.budget.relation)
        return lambda: self._publish(ask, ask.noise, estimate(), strength)

    def _perturbed(self, question: PerturbedMinimum, ask: Ask, turn: int) -> Computation:
        """Tilt the objective, minimise it, and cover what keeps the minimum from being exact."""
        cost = self.priced.cost(ask.name, turn)
        offset = proven_offset(question, self._loss)
        if offset > cost.offset * (1 + 1e-12):
            raise PrivacyError(
                f"ask {ask.name!r} was not priced for a perturbed objective with offset log(1 + beta/lambda) = {offset:.4g}."
            )
        tilted, finished = split(cost.strength)
        sensitivity = RECORDS * question.clip.norm
        public = tilted_side(question, self._loss, self.facts.n_rows, sensitivity / tilted)
        public.check()

        def compute() -> Vector:
            tilt = gaussian_tilt(question.support.size, sensitivity / tilted, self._randomness)
            found = perturbed_minimum(self._shards, self._loss, question, tilt, public.tolerance())
            self.till.receipt(Receipt(ask.name, ask.noise, 1, 1.0, sensitivity, sensitivity / tilted, cost.offset))
            estimate = Estimate(found, output_sensitivity(public), units=2.0**12)
            return self._publish(ask, Noise.GAUSSIAN, estimate, finished, f"{ask.name}, its rounding")

        return compute

    def _publish(self, ask: Ask, noise: Noise, estimate: Estimate, strength: float, name: str | None = None) -> Vector:
        """Put an estimate on its lattice and add noise."""
        sensitivity = estimate.rounded_sensitivity
        scale = sensitivity / strength
        noisy = self._add(noise, estimate.lattice(), scale / estimate.unit)
        self.till.receipt(Receipt(name or ask.name, noise, 1, 1.0, sensitivity, scale))
        return noisy * estimate.unit
