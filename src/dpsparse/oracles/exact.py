"""The exact oracle: no noise, no clip, no privacy. It turns every private solver into its non-private twin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..data.rows import PrivateRows
from ..facts import Clip
from ..losses import Loss
from ..oracle import (
    Choice,
    Labels,
    Oracle,
    PerturbedMinimum,
    Polish,
    Question,
    RidgeMinimum,
    Select,
    SupportVotes,
    Tally,
    Weighted,
)
from ..privacy.adjacency import Adjacency
from ..privacy.errors import PrivacyError
from ..privacy.plan import Noise, Plan, PoissonRows
from ..privacy.statement import Answer
from ..statistics import votes
from .central import share_of_columns, share_of_rows
from .measure import exact_estimate, exact_mean
from .polish import choice_scores, exact_polish
from .scores import scores_of
from .tallies import exact_tally
from .terms import NoNoise
from .till import Till
from .weighted import exact_weighted


class ExactOracle(Oracle):
    """Answers the same asks as the central oracle, exactly. What it returns must not be published.

    Clips of what polishing asks stay: there they are part of the question, quantiles that the solver chose.
    """

    def __init__(
        self,
        rows: PrivateRows,
        loss: Loss,
        plan: Plan,
        generator: np.random.Generator,
        on_charge: Callable[[str], None] | None = None,
    ) -> None:
        self.facts = rows.facts
        self.plan = plan
        self.passes = 0.0
        self.till = Till(plan, on_charge)
        self._rows = rows
        self._loss = loss
        self._generator = generator

    def answer(self, question: Question, ask: str) -> Any:
        """Charge and answer, without protection."""
        if isinstance(question, Labels):
            raise PrivacyError("labels are randomised by the people they are about; plan them with OncePerPerson().")
        paid, _ = self.till.charge(ask)
        rate = share_of_rows(paid)
        self.passes += rate * share_of_columns(question, self.facts.dimension)
        self.till.receipt(Answer(ask, Noise.NONE, paid.draws, rate, 0.0, 0.0))
        chosen = self._rows.sample(rate, self._generator) if isinstance(paid.rows, PoissonRows) else None
        if isinstance(question, PerturbedMinimum | RidgeMinimum):
            return exact_estimate(question, self._rows, self._loss)
        if isinstance(question, SupportVotes):
            counted = votes(self._rows, self._loss, question, self._generator, exact=True)
            return np.argsort(-counted, kind="stable")[: question.count]
        if isinstance(question, Weighted):
            return exact_weighted(question, self._rows, self._loss, rate * self.facts.n_rows)
        if isinstance(question, Tally):
            return exact_tally(question, self._rows, self._loss) / self.facts.n_rows
        if isinstance(question, Choice):
            scores, _ = choice_scores(question, self._rows, self._loss, Adjacency.REPLACE_ONE)
            return np.array([np.argmax(scores)])
        of = question.of if isinstance(question, Select) else question
        if isinstance(of, Polish):
            mean = exact_polish(of, self._rows, self._loss, rate * self.facts.n_rows)
        else:
            mean = exact_mean(of, self._rows, self._loss, rate * self.facts.n_rows, chosen)
        if not isinstance(question, Select):
            return mean
        scores = scores_of(question.score, mean, self.facts.free)
        if question.excluded is not None:
            scores[question.excluded] = -np.inf
        if question.count > np.count_nonzero(scores > -np.inf):
            raise PrivacyError(f"cannot select {question.count} of {np.count_nonzero(scores > -np.inf)} candidates.")
        return np.argsort(-scores, kind="stable")[: question.count]

    def choose(self, branch: str) -> None:
        """Go on with a branch of the plan."""
        self.till.choose(branch)
        self.plan = self.till.plan

    def scale(self, ask: str, turn: int, clip: Clip) -> float:
        """No noise."""
        return 0.0

    def deviation(self, question: Question, ask: str, turn: int) -> float:
        """No noise."""
        return 0.0

    @property
    def terms(self) -> NoNoise:
        """No noise, from here on."""
        return NoNoise(self.plan)
