"""An oracle that answers from a script: loops are tested without rows, noise or prices."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpsparse.core import Plan, Receipt
from dpsparse.core.facts import Facts
from dpsparse.queries.kinds import Oracle, Query


@dataclass
class ScriptedOracle(Oracle):
    """Answers each ask with the next entry of its script, and writes down every question.

    Parameters
    ----------
    facts : Facts
    script : mapping of str to sequence
        Answers by the name of the ask, in order; a function is called with the question.
    plan : Plan
    noise : float
        The standard deviation that every answer is said to have.
    """

    facts: Facts
    script: Mapping[str, Sequence[Any]]
    plan: Plan = field(default_factory=lambda: Plan(asks=()))
    noise: float = 0.0
    asked: list[tuple[str, Query]] = field(default_factory=list)
    chosen: list[str] = field(default_factory=list)
    passes: float = 0.0

    def answer(self, question: Query, ask: str) -> Any:
        turn = sum(name == ask for name, _ in self.asked)
        self.asked.append((ask, copy.deepcopy(question)))  # a loop may go on to change its iterate in place
        found = self.script[ask][turn]
        return found(question) if callable(found) else np.asarray(found)

    @property
    def terms(self) -> ScriptedOracle:
        return self

    def branch(self, name: str) -> ScriptedOracle:
        return self

    @property
    def unused_turns(self) -> dict[str, int]:
        return {}

    @property
    def receipts(self) -> list[Receipt]:
        return []

    def deviation(self, question: Query, ask: str, turn: int) -> float:
        return self.noise

    def take_branch(self, branch: str) -> None:
        self.chosen.append(branch)

    def questions(self, ask: str) -> list[Any]:
        """What was asked under this name, in order."""
        return [question for name, question in self.asked if name == ask]

    @classmethod
    def of(cls, solver: Any, facts: Facts, script: Mapping[str, Sequence[Any]], **options: Any) -> ScriptedOracle:
        """With the plan of a solver; the script must hold one answer for each turn that was planned."""
        plan = solver.plan(facts, None)
        assert {a.name: a.times for a in plan.asks} == {name: len(answers) for name, answers in script.items()}
        return cls(facts, script, plan, **options)
