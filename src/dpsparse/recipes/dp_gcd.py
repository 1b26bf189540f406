"""DP-GCD: private greedy coordinate descent."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from ..accounting.pricing import price
from ..algorithms.constants import PAPERS
from ..algorithms.gcd import GreedyCD
from ..core.budget import Budget
from ..core.errors import BudgetError
from ..core.facts import Facts
from ..core.plan import Noise
from .base import PrivateRecipe, check_positive, check_whole
from .defaults.curvature import CURVATURES, column_squares, relaxation, residual_limit, signal
from .defaults.theory import budget_of, prescribed

RULES = ("auto", "gs", "gs-s", "gs-r", "gs-q")


@dataclass(frozen=True, kw_only=True)
class DPGCD(PrivateRecipe):
    r"""Private greedy coordinate descent, smooth and proximal (DP-GCD [M23]_).

    .. math::
        j_t = \arg\max_j u_j(w_t) + \mathrm{Gumbel}, \qquad
        w_{t+1,j_t} = \mathrm{prox}_{\gamma\psi/H_j}\Bigl(w_{t,j_t} - \tfrac{\gamma}{H_j}\bigl(
        \tfrac1n\textstyle\sum_i \mathrm{clip}\,g_{ij}(w_t) + \text{noise} + \lambda_2 w_{t,j_t}\bigr)\Bigr)

    with :math:`H_j = M_j + \lambda_2`: each step privately chooses the coordinate whose step guarantees
    most, and moves only that one. The intercept is one more coordinate of the choice. With
    ``sparsity=s``, once s coefficients are nonzero only those (and the intercept) stay candidates;
    without it the model has at most as many nonzeros as there are steps. Where columns have groups,
    a step chooses a group by the l2 norm of its scores and moves its m columns, by 1/m of the step
    of one alone, and groups are counted.

    Parameters
    ----------
    steps : int or None
        Number of steps T. None: :math:`T = q n\sqrt{\rho v}/(\kappa\ln d)`, rounded, within 1..100,
        or a tenth of it, up to 1000, where that is more: then noise is harmless, and the loop
        goes on towards the optimum. :math:`\rho` is the budget in zCDP,
        :math:`v = M_j/(\beta_0 B_j^2)` (1 where curvatures are private), q = 1/4 for classes and 1
        otherwise: about as many choices among d columns as the noise lets be right.
    step_size : float or None
        :math:`\gamma`: the step is :math:`\gamma/H_j`. None: 1; for regression with clipped
        residuals up to 1.6, :math:`P(|Z| \le R/u)^{-1/2}`, since clipping flattens the loss.
    clip : float or None
        Bound C on the norm of a row's gradient, kept by a bound :math:`R = C/K_2` on the slope of
        its loss: coordinate j is then within :math:`R B_j \propto \sqrt{M_j}`. None:
        :math:`R = u\max(1/2, T^*/200)` for a typical target u (a third of target_bound; 1 for
        classes) and :math:`T^*` the number of steps before it is capped: from half a typical target
        when noise rules to the whole target bound when it does not.
    rule : {"auto", "gs", "gs-r", "gs-s", "gs-q"}
        What the choice compares, on a scale where all coordinates are equally sensitive: the
        gradient alone; the length of the proximal step :math:`\sqrt{H_j}|\Delta_j|`; the smallest
        subgradient over :math:`\sqrt{H_j}`; the root of twice the guaranteed decrease. Without l1 or
        a box they are the same. ``auto``: the gradient alone until a coordinate is chosen a second
        time, then the proximal step. An l1 penalty takes its part of every score and nothing of the
        noise, so that the other rules choose worse at first; the gradient alone cannot tell a
        coefficient that has arrived.
    mechanism : {"auto", "gaussian", "pure"}
        Gumbel noise for choices and Gaussian noise for gradients; or permute-and-flip and Laplace
        noise, which are pure and better for up to about three steps. ``auto`` prices both and takes
        the smaller product of the two noises.
    curvature : {"auto", "average", "bounds", "private"}
        Where :math:`M_j = \beta_0\overline{x_j^2}` comes from. ``bounds``: :math:`\beta_0 B_j^2`.
        ``average``: the same times :math:`\min(1, K_2^2/\sum B^2)`, at least 1/8: what rows within
        their norm have on average. ``private``: one release of all mean squares for 2 % of the
        budget, at least twice its noise and at most the bound; rows are then clipped in every
        coordinate at :math:`R\sqrt{M_j/\beta_0}`. ``auto``: private where the average would be
        below 1/8 and the release is readable (text); average elsewhere.
    selection : float
        Part of the budget that pays for the choices.

    Guarantee
    ---------
    Per step one choice of range at most :math:`2\kappa\max_j C_j/\sqrt{H_j}` (every score is
    1-Lipschitz in :math:`g_j/\sqrt{H_j}`, see `queries.scores`) and one release of sensitivity
    :math:`\kappa C_j`, with noise of its own; adaptive composition by the recursion over selections
    or exact Renyi curves, or by addition where all is pure. With private curvature, one Gaussian
    release of l2 sensitivity :math:`\sqrt\kappa B_\infty K_2`; what follows from it is
    post-processing. Holds for any data, since rows are clipped.

    Deviations
    ----------
    Theorem 4.2 of [M23]_ is not proven and its per-step claim is false: noise inside the absolute
    value costs twice the stated epsilon' for equal scales, and up to the number of candidates times it
    for unequal :math:`L_j/\sqrt{M_j}` (measured on logistic data: 6.9 epsilon'). The rule GS-q is
    printed without noise, GS-s and GS-r share one noise with the update, and :math:`M_j` comes from
    the data for free. We add Gumbel noise to scores of equal sensitivity (GS-q through
    :math:`\sqrt{2V_j}`; V itself is not Lipschitz), draw the value's noise afresh, and take
    :math:`M_j` from public bounds or pay for it. At epsilon 1, delta 1e-6 and 10 steps the noise on
    values falls from 34 to 22 sensitivities, and the score gap that gives a right choice among 1000
    with probability 0.9 from 224 to 151, against the paper's invalid noise. The paper tunes T, step
    and clip on the private objective; here they follow from public facts.

    References
    ----------
    .. [M23] Mangold, Bellet, Salmon and Tommasi, AISTATS 2023, Algorithms 1 and 2.
    """

    name: ClassVar[str] = "dp_gcd"
    penalties: ClassVar[tuple[str, ...]] = ("l2", "l1", "elasticnet", "box")

    steps: int | None = None
    step_size: float | None = None
    clip: float | None = None
    rule: str = "auto"
    mechanism: str = "auto"
    curvature: str = "auto"
    selection: float = PAPERS.selection

    def __post_init__(self) -> None:
        check_whole(self.steps, "steps")
        check_positive(self.step_size, "step_size")
        check_positive(self.clip, "clip")
        for value, known, what in (
            (self.rule, RULES, "rule"),
            (self.mechanism, ("auto", "gaussian", "pure"), "mechanism"),
            (self.curvature, CURVATURES, "curvature"),
        ):
            if value not in known:
                raise ValueError(f"{what} must be one of {', '.join(known)}, got {value!r}.")
        if not 0 < self.selection < 1:
            raise ValueError(f"selection must lie strictly between 0 and 1, got {self.selection!r}.")

    @classmethod
    def from_theory(
        cls,
        *,
        n_rows: int,
        delta: float,
        lipschitz: float,
        smallest_curvature: float,
        epsilon: float | None = None,
        rho: float | None = None,
        radius: float | None = None,
        strong_convexity: float | None = None,
        gap: float | None = None,
        n_features: int | None = None,
        failure: float = 0.05,
        sparsity: int | None = None,
        quasi_sparsity: int = 0,
        constant: float = 1.0,
    ) -> DPGCD:
        r"""The number of steps of Theorems 4.4 and 4.7 of [M23]_, step 1/M, curvatures from bounds.

        Convex (give `radius` :math:`R_{M,1}`; Theorem 4.4.1):
        :math:`T = R^{2/3}M_{\min}^{1/3}(n\epsilon)^{2/3}/(4L_{\max}^{2/3}\ln(1/\delta)^{1/3})`.
        Strongly convex in l1 (give `strong_convexity` :math:`\mu_{M,1}`, `gap` :math:`f(w_0)-f^*`,
        `n_features`; Theorem 4.4.2 with the constants of its proof):
        :math:`T = \tfrac4\mu\ln
        \frac{\mu M_{\min}n^2\epsilon^2\,\mathrm{gap}}{128L_{\max}^2\ln(1/\delta)\ln(8p/\zeta)}`.
        Quasi-sparse (give `strong_convexity` :math:`\mu_{M,2}`, `gap` and `sparsity` s of the
        iterates; Theorem 4.7):
        :math:`T = \tfrac{s+\tau}{\mu}\ln(\mathrm{gap}\,M_{\min}\mu n^2\epsilon^2/L_{\max}^2)`.
        `constant` multiplies T, which is rounded up and at most 1000: every step looks at all
        columns. The budget is epsilon, or rho, and delta.
        """
        epsilon, _ = budget_of(epsilon, delta, rho)
        signal = n_rows * epsilon / lipschitz
        if radius is not None:
            steps = (radius * signal) ** (2 / 3) * smallest_curvature ** (1 / 3) / (4 * math.log(1 / delta) ** (1 / 3))
        elif strong_convexity is None or gap is None:
            raise ValueError("give radius (convex), or strong_convexity and gap (strongly convex or quasi-sparse).")
        else:
            inside = gap * smallest_curvature * strong_convexity * signal**2
            if sparsity is not None:
                steps = (sparsity + quasi_sparsity) / strong_convexity * math.log(inside)
            elif n_features is None:
                raise ValueError("the strongly convex case needs n_features; the quasi-sparse one needs sparsity.")
            else:
                inside /= 128 * math.log(1 / delta) * math.log(8 * n_features / failure)
                steps = 4 / strong_convexity * math.log(inside)
        return cls(
            steps=prescribed(constant * steps, "T", most=PAPERS.whole.gcd_steps), step_size=1.0, curvature="bounds"
        )

    def solver(self, facts: Facts, budget: Budget) -> GreedyCD:
        """The loop for these facts and this budget; the class docstring says what None in a parameter means."""
        squares = column_squares(facts, budget, self.curvature)
        seen = signal(facts, squares, budget, math.sqrt(budget.as_rho())) / math.log(max(facts.dimension, 3))
        residual = (
            self.clip / facts.norm_bound if self.clip else residual_limit(facts, seen / PAPERS.cd_records, least=0.5)
        )
        gaussian = GreedyCD(
            rule=self.rule,
            steps=self.steps or max(1, round(min(seen, max(100, min(seen / 10, PAPERS.whole.gcd_steps))))),
            step_size=self.step_size or relaxation(facts, residual),
            residual=residual,
            squares=squares,
            selection=self.selection,
        )
        pure = replace(gaussian, selection_noise=Noise.PERMUTE_AND_FLIP, noise=Noise.LAPLACE)
        if self.mechanism == "auto":
            return min(gaussian, pure, key=lambda s: noise_level(s, facts, budget))
        return gaussian if self.mechanism == "gaussian" else pure


def noise_level(solver: GreedyCD, facts: Facts, budget: Budget) -> float:
    """Scale of the choices' noise times deviation of the gradients' noise, per sensitivity.

    Infinite without a price.
    """
    try:
        priced = price(solver.plan(facts, budget), budget)
    except BudgetError:
        return math.inf
    value = (math.sqrt(2) if solver.noise is Noise.LAPLACE else 1.0) / priced.cost("values").strength
    return value / priced.cost("select").strength
