"""The default: one public rule picks the algorithm."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ..facts import Facts
from ..oracle import Solver
from ..privacy.budget import Budget
from .base import Recipe
from .dual_averaging import DualAveraging
from .select_polish import SelectPolish


@dataclass(frozen=True)
class Auto:
    r"""Pick the algorithm by public facts alone; the plan and the statement say which, and why.

    With :math:`K_2, K_\infty` the bounds on a row's norm and entries after dense columns were shifted to the midpoint of
    their bounds, and s the number of coefficients asked for, the rule is: **select_polish** if

    .. math:: \frac{K_2}{K_\infty\sqrt s} \ge 2 \quad\text{and}\quad s < d/4,

    else **dual_averaging**. Dense wide rows with few true coefficients are told apart by private selection, whose noise
    grows with the largest entry of a row; spiky rows (text) and low dimensions by Gaussian noise on whole gradients, which
    grows with the norm of a row. Without `sparsity` s is the number that a selection could tell from noise.
    A public `start` vector, losses other than squared, logistic and Huber, and penalties other than l2 give
    **dual_averaging**, which can use them.

    Guarantee
    ---------
    That of the algorithm that was picked. The rule reads no data.
    """

    name: ClassVar[str] = "auto"
    private: ClassVar[bool] = True
    penalties: ClassVar[tuple[str, ...]] = DualAveraging.penalties
    needs: ClassVar[tuple[str, ...]] = ()

    def pick(self, facts: Facts, budget: Budget) -> tuple[Recipe, str]:
        """The recipe for these facts, and the reason in words."""
        if facts.start is not None:
            return DualAveraging(), "auto picked dual_averaging: a start vector was given"
        if facts.loss not in ("squared", "logistic", "huber"):
            return DualAveraging(), f"auto picked dual_averaging: {facts.loss} loss"
        if facts.penalty.active and facts.penalty.kind not in SelectPolish.penalties:
            return DualAveraging(), f"auto picked dual_averaging: {facts.penalty.kind} penalty"
        select = SelectPolish()
        shown = select.view(facts)
        s = facts.sparsity or select.solver(shown, budget).sparsity
        spread = shown.row_bound / (shown.feature_bound * math.sqrt(s))
        enough = spread >= 2 and s < facts.n_features / 4
        why = f"K2/(Kinf sqrt(s)) = {spread:.3g} with s = {s} of {facts.n_features} features"
        if enough:
            return select, f"auto picked select_polish: {why}, at least 2"
        return DualAveraging(), f"auto picked dual_averaging: {why}, below 2 or too many coefficients to select"

    def view(self, facts: Facts) -> Facts:
        """The rule needs a budget: ask `pick` first."""
        raise TypeError("auto is a rule, not an algorithm: use auto.pick(facts, budget).")

    def solver(self, facts: Facts, budget: Budget | None) -> Solver:
        """The rule needs facts as they were declared: ask `pick` first."""
        raise TypeError("auto is a rule, not an algorithm: use auto.pick(facts, budget).")

    def assumptions(self, facts: Facts) -> tuple[str, ...]:
        """Those of the algorithm that was picked."""
        return ()
