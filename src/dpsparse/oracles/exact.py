"""The exact oracle: no noise, no clip, no privacy. It turns every private solver into its non-private twin."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..data.rows import PrivateRows
from ..facts import Clip, Facts, Vector
from ..losses import Loss
from ..oracle import Indices, Score
from ..privacy.plan import Ask, Noise, Plan, PoissonRows
from ..privacy.statement import Answer
from .scores import score_of
from .till import Till


class ExactOracle:
    """Answers the same asks as the central oracle, exactly. What it returns must not be published."""

    def __init__(
        self,
        rows: PrivateRows,
        loss: Loss,
        plan: Plan,
        generator: np.random.Generator,
        on_charge: Callable[[str], None] | None = None,
    ) -> None:
        self.facts: Facts = rows.facts
        self.plan = plan
        self.passes = 0.0
        self.till = Till(plan, on_charge)
        self._rows = rows
        self._loss = loss
        self._generator = generator
        self._last: tuple[Vector, Vector] | None = None

    def scale(self, ask: str, turn: int, clip: Clip) -> float:
        """No noise."""
        return 0.0

    def gradient(self, w: Vector, *, clip: Clip, ask: str = "gradient") -> Vector:
        """Mean gradient at `w`."""
        return self._mean(ask, w)

    def gradient_at(self, w: Vector, support: Indices, *, clip: Clip, ask: str = "values") -> Vector:
        """Mean gradient at `w` on some coordinates."""
        return self._mean(ask, w)[support]

    def select(
        self, w: Vector, count: int, *, score: Score, clip: Clip, ask: str = "select", excluded: Indices | None = None
    ) -> Indices:
        """The coordinates with the largest scores."""
        scores = score_of(score, self._mean(ask, w)[: self.facts.n_features])
        if excluded is not None:
            scores[excluded] = -np.inf
        return np.argsort(-scores, kind="stable")[:count]

    def _mean(self, name: str, w: Vector) -> Vector:
        ask, _ = self.till.charge(name)
        self.till.receipt(Answer(name, Noise.NONE, ask.draws, self._rate(ask), 0.0, 0.0))
        if isinstance(ask.rows, PoissonRows):
            self.passes += ask.rows.rate
            chosen = self._rows.sample(ask.rows.rate, self._generator)
            return self._rows.exact_gradient_sum(self._loss, w, chosen) / (ask.rows.rate * self.facts.n_rows)
        if self._last is None or not np.array_equal(self._last[0], w):
            self.passes += 1.0
            self._last = (w.copy(), self._rows.exact_gradient_sum(self._loss, w) / self.facts.n_rows)
        return self._last[1].copy()

    @staticmethod
    def _rate(ask: Ask) -> float:
        return ask.rows.rate if isinstance(ask.rows, PoissonRows) else 1.0
