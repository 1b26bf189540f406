"""The lasso, without privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ..algorithms.constants import PAPERS
from ..algorithms.proximal import AcceleratedProximal
from ..core.facts import Facts, Penalty
from .base import Baseline, check_positive, check_whole


@dataclass(frozen=True, kw_only=True)
class Lasso(Baseline):
    r"""The lasso, **without privacy**: a baseline to compare with.

    .. math:: \min_w \tfrac1n\textstyle\sum_i \phi(\langle x_i, w\rangle, y_i) + \alpha\|w\|_1

    With squared loss :math:`\phi = \tfrac12(m-y)^2` this is the problem that
    ``sklearn.linear_model.Lasso`` solves, with the same `alpha`; the intercept is not penalised.

    Parameters
    ----------
    steps : int
        Gradients at most; default 5000.
    tol : float
        Stop where a proximal step is this part of the first one; default 1e-9.

    Notes
    -----
    With `alpha` 0, where no penalty was asked for,
    :math:`\alpha = 0.15\,t\,\tfrac{K_2}{\sqrt d}\sqrt{2\ln(d)/n}`: a part of what noise of a
    typical target t (target_bound/3; 1/2 for classes) would call for, on columns that fill the
    bound on a row's norm. A `sparsity` that is asked for keeps the largest coefficients, once, at
    the end.

    References
    ----------
    Beck and Teboulle, SIAM Journal on Imaging Sciences 2, 2009: the accelerated proximal gradient
    method.
    """

    name: ClassVar[str] = "lasso"
    penalties: ClassVar[tuple[str, ...]] = ("l1", "elasticnet")

    steps: int = 5000
    tol: float = 1e-9

    def __post_init__(self) -> None:
        check_whole(self.steps, "steps")
        check_positive(self.tol, "tol")

    def solver(self, facts: Facts) -> AcceleratedProximal:
        """The loop on exact gradients."""
        penalty = facts.penalty
        if not penalty.active:
            unit = facts.target.spread
            d = facts.n_features
            column = facts.row_bound / math.sqrt(d)
            penalty = Penalty(
                kind="l1",
                alpha=PAPERS.lasso_penalty * unit * column * math.sqrt(2 * math.log(max(d, 2)) / facts.n_rows),
            )
        return AcceleratedProximal(steps=self.steps, tol=self.tol, penalty=penalty, sparsity=facts.cap)
