"""Ordinary tables: the recipe for dense rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..facts import Facts
from ..privacy.budget import Budget
from ..privacy.plan import Noise
from ..solvers.table_rule import TableRule
from ..solvers.table_schedule import Schedule
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
        rule = TableRule()
        plain = Schedule.of(rule, facts, level, race=True)
        if facts.sparsity is not None or facts.n_features < rule.race_columns or plain.constant or plain.guesses:
            return TableDescent(level=level)
        # what is left for a sparse model after the first phase, and after the second
        dense = plain.plan(gaussian=Noise.GAUSSIAN, gumbel=Noise.GUMBEL)
        left, sparse = dense.share, []
        for phase in plain.phases[:-1]:
            stop = dense.order.index(phase.gradient)
            names = dict.fromkeys(dense.order[: stop + 1])
            left = dense.share - sum(dense[name].share for name in names)
            sparse.append(SelectPolish().solver(facts, Budget.zcdp(left * budget.as_rho(), budget.relation)))
        return TableDescent(level=level, sparse=tuple(sparse))
