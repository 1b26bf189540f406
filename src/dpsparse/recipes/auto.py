"""The default: one public rule picks the algorithm."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ..facts import Facts
from ..oracle import Solver
from ..privacy.budget import Budget
from .base import PrivateRecipe
from .dual_averaging import DualAveraging
from .select_polish import SelectPolish


@dataclass(frozen=True)
class Auto(PrivateRecipe):
    r"""Pick the algorithm by public facts alone; the plan and the statement say which, and why.

    With :math:`K_2, K_\infty` the bounds on a row's norm and entries after dense columns were shifted to the midpoint of
    their bounds, and s the number of coefficients asked for, the rule is: **select_polish** if

    .. math:: \frac{K_2}{K_\infty\sqrt s} \ge 2 \quad\text{and}\quad s < d/4,

    else **dual_averaging**. Dense wide rows with few true coefficients are told apart by private selection, whose noise
    grows with the largest entry of a row; spiky rows (text) and low dimensions by Gaussian noise on whole gradients, which
    grows with the norm of a row.

    Without `sparsity` s is what select_polish would take, and one more question is asked: can the noise on whole gradients
    be afforded? Dual averaging learns along a direction of typical spread in :math:`r = n\mu/(2d)` of the time it may spend, with
    :math:`\mu` the Gaussian budget. Where :math:`r \ge 2`, or :math:`r \ge 0.4` with fewer than 1000 features, it is picked: nobody said
    that few coefficients are enough, and it can use all of them. On tables and images (8 to 784 features) this picked
    the better one in 17 of 21 cases; on wide data with few true coefficients select_polish was better up to r = 1.4, the
    largest tried.

    A public `start` vector, losses other than squared, logistic and Huber, and penalties other than l2 give
    **dual_averaging**, which can use them.

    Guarantee
    ---------
    That of the algorithm that was picked. The rule reads no data.
    """

    name: ClassVar[str] = "auto"
    penalties: ClassVar[tuple[str, ...]] = DualAveraging.penalties

    def resolve(self, facts: Facts, budget: Budget) -> tuple[PrivateRecipe, str]:
        """The recipe for these facts, and the reason in words."""
        if facts.start is not None:
            return DualAveraging(), "auto picked dual_averaging: a start vector was given"
        if not facts.target.direct:
            return DualAveraging(), f"auto picked dual_averaging: {facts.loss} loss"
        if facts.penalty.active and facts.penalty.kind not in SelectPolish.penalties:
            return DualAveraging(), f"auto picked dual_averaging: {facts.penalty.kind} penalty"
        select = SelectPolish()
        view = select.view(facts)
        s = facts.sparsity or select.solver(view, budget).sparsity
        spread = view.row_bound / (view.feature_bound * math.sqrt(s))
        enough = spread >= 2 and s < facts.n_features / 4
        why = f"K2/(Kinf sqrt(s)) = {spread:.3g} with s = {s} of {facts.n_features} features"
        if enough and facts.sparsity is None:
            reach = facts.n_rows * budget.as_mu() / (budget.kappa * facts.n_features)
            if reach >= (0.4 if facts.n_features < 1000 else 2):
                why = f"n mu/(2 d) = {reach:.3g} is enough for whole gradients"
                return DualAveraging(), f"auto picked dual_averaging: no sparsity was asked for, and {why}"
        if enough:
            return select, f"auto picked select_polish: {why}, at least 2"
        return DualAveraging(), f"auto picked dual_averaging: {why}, below 2 or too many coefficients to select"

    def view(self, facts: Facts) -> Facts:
        """As declared: the rule looks at those, and the recipe that it resolves to has a view of its own."""
        return facts

    def solver(self, facts: Facts, budget: Budget) -> Solver:
        """The loop of the recipe that the rule resolves to, on that recipe's view."""
        found, _ = self.resolve(facts, budget)
        return found.solver(found.view(facts), budget)
