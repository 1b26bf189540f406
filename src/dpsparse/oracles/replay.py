"""Recording and replaying answers: how the laws test that a solver used nothing but what it was told."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..facts import Clip
from ..oracle import Oracle, Question
from ..privacy.errors import PrivacyError
from .terms import Terms
from .till import Till

#: What was asked (kind of question, ask) and what was answered.
Tape = list[tuple[str, str, Any]]


class RecordingOracle(Oracle):
    """Passes every ask on to another oracle and keeps the answers."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.facts = inner.facts
        self.plan = inner.plan
        self.terms: Terms = inner.terms  # those of the start: a replay begins there
        self.till: Till = inner.till
        self.questions: list[Question] = []
        self.tape: Tape = []

    @property
    def passes(self) -> float:  # type: ignore[override]
        """Passes of the inner oracle."""
        return float(self.inner.passes)

    def choose(self, branch: str) -> None:
        """Pass on."""
        self.inner.choose(branch)
        self.plan = self.inner.plan

    def scale(self, ask: str, turn: int, clip: Clip) -> float:
        """Public noise."""
        return float(self.inner.scale(ask, turn, clip))

    def deviation(self, question: Question, ask: str, turn: int) -> float:
        """Public noise."""
        return float(self.inner.deviation(question, ask, turn))

    def answer(self, question: Question, ask: str) -> Any:
        """Pass on and keep."""
        answer = self.inner.answer(question, ask)
        self.questions.append(question)
        self.tape.append((type(question).__name__, ask, np.array(answer, copy=True)))
        return answer


class ReplayOracle(Oracle):
    """Plays back recorded answers. It has no rows.

    Guarantee
    ---------
    A solver whose result differs between a recorded run and its replay has used something that the oracle did not say.
    """

    def __init__(self, original: Any, tape: Tape) -> None:
        self.facts = original.facts
        self.terms: Terms = original.terms
        self.plan = self.terms.plan
        self.passes = 0.0
        self.till = Till(self.plan)
        self._tape = list(tape)

    def choose(self, branch: str) -> None:
        """Go on with a branch of the plan."""
        self.till.choose(branch)
        self.plan = self.till.plan
        self.terms = self.terms.branch(branch)

    def scale(self, ask: str, turn: int, clip: Clip) -> float:
        """Public noise, as it was priced."""
        return self.terms.scale(ask, turn, clip)

    def deviation(self, question: Question, ask: str, turn: int) -> float:
        """Public noise, as it was priced."""
        return self.terms.deviation(question, ask, turn)

    def answer(self, question: Question, ask: str) -> Any:
        """The recorded answer, if this is what the recorded run asked next."""
        self.till.charge(ask)
        expected = (type(question).__name__, ask)
        if not self._tape or self._tape[0][:2] != expected:
            raise PrivacyError(
                f"the replay was asked {expected[0]} ({ask!r}), which is not what the recorded run asked next."
            )
        return self._tape.pop(0)[2].copy()
