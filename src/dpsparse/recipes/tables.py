"""Ordinary tables: the recipe for dense rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..facts import Facts
from ..privacy.budget import Budget
from ..solvers.tables import TableDescent
from .base import PrivateRecipe
from .select_polish import SelectPolish

#: Part of the Gaussian budget that choices are made for: selections are a little dearer than Gaussians.
PART = 0.975


@dataclass(frozen=True, kw_only=True)
class Tables(PrivateRecipe):
    r"""TODO."""

    name: ClassVar[str] = "tables"
    penalties: ClassVar[tuple[str, ...]] = ("l2",)

    def view(self, facts: Facts) -> Facts:
        """As `SelectPolish` wants rows shown."""
        return SelectPolish().view(facts)

    def solver(self, facts: Facts, budget: Budget) -> TableDescent:
        """The loop for these facts."""
        level = PART * facts.n_rows * budget.as_mu() * 2 / budget.kappa
        return TableDescent(level=level)
