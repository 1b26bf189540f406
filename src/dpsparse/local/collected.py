"""The oracle of a server: what devices have answered so far."""

from __future__ import annotations

from ..facts import Clip, Facts, Vector
from ..oracle import Oracle, Question
from ..oracles.local import LocalTerms
from ..oracles.till import Till


class Open(Exception):
    """The loop wants to know something that nobody has answered yet."""

    def __init__(self, question: Question, turn: int) -> None:
        super().__init__()
        self.question = question
        self.turn = turn


class Collected(Oracle):
    """Answers that have come in; the first one that has not stops the loop.

    A solver is a function of its answers and of public facts, so running it again from its start costs nothing but time.
    """

    def __init__(self, facts: Facts, terms: LocalTerms, answers: list[Vector]) -> None:
        self.facts = facts
        self.terms = terms
        self.plan = terms.plan
        self.passes = 0.0
        self.till = Till(self.plan)
        self._answers = list(answers)

    def answer(self, question: Question, ask: str) -> Vector:
        """What came in, or a stop."""
        _, turn = self.till.charge(ask)
        if turn >= len(self._answers):
            raise Open(question, turn)
        return self._answers[turn].copy()

    def scale(self, ask: str, turn: int, clip: Clip) -> float:
        """Public."""
        return self.terms.scale(ask, turn, clip)

    def deviation(self, question: Question, ask: str, turn: int) -> float:
        """Public."""
        return self.terms.deviation(question, ask, turn)

    def choose(self, branch: str) -> None:
        """Local plans have no branches."""
        self.terms.branch(branch)
