"""LDP-IHT: iterative hard thresholding for people who trust no server."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..algorithms import IHT
from ..algorithms.steps import FixedSteps, PacedSteps
from ..core.budget import Budget
from ..core.facts import Clip, Facts
from .base import PrivateRecipe, check_positive, check_whole
from .defaults.reports import VECTORS, check_mechanism, report_epsilon, report_error, vectors
from .defaults.schedules import kept_norm, path_within
from .defaults.theory import prescribed

#: Turns of the default pace for each round of Theorem 4.
ROUNDS = 3


@dataclass(frozen=True, kw_only=True)
class LDPIHT(PrivateRecipe):
    r"""Iterative hard thresholding in the local model (LDP-IHT [WX19]_), sequentially interactive.

    .. math:: w_t = \Pi\,H_s\Bigl(w_{t-1} - \eta\,\tfrac1{|S_t|}
              \textstyle\sum_{i\in S_t} R_\epsilon\bigl(\mathrm{clip}_r\,g_i(w_{t-1})\bigr)\Bigr)

    People are dealt into T groups without a look at their records. The people of group t see
    :math:`w_{t-1}`, clip their own gradient to the public radius r and send it through a randomiser
    :math:`R_\epsilon`; each speaks once. Any loss works. The estimator simulates the protocol on
    one machine; ``dpsparse.local`` has devices and a server.

    Parameters
    ----------
    steps : int or None
        T, rounds of people. None: three times :math:`\ln(n\epsilon^2/(p\ln p))`, rounded, within
        1..10 (the T of Theorem 4 of [WX19]_): several rounds answer for one long step, and fewer
        where columns are correlated (`algorithms.steps.PacedSteps`).
    step_size : float or None
        First step; steps fall linearly to zero, which averages the noise of the last rounds. None:
        at most :math:`3p/(\beta_0K_2^2)`, three times the Newton step for features that fill their
        bounds and are uncorrelated (twice for classes): the clip holds it. Steps are shorter where
        answers prove more curvature, and the path ends where its noise is three quarters of a
        typical margin.
    decay : bool
        False keeps steps equal, as [WX19]_ does; for the default pace, the longest step.
    clip : float or None
        r. None: :math:`R K_2` with R a quarter of a typical target (target_bound/12) for regression
        and 1/4 for classes: noise grows with r, and a gradient that is cut still points the right
        way.
    sparsity : int or None
        s, never more than the estimator allows. None: the estimator's, or the number of features
        whose share of a typical target stands twice above the noise of one round, at least 1.
    radius : float or None
        Project onto the l2 ball of this radius after each step. None: no projection; [WX19]_ has 1.
    mechanism : {"privunit", "duchi", "gaussian"}
        Randomiser: PrivUnit, which has the least error; the hemisphere of Duchi et al. that [WX19]_
        uses; or the analytic Gaussian mechanism, for (epsilon, delta).
    seed : int
        Public seed of the groups.

    Guarantee
    ---------
    Each report is epsilon-LDP for the whole record (``gaussian``: :math:`(\epsilon,\delta)`), for
    any two records, since gradients are clipped on the device. Everybody gives one report, and
    groups do not depend on records, so that is the whole cost: the guarantee holds against the server
    too. Neighbours exchange one person's record; that a person takes part is not hidden.

    Deviations
    ----------
    Algorithm 1 of [WX19]_ thresholds :math:`\tilde\theta_{t-1}` where :math:`\tilde\theta_t` is
    meant, and never says the radius r to which gradients must be held before its randomiser
    applies: without a clip there is no privacy. PrivUnit replaces the randomiser of Duchi et al.:
    1.16 times less mean squared error at epsilon = 1 and p = 54, 3.9 times less at epsilon = 4.
    Unit-ball projection is an option, since coefficients of users need not lie in the unit ball. At
    large epsilon reports stay random, because a vector shorter than r is reported by a sign of
    random direction: the mean of n reports errs by :math:`\sqrt{(r^2-\|v\|^2)/n}` even without
    privacy.

    References
    ----------
    .. [WX19] Wang and Xu, ICML 2019, Algorithm 1 and Theorem 4.
    """

    name: ClassVar[str] = "ldp_iht"
    local: ClassVar[bool] = True
    penalties: ClassVar[tuple[str, ...]] = ("l2",)

    steps: int | None = None
    step_size: float | None = None
    decay: bool = True
    clip: float | None = None
    sparsity: int | None = None
    radius: float | None = None
    mechanism: str = "privunit"
    seed: int = 0

    def __post_init__(self) -> None:
        check_whole(self.steps, "steps")
        check_whole(self.sparsity, "sparsity")
        check_positive(self.step_size, "step_size")
        check_positive(self.clip, "clip")
        check_positive(self.radius, "radius")
        check_mechanism(self.mechanism, VECTORS)

    @classmethod
    def from_theory(
        cls,
        *,
        n_rows: int,
        n_features: int,
        epsilon: float,
        true_sparsity: int,
        clip: float | None = None,
        step_size: float = 1.0,
        radius: float = 1.0,
        steps_constant: float = 1.0,
    ) -> LDPIHT:
        r"""The choices of Theorem 4 of [WX19]_ for features of size 1.

        :math:`s = 8s^*`, a constant step, :math:`T = C\ln(n\epsilon^2/(p\ln p))` rounded up,
        projection onto the ball of `radius` (the paper's unit ball shuts out a truth that is
        longer: its own experiments draw one from :math:`[0,1]^s`). The theorem does not say r: give
        a `clip`, or leave it to the recipe.
        """
        return cls(
            steps=theory_steps(n_rows, n_features, epsilon, steps_constant),
            step_size=step_size,
            decay=False,
            clip=clip,
            sparsity=prescribed(8 * true_sparsity, "s", most=n_features),
            radius=radius,
        )

    def solver(self, facts: Facts, budget: Budget) -> IHT:
        """The loop for these facts and this budget; the class docstring says what None in a parameter means."""
        paced = self.step_size is None
        theory_rounds = min(10, theory_steps(facts.n_rows, facts.dimension, report_epsilon(budget), up=False))
        steps = self.steps or min(ROUNDS * theory_rounds if paced else theory_rounds, facts.n_rows)
        if steps > facts.n_rows:
            raise ValueError(
                f"{steps} steps need at least as many people, since each speaks once; there are {facts.n_rows}."
            )
        clip = self.clip or self._residual(facts) * facts.norm_bound
        s = min(self.sparsity or facts.sparsity or self.clear_features(facts, budget, clip, min(steps, 10)), facts.cap)
        newton_multiple = 2 if facts.target.classes else 3
        longest_step = newton_multiple * facts.n_features / (facts.curvature * facts.norm_bound**2)
        noise, rows = vectors(self.mechanism, self.seed)
        decay = 1 - np.arange(steps) / steps if self.decay and not paced else np.ones(steps)
        sizes = decay * (self.step_size or self.path(facts, budget, clip, s) / steps)
        return IHT(
            sparsity=s,
            step_sizes=tuple(float(v) for v in sizes),
            clip=Clip(clip),
            step_rule=PacedSteps(longest_step, falls=self.decay) if paced else FixedSteps(),
            ridge=facts.penalty.l2,
            radius=self.radius,
            rows=rows,
            noise=noise,
        )

    def path(self, facts: Facts, budget: Budget, clip: float, kept: int) -> float:
        """Length of the path along noisy means.

        Each of the n reports adds its error once, whatever the number of rounds.
        """
        error = clip * report_error(facts, budget, self.mechanism) / math.sqrt(facts.n_rows)
        return path_within(facts, error * kept_norm(facts, kept), doubt=4.0)

    @staticmethod
    def _residual(facts: Facts) -> float:
        """Residuals beyond are cut."""
        return min(facts.target.typical / 4, facts.slope_bound)

    def clear_features(self, facts: Facts, budget: Budget, clip: float, steps: int) -> int:
        """Features whose share of a typical target stands above the noise."""
        noise = clip * report_error(facts, budget, self.mechanism) * math.sqrt(steps / facts.n_rows)
        entry = facts.norm_bound / math.sqrt(facts.dimension)
        return max(1, min(int((self._residual(facts) * entry / (2 * noise)) ** 2), facts.n_features))


def theory_steps(n_rows: int, n_features: int, epsilon: float, constant: float = 1.0, *, up: bool = True) -> int:
    """T of Theorem 4, at least 1."""
    p = max(n_features, 2)
    steps = constant * math.log(n_rows * epsilon**2 / (p * math.log(p)))
    return prescribed(steps, "T") if up else max(1, round(steps))
