"""DPSL-KT as printed: a method whose privacy theorem is false, kept to show that."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..facts import Facts
from ..privacy.budget import Budget
from ..solvers.transfer import Auxiliary, PublishedTransfer
from .base import centred, positive, whole
from .dp_ight import default_sparsity
from .public_rows import auxiliary_rows, check_auxiliary, theory

#: The name by which a user accepts that there is no proof.
ACCEPT = "kt-published"


@dataclass(frozen=True, kw_only=True)
class DPSLKTPublished:
    r"""DPSL-KT exactly as printed [WG20]_. **Its privacy theorem is false: no promise is kept.** Use ``dpsl_kt``.

    .. math:: \hat\theta = \text{IGHT}\bigl(\tfrac1n\textstyle\sum_i\ell_i + \tfrac\lambda2\|\cdot\|^2, s\bigr), \qquad
              \tilde y = \tilde X\hat\theta + N(0, \sigma^2 I), \qquad w = \text{IGHT}(\tilde X, \tilde y, s)

    .. math:: \sigma^2 = \frac{8 m \tilde\beta s \gamma^2 \ln(2.5/\delta)}{n^2\epsilon^2\lambda^2}

    It can be fitted only with ``accept=("kt-published",)``, and its statement says first that it is not private.

    Parameters
    ----------
    sparsity : int or None
        s; None: the estimator's.
    ridge : float or None
        :math:`\lambda`. None: Theorem 4.5 with constant 1. 0 is the form of Corollary 4.7, and needs `strong_convexity`.
    strong_convexity : float or None
        :math:`\mu` of Corollary 4.7: the smallest sparse eigenvalue of the *private* data, which the paper treats as known.
    gamma : float or None
        :math:`\gamma`, the largest entry of a gradient at the minimiser. None: :math:`\sqrt s K_\infty^2` (linear) or
        :math:`K_\infty` (logistic), the paper's bounds with constant 1. Nothing enforces it.
    auxiliary, auxiliary_rows, seed
        Public rows, as in ``dpsl_kt``; None: m = n rows from :math:`N(0, I)`.
    covariance : float
        :math:`\tilde\beta`: largest eigenvalue of the covariance of the public rows; 1 for :math:`N(0, I)`.
    teacher_steps, steps : int
        Steps of teacher and student.
    step_size : float or None
        Of the teacher. None: half of 1 over the curvature that its gradients show.

    Guarantee
    ---------
    **None.** Counter-example to Theorem 4.3: n odd, records :math:`(e_1, 1)` and :math:`(e_2, 1)`, s = 1, one more of the
    first. Replacing one record moves the teacher from coordinate 1 to coordinate 2, by :math:`\sqrt2/(1+2\lambda)`
    whatever n. With :math:`\lambda = 0.1`, delta 1e-5 and a claimed epsilon of 1 the true epsilon is about 5.5 at n = 101,
    120 at n = 1001 and 7700 at n = 10001 (a little more or less by the public rows).

    Deviations
    ----------
    None intended, but for an intercept column, which is not thresholded, and rows clipped to their declared bounds.

    References
    ----------
    .. [WG20] Wang and Gu, AAAI 2020, Algorithm 1, Theorem 4.3, Corollary 4.7.
    """

    name: ClassVar[str] = "dpsl_kt_published"
    private: ClassVar[bool] = True
    penalties: ClassVar[tuple[str, ...]] = ("l2",)
    needs: ClassVar[tuple[str, ...]] = (ACCEPT,)

    sparsity: int | None = None
    ridge: float | None = None
    strong_convexity: float | None = None
    gamma: float | None = None
    auxiliary: Any = field(default=None, compare=False)
    auxiliary_rows: int | None = None
    covariance: float = 1.0
    seed: int = 0
    teacher_steps: int = 200
    steps: int = 50
    step_size: float | None = None

    def __post_init__(self) -> None:
        for name in ("sparsity", "auxiliary_rows", "teacher_steps", "steps"):
            whole(getattr(self, name), name)
        for name in ("strong_convexity", "gamma", "covariance", "step_size"):
            positive(getattr(self, name), name)
        if self.ridge != 0:
            positive(self.ridge, "ridge")
        elif self.strong_convexity is None:
            raise ValueError("ridge=0 is the form of Corollary 4.7: it needs strong_convexity, the mu of its noise.")
        check_auxiliary(self.auxiliary)

    @classmethod
    def from_theory(
        cls,
        *,
        n_rows: int,
        n_features: int,
        epsilon: float,
        delta: float,
        true_sparsity: int,
        entry_bound: float,
        classification: bool = False,
        ridge_constant: float = 1.0,
        gamma_constant: float = 1.0,
        step_constant: float = 1.0,
        steps_constant: float = 1.0,
    ) -> DPSLKTPublished:
        r"""The choices of Theorem 4.5 and Lemma B.2 of [WG20]_.

        :math:`\lambda` and s as in ``DPSLKT.from_theory``, :math:`\bar\beta = 3s^*K_\infty^2 + \lambda`, step
        :math:`\eta_1 = 2C\lambda/\bar\beta^2`, and :math:`T_1 = 7C\kappa\ln(1/\lambda)` teacher steps (its linear rate is
        :math:`1 - 1/(7\kappa)`), m = n.
        """
        ridge, sparsity, gamma = theory(
            n_rows,
            n_features,
            epsilon,
            delta,
            true_sparsity,
            entry_bound,
            classification,
            ridge_constant,
            gamma_constant,
        )
        smooth = 3 * true_sparsity * entry_bound**2 + ridge
        return cls(
            ridge=ridge,
            sparsity=sparsity,
            gamma=gamma,
            step_size=2 * step_constant * ridge / smooth**2,
            teacher_steps=max(1, math.ceil(7 * steps_constant * smooth / ridge * max(math.log(1 / ridge), 1.0))),
        )

    def view(self, facts: Facts) -> Facts:
        """Midpoint shift and intercept column."""
        return centred(facts, facts.intercept > 0)

    def solver(self, facts: Facts, budget: Budget | None) -> PublishedTransfer:
        """The printed constants."""
        assert budget is not None
        s = min(self.sparsity or facts.sparsity or default_sparsity(facts, budget, peel=True), facts.cap)
        entry = facts.feature_bound
        gamma = self.gamma or (entry if facts.target.classes else math.sqrt(s) * entry**2)
        log_d = math.log(max(facts.n_features, 2))
        # sqrt(ln(1/delta)) / epsilon, or what it tends to for small rho
        strictness = 1 / (2 * math.sqrt(budget.as_rho()))
        excess = 1.0
        if budget.epsilon is not None and budget.delta:
            strictness = math.sqrt(math.log(1 / budget.delta)) / budget.epsilon
            excess = budget.as_mu() * math.sqrt(2 * math.log(2.5 / budget.delta)) / budget.epsilon
        ridge = self.ridge
        if ridge is None:
            ridge = facts.penalty.l2 or math.sqrt(gamma * math.sqrt(s * log_d) * strictness / facts.n_rows)
        m = self.auxiliary_rows or auxiliary_rows(facts.n_rows, facts.dimension)
        auxiliary = Auxiliary.of(self.auxiliary, facts, rows=m, bound=math.inf, seed=self.seed)
        claimed = 2 * math.sqrt(auxiliary.count * s * self.covariance) * gamma
        claimed /= facts.n_rows * (ridge or self.strong_convexity or 1.0)
        return PublishedTransfer(
            sparsity=s,
            teacher_steps=self.teacher_steps,
            step_size=self.step_size,
            ridge=ridge,
            claimed=claimed * excess,  # the price divides by the exact mu; the paper's Gaussian noise is larger by this
            auxiliary=auxiliary,
            steps=self.steps,
        )

    def assumptions(self, facts: Facts) -> tuple[str, ...]:
        """What the theorem would rest on, were it true."""
        found: tuple[str, ...] = ("every gradient at the teacher has entries within gamma: nothing enforces it",)
        if self.auxiliary is not None:
            found += (
                f"the auxiliary matrix of shape {tuple(self.auxiliary.shape)} is public and holds no private row",
            )
        return found

    def caveats(self, facts: Facts) -> tuple[str, ...]:
        """That there is no promise."""
        theorem = "Theorem 4.3" if self.ridge != 0 else "Corollary 4.7, which has lambda = 0,"
        private_curvature = (
            "" if self.ridge != 0 else "; it also takes the curvature of the private data for a public number"
        )
        return (
            f"NOT PRIVATE: the theorem behind this recipe (Wang and Gu, AAAI 2020) is false: {theorem} takes the sparse "
            "vectors for a convex set. Counter-example: with records e_1 and e_2 in a tie, replacing one record exchanges the "
            "teacher's support, for any number of rows; at 1001 rows a claimed epsilon of 1 is really 120"
            f"{private_curvature}. Use recipe='dpsl_kt' instead",
        )
