"""How many coefficients to keep."""

from __future__ import annotations

import math

from ...algorithms.constants import PAPERS
from ...core.budget import Budget
from ...core.facts import Facts


def default_sparsity(facts: Facts, budget: Budget, *, peel: bool) -> int:
    r"""How many coefficients to look for when the user does not say.

    Peeling: about as many as a selection can tell from noise,
    :math:`n K_2\sqrt{1.2\rho}/(2 K_\infty\sqrt d\,\ln d)`, at most a quarter of the features. Dense
    noise: :math:`n\mu/10`. Both are at least 1.
    """
    n, d = facts.n_rows, facts.n_features
    per_record = 2 / budget.kappa
    if peel:
        found = n * facts.row_bound * math.sqrt(PAPERS.peel_sparsity * budget.as_rho()) * per_record
        found /= 2 * facts.feature_bound * math.sqrt(d) * math.log(max(d, 2))
        return int(min(max(1, math.ceil(found)), max(1, d // 4)))
    return int(min(max(1, round(n * budget.as_mu() * per_record / 10)), d))


def kept(asked: int | None, facts: Facts, budget: Budget) -> int:
    """Coefficients to keep: the recipe's own number, the estimator's, or a default; never more than are allowed."""
    return min(asked or facts.sparsity or default_sparsity(facts, budget, peel=False), facts.cap)
