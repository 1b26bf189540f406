"""DP-SGD: private stochastic gradient descent, smooth or proximal."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ..algorithms.constants import PAPERS
from ..algorithms.sgd import SGD
from ..core.budget import Budget
from ..core.facts import Facts
from .base import PrivateRecipe, check_positive, check_whole
from .defaults.schedules import DefaultSchedule, batches, check_schedule, default_rate
from .defaults.theory import budget_of, prescribed


@dataclass(frozen=True, kw_only=True)
class DPSGD(PrivateRecipe):
    r"""Private stochastic gradient descent, with proximal steps for penalties (DP-SGD of [MBST23]_).

    .. math:: w_{t+1} = \mathrm{prox}_{\eta\psi}\Bigl(w_t - \eta\bigl(\tfrac{1}{qn}\textstyle\sum_{i \in B_t}
              \mathrm{clip}_C\,g_i(w_t) + \text{noise}\bigr)\Bigr), \qquad P(i \in B_t) = q

    The result is as dense as the penalty leaves it; where a `sparsity` is asked for, its largest
    coefficients are kept, once: after 60 % of the turns, when the other steps move only those
    (dense rows, whose columns share what they know), or at the end.

    Parameters
    ----------
    steps : int or None
        Turns T: gradients that are asked for. More cost no privacy at the same path, only time.
        None: as many as read :math:`10^9` entries, within 30..200, and at most
        :math:`(n\mu/4\kappa)^2`; up to five times as many where noise is harmless
        (`recipes.defaults.schedules`).
    step_size : float or None
        Constant step, one for each turn. None: the path ends where the noise that it gathers
        reaches 1.1 typical margins in the margin of a row; steps are at first
        :math:`1.2\,d/(\beta_0 K_2^2)`, on texts at most :math:`20/(\beta_0 K_2^2)`, and then as
        long as the released answers allow (`algorithms.steps.PacedSteps`): a long step takes the
        mean of several turns.
    clip : float or None
        l2 clip C of one row's gradient. None: :math:`R K_2` with R = 0.3 for classes and a fifth of
        a typical residual (target_bound/15) for regression, more where the budget is so large that
        noise is harmless, and doubled on the way where released answers show that it is harmless
        (`PacedSteps`): noise follows the clip, so the price stays.
    batch_size : float, tuple of float, or None
        Expected rows :math:`qn` of a batch, or one number for each step: a public schedule. 1 is
        the batch of one of the paper: most batches are empty. From n on every row answers. None:
        :math:`q = 2\mu/(\kappa\sqrt T)`, at most a half, where sampling costs little noise; every
        row where the budget is so large that sampling would be the larger error.

    Guarantee
    ---------
    Poisson sampling, and Gaussian noise of :math:`z C` on the sum. One record changes a step no
    more than the pair :math:`(1-q)N(0,z^2) + qN(1,z^2)` against :math:`(1-q)N(0,z^2) + qN(-1,z^2)`
    (replace-one) or :math:`N(0,z^2)` (add-remove), whatever the data, and T such pairs are composed
    by their privacy loss distributions (``accounting/pairs.py``, ``accounting/pld.py``). Empty
    batches release noise only, and sums are divided by the public :math:`qn`.

    Deviations
    ----------
    [MBST23]_ prints neither sampler nor noise of its DP-SGD; batches of one drawn in order have no
    amplification that adaptive composition could use, so we sample by independent coins. Clips were
    tuned there on the private data, without paying for it.

    References
    ----------
    .. [MBST23] Mangold, Bellet, Salmon and Tommasi, AISTATS 2023, section 6 and Table 2.
    .. [BST14] Bassily, Smith and Thakurta, FOCS 2014, Algorithm 1 and Theorem 2.4.
    .. [ACGMMTZ16] Abadi et al., CCS 2016, Algorithm 1.
    """

    name: ClassVar[str] = "dp_sgd"
    penalties: ClassVar[tuple[str, ...]] = ("l2", "l1", "elasticnet", "box")

    steps: int | None = None
    step_size: float | None = None
    clip: float | None = None
    batch_size: float | tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        check_whole(self.steps, "steps")
        check_positive(self.step_size, "step_size")
        check_positive(self.clip, "clip")
        check_schedule(self.batch_size, self.steps)

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
        batch_size: float | None = None,
        constant: float = 1.0,
    ) -> DPSGD:
        r"""Steps and step size of a convex problem, where noise and what is left to optimise are balanced.

        The mean of T steps of :math:`\eta = R/\sqrt{T(L^2 + d\sigma^2)}` is within
        :math:`R\sqrt{(L^2 + d\sigma^2)/T}` of the least loss, for gradients of norm L with noise of
        :math:`\sigma^2 \propto L^2T\ln(1/\delta)/(n\epsilon)^2` in each of d coordinates, and a
        minimiser within `radius` R. More than :math:`T_0 = (n\epsilon)^2/(d\ln(1/\delta))` steps,
        where both terms are equal, do not help: this is the rate
        :math:`RL\sqrt{d\ln(1/\delta)}/(n\epsilon)` of [BST14]_, who take :math:`n^2` steps on one
        row each. Here :math:`T = cT_0`, rounded up and at most 1000, and
        :math:`\eta = R/(L\sqrt{T(1 + T/T_0)})`; `lipschitz` L becomes the clip. [MBST23]_ has no
        such rule: it tunes both. The order is that of the bound; its constants are left to
        `constant` c, and the last iterate is returned.
        """
        epsilon, _ = budget_of(epsilon, delta, rho)
        balanced = (n_rows * epsilon) ** 2 / (n_features * math.log(1 / delta))
        steps = prescribed(constant * balanced, "T", most=1000)
        step_size = radius / (lipschitz * math.sqrt(steps * (1 + steps / balanced)))
        return cls(steps=steps, step_size=step_size, clip=lipschitz, batch_size=batch_size)

    def solver(self, facts: Facts, budget: Budget) -> SGD:
        """The loop with the rule of the docstring."""
        walk = DefaultSchedule.of(facts, budget, facts.cap, self.steps, self.clip, self.step_size, steady=True)
        return SGD(
            step_sizes=(walk.piece,) * walk.turns,
            clip=walk.clip,
            rows=batches(self.batch_size, facts, default_rate(budget, walk.turns)),
            sparsity=facts.cap,
            thresholds=False,
            settled=1.0 if facts.documents else PAPERS.sgd_settled,
            penalty=facts.penalty,
            step_rule=walk.step_rule,
        )
