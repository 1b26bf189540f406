"""Two-stage: private support selection, then objective perturbation on the support."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ..algorithms.constants import PAPERS
from ..algorithms.two_stage import SelectMinimise
from ..core.budget import Budget
from ..core.facts import Clip, Facts
from ..queries.minimisers import RECORDS, refuse_condition
from .base import PrivateRecipe, check_positive, check_whole
from .defaults.screening import (
    check_mechanism,
    check_part,
    require_convex,
    screening,
    slope_limit,
    support_norm,
    typical_norm,
)
from .defaults.sparsity import default_sparsity
from .defaults.theory import budget_of


@dataclass(frozen=True, kw_only=True)
class TwoStage(PrivateRecipe):
    r"""Two-stage private regression [KST12]_: choose s features, then minimise a randomly tilted objective on them.

    .. math:: S = \mathrm{top}_s\,\bigl|\textstyle\sum_i \mathrm{clip}(g_{ij}(0))\bigr|, \qquad
              w_S = \arg\min_{\theta\in\mathbb R^S} \textstyle\sum_i \Psi_i(\langle x_{iS},\theta\rangle)
              + \tfrac\lambda2\|\theta\|^2 + \langle b,\theta\rangle, \qquad b\sim N(0, s_o^2 I)

    :math:`\Psi_i` is the loss with its slope clipped, so that :math:`\|\nabla\Psi_i\| \le L`:
    Huber's loss for squared loss.

    Parameters
    ----------
    stage1 : {"scores", "votes"}
        Choose by the sums of all rows, or by the votes of disjoint parts of the rows. Votes need
        many rows.
    mechanism : {"auto", "dense", "peel"}
        For scores: noise on the whole gradient, or private selection of s features. ``auto`` peels
        iff :math:`K_2/K_\infty > \sqrt{s\ln d}`.
    parts : int or None
        Parts that vote. None: twice the noise of the winning vote, :math:`4\ln d\sqrt{s/8\rho_1}`,
        at least 10 rows each.
    selection : float
        Part of the budget for stage 1. The least noise for most users is 0.7, by measurement: a
        wrong support costs more than noisy coefficients.
    residual : float or None
        R: slopes beyond are clipped. None: a third of the target bound for regression; classes have
        slopes below 1.
    clip : float or None
        L: bound on the norm of one row's gradient on the support. None: R times a typical norm
        there (0.7 of the box, or a quarter of the row norm), up to four times that for budgets of m
        above 2, where bias matters more than noise.
    row_clip : float or None
        K: rows are scaled down to this norm on the support. None: the largest norm there, so no row
        is.
    ridge : float or None
        :math:`\lambda/n` in the units of the estimator's `alpha`, to which it is added. None: none
        if alpha > 0, otherwise :math:`\lambda = \max(2\beta/\epsilon,\; 1.2\,L K/(Tm))`, which
        balances shrinkage against the tilt: at this :math:`\lambda` a model with typical margins T
        is shrunk about as much as noise of scale :math:`2L/m` moves it. :math:`\beta = \beta_0 K^2`
        bounds the curvature of one row.

    Guarantee
    ---------
    Stage 1: s selections of range :math:`\min(2\kappa C_\infty, \sqrt2\kappa C_2)`, or one Gaussian
    of sensitivity :math:`\kappa C_2`, or s selections of range 2 on votes. Stage 2: the Renyi curve
    of objective perturbation with :math:`m = 2L/s_o` and offset :math:`\log(1+\beta/\lambda)`,
    proved for both adjacencies and for approximate minima in
    ``dpsparse.queries.minimisers.objective_perturbation``. Renyi curves add up. Holds for any data:
    rows and slopes are clipped. Convex losses only (squared, Huber, logistic, Poisson).

    Deviations
    ----------
    [KST12]_ choose the support by an exponential mechanism over all subsets, or by votes of blocks
    of rows; the former cannot be computed. Their objective perturbation needs
    :math:`\lambda \ge 2\beta/\epsilon` and noise of scale
    :math:`L\sqrt{8\ln(2/\delta)+4\epsilon}/\epsilon`: 10.1 L at (1, 1e-5) for one record, where the
    curve here needs 6.3 L for the same :math:`\lambda`; ours counts two records under either
    adjacency, so that it holds however many rows are present
    (``dpsparse.queries.minimisers.minimise``). Blocks by position in the file would break
    add-remove adjacency; ours are dealt by coins. Their analysis asks for exact minima; ours covers
    the solver's tolerance and rounding. The intercept is regularised like every coefficient: the
    proof needs it.

    References
    ----------
    .. [KST12] Kifer, Smith and Thakurta, COLT 2012; "two stage" in Wang and Gu, IJCAI 2019 and AAAI 2020.
    """

    name: ClassVar[str] = "two_stage"
    penalties: ClassVar[tuple[str, ...]] = ("l2",)

    stage1: str = "scores"
    mechanism: str = "auto"
    parts: int | None = None
    selection: float = PAPERS.stage_selection
    residual: float | None = None
    clip: float | None = None
    row_clip: float | None = None
    ridge: float | None = None

    def __post_init__(self) -> None:
        if self.stage1 not in ("scores", "votes"):
            raise ValueError(f"stage1 must be 'scores' or 'votes', got {self.stage1!r}.")
        check_mechanism(self.mechanism)
        check_part(self.selection, "selection")
        check_whole(self.parts, "parts")
        for field in ("residual", "clip", "row_clip", "ridge"):
            check_positive(getattr(self, field), field)

    @classmethod
    def from_theory(
        cls,
        *,
        n_rows: int,
        delta: float,
        true_sparsity: int,
        curvature: float,
        row_norm: float,
        lipschitz: float,
        epsilon: float | None = None,
        rho: float | None = None,
        ridge_constant: float = 1.0,
    ) -> TwoStage:
        r"""The regulariser of [KST12]_, and half of the budget for each stage.

        On the scale of the sum it is :math:`\lambda = \max(2\beta/\epsilon,\; c\,s^*/\epsilon)`.
        :math:`\beta = \beta_0K^2` bounds the `curvature` :math:`\beta_0` of one row of norm K on
        the support: their proof needs the first term, and the second is what Wang and Gu (2020)
        tune, with c from 1e-3 to 1e2. `lipschitz` is L, which becomes the clip.
        """
        epsilon, _ = budget_of(epsilon, delta, rho)
        ridge = max(2 * curvature * row_norm**2, ridge_constant * true_sparsity) / epsilon
        return cls(selection=0.5, clip=lipschitz, row_clip=row_norm, ridge=ridge / n_rows)

    def solver(self, facts: Facts, budget: Budget) -> SelectMinimise:
        """Both stages for these facts and this budget; the class docstring says what None in a parameter means."""
        require_convex(facts, self.name)
        s = min(facts.sparsity or default_sparsity(facts, budget, peel=True), facts.n_features)
        rho = budget.as_rho()
        m = math.sqrt(2 * (1 - self.selection) * rho)
        generous = min(max(1.0, m / 2), 4.0)
        K = self.row_clip or support_norm(facts, s)
        R = self.residual or slope_limit(facts, 1.0)
        L = self.clip or R * min(K, generous * typical_norm(facts, s))
        ridge = facts.n_rows * (facts.penalty.l2 + (self.ridge or 0.0))
        if ridge == 0:
            epsilon = budget.epsilon if budget.epsilon is not None else rho
            balance = PAPERS.balance * RECORDS * L * K / (facts.target.typical * m)
            ridge = max(2 * facts.curvature * K**2 / epsilon, balance)
        refuse_condition(facts.n_rows * facts.curvature * K**2 / ridge)
        parts = None
        if self.stage1 == "votes":
            noise = 2 * math.sqrt(s / (8 * self.selection * rho)) * math.log(max(facts.n_features, 2))
            parts = self.parts or max(2, min(math.ceil(2 * noise), facts.n_rows // 10))
        return SelectMinimise(
            screening=screening(facts, s, self.mechanism, parts, self.selection),
            clip=Clip(L, slope=R),
            row_norm=K,
            ridge=ridge,
        )
