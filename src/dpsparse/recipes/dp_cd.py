"""DP-CD: private coordinate descent in a random public order."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ..algorithms.cd import RandomCD
from ..algorithms.constants import PAPERS
from ..core.budget import Budget
from ..core.errors import BudgetError
from ..core.facts import Facts
from .base import PrivateRecipe, check_positive, check_whole
from .defaults.curvature import CURVATURES, column_squares, residual_limit, signal
from .defaults.theory import budget_of, prescribed


@dataclass(frozen=True, kw_only=True)
class DPCD(PrivateRecipe):
    r"""Private coordinate descent in a random public order, smooth and proximal (DP-CD [M22]_).

    It is the method that DP-GCD is compared with in [M23]_.

    .. math::
        w_{t+1,j_t} = \mathrm{prox}_{\gamma\psi/H_j}\Bigl(w_{t,j_t} - \tfrac{\gamma}{H_j}\bigl(
        \tfrac1n\textstyle\sum_i \mathrm{clip}\,g_{ij}(w_t) + N(0, \sigma_j^2) + \lambda_2 w_{t,j_t}\bigr)\Bigr),
        \qquad j_1, j_2, \ldots \text{ random and public}

    Each step releases one entry of the gradient, so d steps cost what one whole gradient costs;
    unlike a gradient step, every coordinate has its own step and its own noise. With ``sparsity=s``
    the s largest :math:`\sqrt{H_j}|w_j|` are kept in the end.

    Parameters
    ----------
    steps : int or None
        Coordinates moved. None: as many as add noise of 0.4 typical targets to a margin,
        :math:`T\min(T, d) = (0.4\,u\,q\,n\mu\sqrt v/(\kappa R))^2`, within 1 and the smaller of 10
        d and 20000, where :math:`\mu` is the budget in GDP, :math:`v = M_j/(\beta_0B_j^2)` (1 where
        curvatures are private), q = 1/4 for classes and 1 otherwise.
    step_size : float
        :math:`\gamma`: the step is :math:`\gamma/H_j`.
    clip : float or None
        As in `DPGCD`: :math:`C = R K_2`. None:
        :math:`R = u\max(0.3, q n\mu\sqrt v/(200\kappa\sqrt d))` (at least 1/4 for classes).
    curvature : {"auto", "average", "bounds", "private"}
        Where :math:`M_j` comes from, as in `DPGCD`.
    order : {"shuffled", "uniform"}
        Every pass in a new random order, the intercept first; or independent uniform draws, as in
        the papers.
    order_seed : int
        Seed of the public order: it is part of the plan, and needs no secrecy.

    Guarantee
    ---------
    T Gaussian releases of one entry each, of sensitivity :math:`\kappa C_j`; exact Gaussian
    composition. The order is drawn before a row is read. Holds for any data, since rows are
    clipped.

    Deviations
    ----------
    The papers compose by Renyi divergences; the exact Gaussian composition needs 6 to 8 % less
    noise. They take :math:`M_j` from the data without paying for it, and tune steps, step size and
    clip on the private objective; here they follow from public facts. The default order visits
    every coordinate once a pass.

    References
    ----------
    .. [M22] Mangold, Bellet, Salmon and Tommasi, ICML 2022, Algorithm 1.
    .. [M23] Mangold, Bellet, Salmon and Tommasi, AISTATS 2023, section 5.
    """

    name: ClassVar[str] = "dp_cd"
    penalties: ClassVar[tuple[str, ...]] = ("l2", "l1", "elasticnet", "box")

    steps: int | None = None
    step_size: float = 1.0
    clip: float | None = None
    curvature: str = "auto"
    order: str = "shuffled"
    order_seed: int = 0

    def __post_init__(self) -> None:
        check_whole(self.steps, "steps")
        check_positive(self.step_size, "step_size")
        check_positive(self.clip, "clip")
        if self.curvature not in CURVATURES:
            raise ValueError(f"curvature must be one of {', '.join(CURVATURES)}, got {self.curvature!r}.")
        if self.order not in ("shuffled", "uniform"):
            raise ValueError(f"order must be 'shuffled' or 'uniform', got {self.order!r}.")
        if isinstance(self.order_seed, bool) or not isinstance(self.order_seed, int) or self.order_seed < 0:
            raise ValueError(f"order_seed must be a non-negative integer, got {self.order_seed!r}.")

    @classmethod
    def from_theory(
        cls,
        *,
        n_rows: int,
        n_features: int,
        delta: float,
        lipschitz: float,
        radius: float,
        epsilon: float | None = None,
        rho: float | None = None,
        constant: float = 1.0,
    ) -> DPCD:
        r"""Steps of a convex problem that balance noise and what is left to optimise.

        Their number is :math:`T = c\,\sqrt p\,n\epsilon R/(L\sqrt{\ln(1/\delta)})`.

        T uniform steps 1/M leave :math:`pR^2/T`, with :math:`R` the distance to the minimiser in
        the norm of the curvatures (`radius`). The noise of one entry,
        :math:`\sigma_j^2 \propto L_j^2T\ln(1/\delta)/(n\epsilon)^2`, adds
        :math:`\sum_j\sigma_j^2/M_j = L^2T\ln(1/\delta)/(n\epsilon)^2`, with
        :math:`L^2 = \sum_j L_j^2/M_j` of one row's loss (`lipschitz`). Both are equal at T, which
        gives the rate :math:`RL\sqrt{p\ln(1/\delta)}/(n\epsilon)`: polynomial in p, as [M23]_
        (section 2, private coordinate descent) says of [M22]_. The order is that of the bound; its
        constants are left to `constant` c. At most 20,000 steps, curvatures from bounds.
        """
        epsilon, _ = budget_of(epsilon, delta, rho)
        wanted = (
            constant * math.sqrt(n_features) * n_rows * epsilon * radius / (lipschitz * math.sqrt(math.log(1 / delta)))
        )
        return cls(
            steps=prescribed(wanted, "T", most=PAPERS.whole.cd_steps),
            step_size=1.0,
            curvature="bounds",
            order="uniform",
        )

    def solver(self, facts: Facts, budget: Budget) -> RandomCD:
        """The loop for these facts and this budget; the class docstring says what None in a parameter means."""
        if budget.delta == 0:
            raise BudgetError("dp_cd protects by Gaussian noise, which needs delta > 0; dp_gcd also takes delta = 0.")
        squares = column_squares(facts, budget, self.curvature)
        d, seen = facts.dimension, signal(facts, squares, budget, budget.as_mu())
        least = PAPERS.pair.cd_residual[not facts.target.classes]
        residual = residual_limit(facts, seen / (PAPERS.cd_records * math.sqrt(d)), least)
        residual = self.clip / facts.norm_bound if self.clip else residual
        reach = PAPERS.cd_reach * seen * facts.target.typical / residual
        return RandomCD(
            steps=self.steps or max(1, min(round(reach if reach < d else reach**2 / d), 10 * d, PAPERS.whole.cd_steps)),
            step_size=self.step_size,
            residual=residual,
            squares=squares,
            order=self.order,
            order_seed=self.order_seed,
        )
