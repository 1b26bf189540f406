"""The oracle of a server: what devices have answered so far."""

from __future__ import annotations

from ...core.facts import Facts, Vector
from ...core.statement import Receipt
from ...oracles import Gate
from ...oracles.local import LocalNoise
from ...queries.kinds import Oracle, Query


class Open(Exception):
    """The loop wants to know something that nobody has answered yet."""

    def __init__(self, question: Query, turn: int) -> None:
        super().__init__()
        self.question = question
        self.turn = turn


class Collected(Oracle):
    """Answers that have come in; the first one that has not stops the loop.

    A solver is a function of its answers and of public facts, so running it again from its start
    costs nothing but time.
    """

    def __init__(self, facts: Facts, terms: LocalNoise, answers: list[Vector]) -> None:
        self.facts = facts
        self.plan = terms.plan
        self.passes = 0.0
        self._terms = terms
        self._gate = Gate(terms)
        self._answers = list(answers)

    def answer(self, question: Query, ask: str) -> Vector:
        """What came in, or a stop."""
        turn = self._gate.next(question, ask).turn
        if turn >= len(self._answers):
            raise Open(question, turn)
        return self._answers[turn].copy()

    @property
    def terms(self) -> LocalNoise:
        """Public numbers."""
        return self._terms

    @property
    def unused_turns(self) -> dict[str, int]:
        """Rounds that were not asked for."""
        return self._gate.unused_turns

    @property
    def receipts(self) -> list[Receipt]:
        """Kept by the server."""
        return self._gate.receipts

    def deviation(self, question: Query, ask: str, turn: int) -> float:
        """Public."""
        return self._terms.deviation(question, ask, turn)

    def take_branch(self, branch: str) -> None:
        """Local plans have no branches."""
        self._terms.branch(branch)
