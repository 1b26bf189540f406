"""Recipes that tests need and the package does not have."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from dpsparse.recipes import DPIGHT, PrivateRecipe

WHY = "its theorem takes the sparse vectors for a convex set"


@dataclass(frozen=True)
class Doubted:
    """A loop whose plan says that it is not proven."""

    loop: object

    def plan(self, facts, budget):
        return replace(self.loop.plan(facts, budget), unproven=WHY)

    def run(self, oracle, path=None):
        return self.loop.run(oracle, path)


@dataclass(frozen=True, kw_only=True)
class Doubtful(PrivateRecipe):
    """DP-IGHT, as if its privacy were not proven."""

    name: ClassVar[str] = "doubtful"

    def solver(self, facts, budget):
        return Doubted(DPIGHT(steps=2, mechanism="dense").solver(facts, budget))
