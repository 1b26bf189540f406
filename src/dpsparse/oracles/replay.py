"""Recording and replaying answers: how the laws test that a solver used nothing but what it was told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..facts import Clip, Facts
from ..oracle import DOORS
from ..privacy.errors import PrivacyError
from ..privacy.plan import Plan
from .till import Till

#: What was asked (door, ask) and what was answered.
Tape = list[tuple[str, str, Any]]


class RecordingOracle:
    """Passes every ask on to another oracle and keeps the answers."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.facts: Facts = inner.facts
        self.plan: Plan = inner.plan
        self.till: Till = inner.till
        self.tape: Tape = []

    @property
    def passes(self) -> float:
        """Passes of the inner oracle."""
        return float(self.inner.passes)

    def scale(self, ask: str, turn: int, clip: Clip) -> float:
        """Public noise."""
        return float(self.inner.scale(ask, turn, clip))

    def __getattr__(self, door: str) -> Callable[..., Any]:
        if door not in DOORS:
            raise AttributeError(door)

        def pass_on(*values: Any, ask: str = DOORS[door], **options: Any) -> Any:
            answer = getattr(self.inner, door)(*values, ask=ask, **options)
            self.tape.append((door, ask, np.array(answer, copy=True)))
            return answer

        return pass_on


class ReplayOracle:
    """Plays back recorded answers. It has no rows.

    Guarantee
    ---------
    A solver whose result differs between a recorded run and its replay has used something that the oracle did not say.
    """

    def __init__(self, original: Any, tape: Tape) -> None:
        self.facts: Facts = original.facts
        self.plan: Plan = original.plan
        self.passes = 0.0
        self.till = Till(self.plan)
        self._scale = original.scale
        self._tape = list(tape)

    def scale(self, ask: str, turn: int, clip: Clip) -> float:
        """Public noise, as it was priced."""
        return float(self._scale(ask, turn, clip))

    def __getattr__(self, door: str) -> Callable[..., Any]:
        if door not in DOORS:
            raise AttributeError(door)

        def play(*_: Any, ask: str = DOORS[door], **__: Any) -> Any:
            self.till.charge(ask)
            if not self._tape or self._tape[0][:2] != (door, ask):
                raise PrivacyError(
                    f"the replay was asked for {door} ({ask!r}), which is not what the recorded run asked next."
                )
            return self._tape.pop(0)[2].copy()

        return play
