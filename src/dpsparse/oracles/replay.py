"""Answers that are kept in memory and played back: how the laws test that a solver used nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.errors import PrivacyError
from ..core.plan import Plan
from ..core.statement import Receipt
from ..queries.kinds import NoiseInfo, Oracle, Query, Released
from .gate import ChargedOracle, Gate
from .noise_info import ZeroNoise

#: What was asked (kind of query, ask) and what was answered.
Answers = list[tuple[str, str, Released]]


class PassingOracle(Oracle):
    """Passes everything on to another oracle."""

    def __init__(self, inner: Oracle) -> None:
        self.inner = inner
        self.facts = inner.facts

    @property
    def plan(self) -> Plan:  # type: ignore[override]
        """What may be asked from here on."""
        return self.inner.plan

    @property
    def passes(self) -> float:  # type: ignore[override]
        """Passes of the inner oracle."""
        return float(self.inner.passes)

    @property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override]
        """Branches that the inner oracle took."""
        return self.inner.choices

    @property
    def terms(self) -> NoiseInfo:
        """Noise of the inner oracle."""
        return self.inner.terms

    @property
    def unused_turns(self) -> dict[str, int]:
        """What the inner oracle was not asked for."""
        return self.inner.unused_turns

    @property
    def receipts(self) -> list[Receipt]:
        """Receipts of the inner oracle."""
        return self.inner.receipts

    def take_branch(self, branch: str) -> None:
        """Pass on."""
        self.inner.take_branch(branch)

    def deviation(self, question: Query, ask: str, turn: int) -> float:
        """Public noise."""
        return float(self.inner.deviation(question, ask, turn))


class RecordingOracle(PassingOracle):
    """Passes every query on to another oracle and keeps the answers in memory, for the laws."""

    def __init__(self, inner: Oracle) -> None:
        super().__init__(inner)
        self.first_terms: NoiseInfo = inner.terms  # those of the start: a replay begins there
        self.questions: list[Query] = []
        self.tape: Answers = []

    def answer(self, question: Query, ask: str) -> Released:
        """Pass on and keep."""
        answer = self.inner.answer(question, ask)
        self.questions.append(question)
        self.tape.append((type(question).__name__, ask, np.array(answer, copy=True)))
        return answer


class ReplayOracle(ChargedOracle[Any]):
    """Plays back recorded answers. It has no rows.

    Guarantee
    ---------
    A solver whose result differs between a recorded run and its replay has used something that the oracle did not say.
    """

    def __init__(self, original: Oracle, tape: Answers, receipts: Sequence[Receipt] = ()) -> None:
        self._priced: NoiseInfo = original.first_terms if isinstance(original, RecordingOracle) else original.terms
        super().__init__(original.facts, Gate(ZeroNoise(self._priced.plan, original.facts, people=True)))
        self._tape = list(tape)
        self._receipts = list(receipts)

    @property
    def terms(self) -> NoiseInfo:
        """As they were priced."""
        return self._priced

    @property
    def receipts(self) -> list[Receipt]:
        """Those of the recorded run, where they are given: nothing is drawn here."""
        return self._receipts

    def take_branch(self, branch: str) -> None:
        """Go on with a branch of the plan."""
        super().take_branch(branch)
        self._priced = self._priced.branch(branch)

    def answer(self, question: Query, ask: str) -> Released:
        """The recorded answer, if this is what the recorded run asked next."""
        self.gate.next(question, ask)
        expected = (type(question).__name__, ask)
        if not self._tape or self._tape[0][:2] != expected:
            raise PrivacyError(
                f"the replay was asked {expected[0]} ({ask!r}), which is not what the recorded run asked next."
            )
        return self._tape.pop(0)[2].copy()
