"""The exact oracle: no noise, no clip, no privacy. It turns every private solver into its non-private baseline."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ..core.errors import PrivacyError
from ..core.facts import Vector
from ..core.plan import Noise, Plan
from ..core.statement import Receipt
from ..queries.charge import Charge
from ..queries.kinds import Indices, Query, Released, Select, SupportVotes
from ..queries.losses import Loss
from ..queries.rules import CHOICES, MINIMA, SUMS, exact_sum
from ..queries.scores import candidates_of, scores_of
from ..queries.votes import votes
from ..rows.hosts import Host
from .gate import ChargedOracle, Gate, PaymentLike, ProgressCallback
from .noise_info import ZeroNoise


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
        self._key = partial(_key, generator)
        super().__init__(host.facts, Gate(terms, self._key, payment, watcher))
        if host.shards is None:
            raise PrivacyError("exact answers need all rows in one place, and this host keeps them apart.")
        self._host, self._shards = host, host.shards
        self._loss = loss
        own = ExactOracle  # functions, not bound methods: a cycle would keep the rows after the fit
        self._ways: dict[type, Callable[[ExactOracle, Charge], Released]] = {
            Select: own._select,
            SupportVotes: own._vote,
            **dict.fromkeys(SUMS, own._mean),
            **dict.fromkeys(CHOICES, own._choice),
            **dict.fromkeys(MINIMA, own._minimum),
        }

    def answer(self, question: Query, ask: str) -> Released:
        """Check, pay, and answer without protection."""
        charge = self.charge(question, ask)
        self.receipts.append(Receipt(ask, Noise.NONE, charge.ask.draws, charge.rate, 0.0, 0.0))
        return self._ways[type(question)](self, charge)

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


def _key(generator: np.random.Generator) -> int:
    return int.from_bytes(generator.bytes(16), "little")
