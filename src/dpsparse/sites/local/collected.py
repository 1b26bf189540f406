"""The oracle of a server: what devices have answered so far."""

from __future__ import annotations

from ...core.facts import Facts, Vector
from ...core.statement import Receipt
from ...oracles import Till
from ...oracles.base import check_kind
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

    A solver is a function of its answers and of public facts, so running it again from its start costs nothing but time.
    """

    def __init__(self, facts: Facts, terms: LocalNoise, answers: list[Vector]) -> None:
        self.facts = facts
        self.plan = terms.plan
        self.passes = 0.0
        self._terms = terms
        self._till = Till(self.plan)
        self._answers = list(answers)

    def answer(self, question: Query, ask: str) -> Vector:
        """What came in, or a stop."""
        paid, turn = self._till.next(ask)
        check_kind(question, paid)
        self._terms.radius(question)  # refuses what devices are not asked,
        self._terms.groups(ask)  # and plans that are not of the local model
        self._till.charge(ask)
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
        return self._till.unused_turns

    @property
    def receipts(self) -> list[Receipt]:
        """Kept by the server."""
        return self._till.answers

    def deviation(self, question: Query, ask: str, turn: int) -> float:
        """Public."""
        return self._terms.deviation(question, ask, turn)

    def take_branch(self, branch: str) -> None:
        """Local plans have no branches."""
        self._terms.branch(branch)
