r"""The central oracle: a trusted curator holds the rows and answers with noise.

An answer is told in five lines: charge; take the exact integer sum; know how far neighbours can move it; add noise of
the priced multiple of that; divide by the public number of rows.

Guarantee
---------
`measure` bounds what one record contributes, `Reach` turns that into a sensitivity for the adjacency, and `PricedPlan`
says which multiple of it the noise must be. Before Gaussian or Laplace noise the fine integer sum is rounded to a coarser
lattice of step :math:`h`, so that a bin of it holds many floats of the sampler. Rounding moves each coordinate by at most
h/2, so two sums that differed by :math:`\Delta` differ by less than :math:`\Delta + h` per coordinate afterwards: l2
sensitivities grow by :math:`h\sqrt m` and l1 sensitivities by :math:`hm` for an answer of m coordinates; by the l2 and l1
norms of the steps where each coordinate has its own (`weighted`). That term is
part of the stated sensitivity; h is a millionth of one record's bound. Where rows are sampled the price counts in norms of
one record, which is present or not, so the term is counted once for each of the :math:`\kappa` records. Selections release
an index only and use the fine sum. Minimisers and votes come from `statistics`, with the sensitivity that is proved there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..accounting.pricing import PricedPlan
from ..data.rows import PrivateRows
from ..facts import Clip, Vector
from ..losses import Loss, guard
from ..mechanisms import (
    Randomness,
    discrete_gaussian,
    gaussian_tilt,
    gumbel_top_k,
    lattice_gaussian,
    lattice_laplace,
    permute_and_flip,
)
from ..oracle import (
    Choice,
    Gradient,
    Indices,
    Labels,
    Oracle,
    PerturbedMinimum,
    Polish,
    Question,
    RidgeMinimum,
    Select,
    Sum,
    SupportVotes,
    Tally,
    Weighted,
)
from ..privacy.errors import PrivacyError
from ..privacy.plan import Ask, Noise, PoissonRows
from ..privacy.statement import Answer
from ..statistics import (
    VOTE_RANGE,
    Estimate,
    output_sensitivity,
    perturbed_minimum,
    proven_offset,
    ridge_minimum,
    split,
    votes,
)
from .measure import Measurement, Reach, measure
from .polish import choice_scores, polish_sum
from .scores import scores_of, spread
from .tallies import tally
from .terms import PricedTerms
from .till import Till
from .weighted import measure_weighted


class CentralOracle(Oracle):
    """Rows, loss, priced plan and randomness; its public methods are noisy answers.

    Parameters
    ----------
    rows : PrivateRows
    loss : Loss
    priced : PricedPlan
    randomness : Randomness
    on_charge : callable, optional
        Told the name of every ask that is charged (for progress bars).
    """

    def __init__(
        self,
        rows: PrivateRows,
        loss: Loss,
        priced: PricedPlan,
        randomness: Randomness,
        on_charge: Callable[[str], None] | None = None,
    ) -> None:
        self.facts = rows.facts
        self.priced = priced
        self.plan = priced.plan
        self.passes = 0.0
        self.till = Till(priced.plan, on_charge)
        self._rows = rows
        self._loss = guard(loss)
        self._randomness = randomness

    def answer(self, question: Question, ask: str) -> Any:
        """Charge, measure, protect."""
        if isinstance(question, Labels):
            raise PrivacyError("labels are randomised by the people they are about; plan them with OncePerPerson().")
        paid, turn = self.till.charge(ask)
        chosen = None
        if isinstance(paid.rows, PoissonRows):
            chosen = self._rows.sample(paid.rows.rate, self._randomness.generator())
        self.passes += share_of_rows(paid) * share_of_columns(question, self.facts.dimension)
        if isinstance(question, Select):
            return self._select(paid, turn, question, self._measure(question.of, chosen))
        if isinstance(question, Choice):
            _every_row(paid)
            scores, moved = choice_scores(question, self._rows, self._loss, self.priced.budget.relation)
            return self._choose(paid, turn, scores, moved, 1, np.arange(scores.size))
        if isinstance(question, PerturbedMinimum | RidgeMinimum | SupportVotes):
            return self._statistic(paid, turn, question)
        return self._release(paid, turn, self._measure(question, chosen))

    def choose(self, branch: str) -> None:
        """Go on with a branch of the plan, at its price."""
        self.till.choose(branch)
        self.priced = self.priced.branch(branch)
        self.plan = self.priced.plan

    def scale(self, ask: str, turn: int, clip: Clip) -> float:
        """Noise of a gradient within `clip`: its standard deviation, or the scale of a selection by unit steps."""
        return self.terms.scale(ask, turn, clip)

    def deviation(self, question: Question, ask: str, turn: int) -> float:
        """Noise of an answer to a question."""
        return self.terms.deviation(question, ask, turn)

    @property
    def terms(self) -> PricedTerms:
        """How much noise answers get from here on: public."""
        return PricedTerms(self.priced, self._rows)

    # ---------------------------------------------------------------------------------------------- inside

    def _measure(self, question: Sum, chosen: NDArray[np.bool_] | None) -> Measurement:
        return measure_any(question, self._rows, self._loss, chosen)

    def _release(self, ask: Ask, turn: int, measured: Measurement) -> Vector:
        """Round to the released lattice, add the priced noise, divide by what is public."""
        unit: Any = measured.unit * measured.coarse
        coarse = (measured.total + measured.coarse // 2) // measured.coarse
        cost = self.priced.cost(ask.name, turn)
        sensitivity = self._sensitivity(ask, measured.reach, unit)
        scale = sensitivity / cost.strength
        noisy = self._add(ask.noise, coarse, scale / unit)
        self.till.receipt(Answer(ask.name, ask.noise, 1, cost.sampling_rate, sensitivity, scale))
        return np.asarray(noisy * (unit / (cost.sampling_rate * self.facts.n_rows)))

    def _sensitivity(self, ask: Ask, reach: Reach, unit: float | Vector) -> float:
        relation = self.priced.budget.relation
        steps = unit * np.ones(reach.entry.size)
        if ask.noise is Noise.LAPLACE:
            return reach.l1(relation) + float(steps.sum())
        records = relation.kappa if isinstance(ask.rows, PoissonRows) else 1
        return reach.l2(relation) + records * float(np.linalg.norm(steps))

    def _add(self, noise: Noise, total: NDArray[np.int64], scale: float | Vector) -> Vector:
        if noise is Noise.GAUSSIAN:
            return lattice_gaussian(total, scale, self._randomness)
        if noise is Noise.DISCRETE_GAUSSIAN:
            return discrete_gaussian(total, scale)
        if noise is Noise.LAPLACE:
            return lattice_laplace(total, scale, self._randomness)
        raise PrivacyError(f"{str(noise)!r} noise cannot protect a vector.")

    def _select(self, ask: Ask, turn: int, question: Select, measured: Measurement) -> Indices:
        """Score, then let the priced noise choose among the candidates."""
        cost = self.priced.cost(ask.name, turn)
        divisor = cost.sampling_rate * self.facts.n_rows
        scores = scores_of(question.score, measured.values / divisor, self.facts.free)
        sensitivity = spread(question.score, measured.reach, self.priced.budget.relation, self.facts.free) / divisor
        keep = np.ones(scores.size, dtype=bool)
        if question.excluded is not None:
            keep[question.excluded] = False
        return self._choose(ask, turn, scores, sensitivity, question.count, np.flatnonzero(keep))

    def _choose(
        self, ask: Ask, turn: int, scores: Vector, sensitivity: float, count: int, candidates: Indices
    ) -> Indices:
        """The candidates that the priced noise chooses."""
        if count != ask.draws:
            raise PrivacyError(f"ask {ask.name!r} was priced for {ask.draws} selections a turn, not {count}.")
        cost = self.priced.cost(ask.name, turn)
        scale = sensitivity / cost.strength
        if ask.noise is Noise.GUMBEL:
            best = gumbel_top_k(scores[candidates], count, scale, self._randomness)
        elif ask.noise is Noise.PERMUTE_AND_FLIP and count == 1:
            best = np.array([permute_and_flip(scores[candidates], scale, self._randomness)])
        else:
            raise PrivacyError(f"ask {ask.name!r} cannot select with {str(ask.noise)!r} noise.")
        self.till.receipt(Answer(ask.name, ask.noise, count, cost.sampling_rate, sensitivity, scale))
        return candidates[best]

    def _statistic(self, ask: Ask, turn: int, question: PerturbedMinimum | RidgeMinimum | SupportVotes) -> Any:
        """A minimiser or votes, protected as its proof says."""
        _every_row(ask)
        if isinstance(question, SupportVotes):
            counted = votes(self._rows, self._loss, question, self._randomness.generator())
            return self._choose(ask, turn, counted, VOTE_RANGE, question.count, np.arange(counted.size))
        if isinstance(question, PerturbedMinimum):
            return self._perturbed(ask, turn, question)
        estimate = ridge_minimum(self._rows, self._loss, question, self.priced.budget.relation)
        return self._publish(ask, ask.noise, estimate, self.priced.cost(ask.name, turn).strength)

    def _perturbed(self, ask: Ask, turn: int, question: PerturbedMinimum) -> Vector:
        """Tilt the objective, minimise it, and cover what keeps the minimum from being exact."""
        cost = self.priced.cost(ask.name, turn)
        offset = proven_offset(question, self._loss)
        if ask.noise is not Noise.OBJECTIVE or offset > cost.offset * (1 + 1e-12):
            raise PrivacyError(
                f"ask {ask.name!r} was not priced for a perturbed objective with offset log(1 + beta/lambda) = {offset:.4g}."
            )
        tilted, finished = split(cost.strength)
        sensitivity = self.priced.budget.kappa * question.clip.norm
        tilt = gaussian_tilt(question.support.size, sensitivity / tilted, self._randomness)
        found = perturbed_minimum(self._rows, self._loss, question, tilt)
        self.till.receipt(Answer(ask.name, ask.noise, 1, 1.0, sensitivity, sensitivity / tilted, cost.offset))
        estimate = Estimate(found, output_sensitivity(question, self.facts.n_rows), units=2.0**12)
        return self._publish(ask, Noise.GAUSSIAN, estimate, finished, f"{ask.name}, its rounding")

    def _publish(self, ask: Ask, noise: Noise, estimate: Estimate, strength: float, name: str | None = None) -> Vector:
        """Put an estimate on its lattice and add noise."""
        if noise not in (Noise.GAUSSIAN, Noise.DISCRETE_GAUSSIAN):
            raise PrivacyError(f"ask {ask.name!r}: an estimate is protected by Gaussian noise, not {str(noise)!r}.")
        sensitivity = estimate.rounded_sensitivity
        scale = sensitivity / strength
        noisy = self._add(noise, estimate.lattice(), scale / estimate.unit)
        self.till.receipt(Answer(name or ask.name, noise, 1, 1.0, sensitivity, scale))
        return noisy * estimate.unit

    def __repr__(self) -> str:
        return f"CentralOracle({self.plan!r})"

    def __reduce__(self) -> Any:
        raise TypeError("an oracle holds rows and is not copied or stored.")


def _every_row(ask: Ask) -> None:
    if isinstance(ask.rows, PoissonRows):
        raise PrivacyError(f"ask {ask.name!r}: a statistic is asked of every row; plan it with EveryRow().")


def measure_any(question: Sum, rows: PrivateRows, loss: Loss, chosen: NDArray[np.bool_] | None = None) -> Measurement:
    """The exact sum that answers a question, of whichever family. Private: audits look at it on made-up rows."""
    if isinstance(question, Weighted):
        return measure_weighted(question, rows, loss, chosen)
    if isinstance(question, Polish):
        if chosen is not None:
            raise PrivacyError("polishing asks every row; plan it with EveryRow().")
        return polish_sum(question, rows, loss)
    if isinstance(question, Tally):
        if chosen is not None:
            raise PrivacyError("tallies are taken over every row; plan them with EveryRow().")
        return tally(question, rows, loss)
    return measure(question, rows, loss, chosen)


def share_of_rows(ask: Ask) -> float:
    """The expected part of the rows that answer an ask: public, unlike the part that does."""
    return ask.rows.rate if isinstance(ask.rows, PoissonRows) else 1.0


def share_of_columns(question: Question, dimension: int) -> float:
    """The part of the coordinates that a question reads: one, unless it names a support."""
    named = question.support if isinstance(question, Gradient) else None
    return 1.0 if named is None else named.size / dimension
