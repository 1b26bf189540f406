"""The exact oracle: no noise, no clip, no privacy. It turns every private solver into its non-private twin."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..core.errors import PrivacyError
from ..core.facts import Vector
from ..core.plan import Ask, Noise, Plan
from ..core.statement import Receipt
from ..queries.kinds import CountQuery, Indices, MinimiserQuery, Query, Released, Select, SumQuery, SupportVotes
from ..queries.losses import Loss
from ..queries.rules import CHOICES, MINIMA, SUMS, exact_votes, partial_sum, scores_of, sum_rule
from ..rows.hosts import Host
from ..rows.sampling import PoissonSample
from .base import ChargedOracle, check_plan, check_query, sample_rate, share_of_columns, share_of_rows
from .noise_info import ZeroNoise
from .till import PaymentLike, ProgressCallback


class ExactOracle(ChargedOracle):
    """Answers the same asks as the central oracle, exactly. What it returns must not be published.

    Clips of what polishing asks stay: there they are part of the question, quantiles that the solver chose.
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
        check_plan(plan, together=host.shards is not None, noisy=False)
        super().__init__(host.facts, plan, payment, watcher)
        if host.shards is None:
            raise PrivacyError("exact answers need all rows in one place, and this host keeps them apart.")
        self._host = host
        self._shards = host.shards
        self._loss = loss
        self._generator = generator
        self._ways: dict[type, Callable[..., Released]] = {
            Select: self._select,
            SupportVotes: self._vote,
            **dict.fromkeys(SUMS, self._mean),
            **dict.fromkeys(CHOICES, self._choice),
            **dict.fromkeys(MINIMA, self._minimum),
        }

    def answer(self, question: Query, ask: str) -> Released:
        """Charge and answer, without protection."""
        paid, _ = self.till.next(ask)
        check_query(question, paid, together=True, noisy=False)
        self.till.charge(ask)
        rate = share_of_rows(paid)
        self.passes += rate * share_of_columns(question, self.facts.dimension)
        self.till.receipt(Receipt(ask, Noise.NONE, paid.draws, rate, 0.0, 0.0))
        return self._ways[type(question)](question, paid)

    def _mean(self, question: SumQuery, ask: Ask) -> Vector:
        drawn = sample_rate(ask)
        draw = None if drawn is None else PoissonSample(drawn, self._key())
        total = sum_rule(question).exact(question, self._shards, self._loss, draw)
        return total / (share_of_rows(ask) * self.facts.n_rows)

    def _select(self, question: Select, ask: Ask) -> Indices:
        scores = scores_of(question.score, self._mean(question.of, ask), self.facts.free)
        if question.excluded is not None:
            scores[question.excluded] = -np.inf
        if question.count > np.count_nonzero(scores > -np.inf):
            raise PrivacyError(f"cannot select {question.count} of {np.count_nonzero(scores > -np.inf)} candidates.")
        return np.argsort(-scores, kind="stable")[: question.count]

    def _choice(self, question: CountQuery, ask: Ask) -> Indices:
        counts = sum(partial_sum(question, shard, self._loss, None) for shard in self._shards)
        return np.array([np.argmax(CHOICES[type(question)].scores(question, np.asarray(counts)))])

    def _vote(self, question: SupportVotes, ask: Ask) -> Indices:
        counted = exact_votes(self._shards, self._loss, question, self._key())
        return np.argsort(-counted, kind="stable")[: question.count]

    def _minimum(self, question: MinimiserQuery, ask: Ask) -> Vector:
        return MINIMA[type(question)].exact(question, self._shards, self._loss)

    def _key(self) -> int:
        return int.from_bytes(self._generator.bytes(16), "little")

    def take_branch(self, branch: str) -> None:
        """Go on with a branch of the plan."""
        self.till.take_branch(branch)
        self.plan = self.till.plan

    def deviation(self, question: Query, ask: str, turn: int) -> float:
        """No noise."""
        return 0.0

    @property
    def terms(self) -> ZeroNoise:
        """No noise, from here on."""
        return ZeroNoise(self.plan)
