"""The default: one public rule picks the algorithm."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ..algorithms.constants import PAPERS
from ..core.budget import Budget
from ..core.facts import Facts
from ..queries.kinds import Solver
from .base import PrivateRecipe
from .dual_averaging import DualAveraging
from .select_polish import SelectPolish
from .tables import Tables


@dataclass(frozen=True)
class Auto(PrivateRecipe):
    r"""Pick the algorithm by public facts alone; the plan and the statement say which, and why.

    Dense rows with at most 1000 features: **tables**, which itself finds out, from answers that it
    has paid for, whether few coefficients are enough, and then goes on with select_polish. With
    :math:`\kappa = n\mu/(2d)`, :math:`\mu` the Gaussian budget, and s the number of coefficients
    asked for, **select_polish** takes its place from 60 features on

    * where :math:`\kappa < 0.4` and no `sparsity` was asked for: noise on whole gradients could not
      show anything;
    * where :math:`s \le d/4` coefficients were asked for and :math:`K_2/(K_\infty\sqrt s) \ge 2`,
      for the bounds :math:`K_2, K_\infty` on a row's norm and entries after columns were shifted to
      the midpoint of their bounds.

    Sparse rows, more features, and many classes in one model: **select_polish** if

    .. math:: \frac{K_2}{K_\infty\sqrt s} \ge 2 \quad\text{and}\quad s < d/4,

    else **dual_averaging**. Wide rows with few true coefficients are distinguished by private
    selection, whose noise grows with the largest entry of a row; spiky rows (text) by Gaussian
    noise on whole gradients, which grows with the norm of a row. Without `sparsity` s is what
    select_polish would take, and dual_averaging is picked where :math:`\kappa \ge 2`, or
    :math:`\kappa \ge 0.4` with fewer than 1000 features: nobody said that few coefficients are
    enough.

    A public `start` vector, losses other than squared, logistic and Huber, and penalties other than
    l2 give **dual_averaging**, which can use them.

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
        enough = spread >= PAPERS.auto_selects and s < facts.n_features / 4
        reach = facts.n_rows * budget.as_mu() / (budget.kappa * facts.n_features)
        why = f"a row may be {spread:.3g} times as long as the {s} of its {facts.n_features} features that are selected"
        if not facts.sparse and facts.n_features <= PAPERS.whole.auto_columns and not facts.target.joint:
            return _dense(facts, enough, reach, why)
        few = facts.n_features < PAPERS.whole.auto_columns
        if enough and facts.sparsity is None and reach >= (PAPERS.auto_reach if few else PAPERS.auto_selects):
            why = f"whole gradients stand {reach:.3g} times above their noise, which is enough"
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


def _dense(facts: Facts, enough: bool, reach: float, why: str) -> tuple[PrivateRecipe, str]:
    """Tables, or select_polish where only selections can tell something."""
    wide = facts.candidates >= PAPERS.whole.auto_wide
    if wide and enough and facts.sparsity is not None:
        return SelectPolish(), f"auto picked select_polish: {why}, at least 2"
    if wide and enough and reach < PAPERS.auto_reach:
        why = f"whole gradients would stand only {reach:.3g} times above their noise, below {PAPERS.auto_reach:g}"
        return SelectPolish(), f"auto picked select_polish: {why}"
    if facts.sparsity is None and wide:
        return Tables(), "auto picked tables: dense rows; few coefficients, or many, by paid answers"
    return Tables(), f"auto picked tables: dense rows with {facts.n_features} features"
