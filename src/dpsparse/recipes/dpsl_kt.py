"""DPSL-KT: knowledge transfer from a private teacher, made rigorous."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..algorithms.constants import PAPERS
from ..algorithms.transfer import Auxiliary, KnowledgeTransfer
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
from .defaults.theory import budget_of, prescribed


@dataclass(frozen=True, kw_only=True)
class DPSLKT(PrivateRecipe):
    r"""Private sparse learning by knowledge transfer [WG20]_, with a teacher that is stable (KT-R).

    .. math:: S = \text{s features chosen privately}, \qquad
              \theta = \arg\min_{\mathbb R^S}
              \tfrac1n\textstyle\sum_i \Psi_i(\langle x_{iS},\theta\rangle)
              + \tfrac\lambda2\|\theta\|^2,
              \qquad \tilde y = \tilde X_S\theta + \text{noise}, \qquad w = \text{IHT}(\tilde X, \tilde y)

    A teacher learns from private rows; public rows :math:`\tilde X` carry what it knows to a
    student that never sees a private one. Labels are margins: after a logistic teacher the student
    fits log-odds by least squares, and its coefficients are log-odds.

    Parameters
    ----------
    release : {"theta", "labels"}
        What gets noise: the teacher itself, or its labels of the public rows. Noise on the teacher
        is never worse (it can imitate the other exactly), and the student of a released teacher is
        that teacher; ``labels`` is for fidelity.
    auxiliary : matrix of shape (m, n_features), "normal", "uniform", function or None
        Public rows, in the units of the private ones, for ``release="labels"``; refused with
        ``theta``, which would not look at them. A word: rows with entries from N(0, 1) or U(-1, 1)
        on the chosen columns, clipped to the row bound, from a public `seed`. A function: of a
        generator, a number of rows and a number of columns, which draws them; entries are clipped
        to `auxiliary_bound`. None: ``normal``.
    auxiliary_bound : float or None
        Bound on the entries of rows that are drawn, declared by the user who gives the function.
    auxiliary_rows : int or None
        m. None: as many as private rows.
    candidates : int or None
        Columns on which the teacher learns and among which the student keeps s. None: s with
        ``theta``; :math:`\lceil 1.5 s\rceil` with ``labels``, so that the threshold of the student
        decides something.
    seed : int
        Public seed of the rows that are drawn.
    steps : int
        Steps of the student, each 1 over the largest eigenvalue of the public rows' own covariance:
        the :math:`C/\tilde\beta` of the paper with :math:`\tilde\beta` computed from the matrix.
    mechanism : {"auto", "dense", "peel"}
        How the support is chosen, as in ``two_stage``.
    selection : float
        Part of the budget that pays for the support.
    sparsity : int or None
        s; None: the estimator's, or the recipe's own choice.
    residual : float or None
        R: slopes beyond are clipped. None: a sixth of the target bound, or 1/2 for classes; up to
        twice that for budgets of mu above 2, where bias matters more than noise.
    clip : float or None
        G: bound on the norm of one row's gradient on the support. None: R times a typical norm
        there (0.7 of the box, or a quarter of the row norm), up to twice that for such budgets.
    row_clip : float or None
        K: rows are scaled down to this norm on the support. None: the largest norm there.
    ridge : float or None
        :math:`\lambda`, in the units of the estimator's `alpha`, to which it is added. None: none
        if alpha > 0, otherwise :math:`n\lambda = \tfrac12 K\sqrt{2\beta_0\,n\,G K/(T\mu s)}`: where
        shrinkage and noise are about equal, for features of equal size and margins of size T.
        (Noise of a tenth of R/K, whatever the shrinkage, would shrink by 80 % at n = 1000, s = 10,
        epsilon = 2.)

    Guarantee
    ---------
    The teacher's l2 sensitivity is, under either adjacency, :math:`2 G/(n\lambda) + 2\tau/\lambda`,
    by strong convexity on a support that is already public
    (``dpsparse.queries.minimisers.teacher``); labels multiply it by :math:`\|\tilde X_S\|_2`.
    Selection and one Gaussian release compose. Holds for any data. Convex losses only (squared,
    Huber, logistic, Poisson).

    Deviations
    ----------
    Theorem 4.3 of [WG20]_ is false: its teacher minimises over all s-sparse vectors, and one record
    can exchange the support, which moves the teacher by :math:`\sqrt2/(1+2\lambda)` for any n
    (claimed epsilon 1, true 120 at n = 1001; see docs/papers.md). Its proof also loses a factor 2
    in (B.3) and hides :math:`|y|` and :math:`\|\theta\|` in a constant. Here the support is chosen
    privately first, slopes are clipped, the minimiser is exact, and noise fits. For the same
    :math:`\lambda` and :math:`\gamma = RK_\infty` the noise on labels is about the printed one (the
    factor lost there is about what its bound on :math:`\|\tilde X\|` gives away, and the exact
    curve saves another quarter): what costs is the selection, half of the budget, and a
    :math:`\lambda` that must be large.

    References
    ----------
    .. [WG20] Wang and Gu, AAAI 2020: a knowledge transfer framework for differentially private sparse learning.
    """

    name: ClassVar[str] = "dpsl_kt"
    penalties: ClassVar[tuple[str, ...]] = ("l2",)

    release: str = "theta"
    auxiliary: Any = field(default=None, compare=False)
    auxiliary_bound: float | None = None
    auxiliary_rows: int | None = None
    candidates: int | None = None
    seed: int = 0
    steps: int = PAPERS.whole.student_steps
    mechanism: str = "auto"
    selection: float = 0.5
    sparsity: int | None = None
    residual: float | None = None
    clip: float | None = None
    row_clip: float | None = None
    ridge: float | None = None

    def __post_init__(self) -> None:
        if self.release not in ("theta", "labels"):
            raise ValueError(f"release must be 'theta' or 'labels', got {self.release!r}.")
        check_mechanism(self.mechanism)
        check_part(self.selection, "selection")
        for name in ("auxiliary_rows", "steps", "sparsity", "candidates"):
            check_whole(getattr(self, name), name)
        for name in ("residual", "clip", "row_clip", "ridge", "auxiliary_bound"):
            check_positive(getattr(self, name), name)
        check_auxiliary(self.auxiliary, self.release, self.auxiliary_rows)
        if callable(self.auxiliary) and self.auxiliary_bound is None:
            raise ValueError(
                "a function that draws auxiliary rows needs auxiliary_bound, a public bound on their entries."
            )

    @classmethod
    def from_theory(
        cls,
        *,
        n_rows: int,
        n_features: int,
        delta: float,
        true_sparsity: int,
        entry_bound: float,
        epsilon: float | None = None,
        rho: float | None = None,
        auxiliary: Any = None,
        classification: bool = False,
        ridge_constant: float = 1.0,
        gamma_constant: float = 1.0,
    ) -> DPSLKT:
        r"""The choices of Theorem 4.5 and Lemma B.2 of [WG20]_ for the regulariser and the sparsity.

        :math:`\lambda^2 = C\gamma\sqrt{s^*\ln d\ln(1/\delta)}/(n\epsilon)` with
        :math:`\gamma = C'\sqrt{s^*}K_\infty^2` (linear) or :math:`K_\infty` (logistic), and
        :math:`s = (4\kappa^2+1)s^*`, :math:`\kappa = (3s^*K_\infty^2 + \lambda)/\lambda`, at most
        d. (The paper has s on both sides of that condition; here it stands at :math:`s^*`, its
        smallest value.) The private steps are ours. With `auxiliary` rows labels are released. The
        condition on s nearly always exceeds d: a warning says so.
        """
        epsilon, _ = budget_of(epsilon, delta, rho)
        ridge, sparsity, _ = theory(
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
        release = "theta" if auxiliary is None else "labels"
        return cls(
            ridge=ridge,
            sparsity=prescribed(sparsity, "s", most=n_features),
            auxiliary=auxiliary,
            release=release,
        )

    def solver(self, facts: Facts, budget: Budget) -> KnowledgeTransfer:
        """Teacher and student for these facts and budget; the class docstring says what None in a parameter means."""
        require_convex(facts, self.name)
        s = min(self.sparsity or facts.sparsity or default_sparsity(facts, budget, peel=True), facts.cap)
        many = min(
            max(self.candidates or (s if self.release == "theta" else math.ceil(PAPERS.candidates * s)), s),
            facts.n_features,
        )
        mu = math.sqrt(2 * (1 - self.selection) * budget.as_rho())
        generous = min(max(1.0, mu / 2), 2.0)
        K = self.row_clip or support_norm(facts, many)
        R = self.residual or slope_limit(facts, 0.5 * generous)
        G = self.clip or R * min(K, generous * typical_norm(facts, many))
        ridge = facts.n_rows * (facts.penalty.l2 + (self.ridge or 0.0))
        if ridge == 0:
            noise = RECORDS * facts.curvature * facts.n_rows * G * K / (facts.target.typical * mu * many)
            ridge = 0.5 * K * math.sqrt(noise)
        refuse_condition(facts.n_rows * facts.curvature * K**2 / ridge)
        m = self.auxiliary_rows or auxiliary_rows(facts.n_rows, many + facts.free)
        return KnowledgeTransfer(
            screening=screening(facts, many, self.mechanism, None, self.selection),
            sparsity=s,
            clip=Clip(G, slope=R),
            row_norm=K,
            ridge=ridge,
            auxiliary=Auxiliary.of(
                self.auxiliary, facts, rows=m, bound=facts.row_bound, seed=self.seed, entry=self.auxiliary_bound
            ),
            release=self.release,
            steps=self.steps,
        )

    def assumptions(self, facts: Facts) -> tuple[str, ...]:
        """That a matrix which was declared public is public."""
        if len(getattr(self.auxiliary, "shape", ())) == 2:
            return (f"the auxiliary matrix of shape {tuple(self.auxiliary.shape)} is public and holds no private row",)
        if callable(self.auxiliary):
            return ("the function that draws auxiliary rows is public and knows no private row",)
        return ()


#: Public rows are at most this many entries.
LARGEST_DESIGN = 2**24


def check_auxiliary(given: Any, release: str, rows: int | None) -> None:
    """Refuse what stands for no rows, and rows that nobody would use.

    The words that stand for a matrix in a model file are let through, for predictions.
    """
    matrix = len(getattr(given, "shape", ())) == 2
    if given is not None and not isinstance(given, str) and not callable(given) and not matrix:
        raise TypeError(
            "auxiliary must be a public matrix of shape (m, n_features), 'normal', 'uniform', a "
            "function of a generator and a shape, "
            "or None for rows that are drawn."
        )
    if release == "theta" and (given is not None or rows is not None):
        raise ValueError(
            "auxiliary rows are used with release='labels' only: with release='theta' the teacher "
            "itself is released, and no public "
            "row is looked at. Give release='labels', or leave the rows out."
        )


def auxiliary_rows(n_rows: int, columns: int) -> int:
    """As many as private rows, within memory."""
    return max(1, min(n_rows, LARGEST_DESIGN // max(columns, 1)))


def theory(
    n_rows: int,
    n_features: int,
    epsilon: float,
    delta: float,
    true_sparsity: int,
    entry_bound: float,
    classification: bool,
    ridge_constant: float,
    gamma_constant: float,
) -> tuple[float, float, float]:
    r"""The values :math:`\lambda`, s and :math:`\gamma` of Wang and Gu, AAAI 2020.

    They come from Theorem 4.5, Lemma B.2, and Corollaries 4.9 and 4.13.
    """
    steepness = entry_bound if classification else math.sqrt(true_sparsity) * entry_bound**2
    gamma = gamma_constant * steepness
    spread = math.sqrt(true_sparsity * math.log(max(n_features, 2)) * math.log(1 / delta))
    ridge = math.sqrt(ridge_constant * gamma * spread / (n_rows * epsilon))
    kappa = (3 * true_sparsity * entry_bound**2 + ridge) / ridge
    return ridge, (4 * kappa**2 + 1) * true_sparsity, gamma
