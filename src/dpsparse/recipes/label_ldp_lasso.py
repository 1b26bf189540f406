"""The lasso on labels that people randomise themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ..algorithms.label import OnLabels
from ..algorithms.proximal import AcceleratedProximal
from ..core.budget import Budget
from ..core.facts import Facts, Penalty
from .base import PrivateRecipe, check_positive, check_whole
from .defaults.reports import LABELS, check_mechanism, label_threshold, report_epsilon


@dataclass(frozen=True, kw_only=True)
class LabelLDPLasso(PrivateRecipe):
    r"""The lasso on randomised labels [WX19]_: non-interactive; **features are treated as public**.

    .. math:: \min_w \tfrac1{2n}\textstyle\sum_i (\tilde y_i - \langle x_i, w\rangle)^2 + \lambda\|w\|_1, \qquad
              \lambda = c\,\sqrt{\frac{\ln p}{n\epsilon^2}}

    Labels as in ``label_ldp_iht``; other losses that it takes work here as well.

    Parameters
    ----------
    steps : int
        Gradients of the accelerated proximal loop; they cost no privacy.
    constant : float or None
        c. None: :math:`c = \tfrac12\sigma\epsilon\sqrt2\,K_2/\sqrt p` with :math:`\sigma` the
        largest deviation of a randomised label, so that
        :math:`\lambda = \tfrac12\sigma (K_2/\sqrt p)\sqrt{2\ln(p)/n}`, half of what the noise of
        labels alone reaches. Ignored where the estimator has a penalty of its own
        (``penalty="l1", alpha=...``).
    mechanism : {"auto", "two-point", "piecewise", "gaussian"}
        As in ``label_ldp_iht``.

    Guarantee
    ---------
    That of ``label_ldp_iht``: each label is epsilon-LDP; features get **no protection**; the lasso
    is computed from what was released.

    Deviations
    ----------
    [WX19]_ gives the order of :math:`\lambda` only, and Gaussian noise of a sensitivity that is too
    small (see ``label_ldp_iht``). A `sparsity` that is asked for keeps the largest coefficients,
    once, at the end.

    References
    ----------
    .. [WX19] Wang and Xu, ICML 2019, section 5, after Theorem 5.
    """

    name: ClassVar[str] = "label_ldp_lasso"
    local: ClassVar[bool] = True
    penalties: ClassVar[tuple[str, ...]] = ("l1", "elasticnet")

    steps: int = 200
    constant: float | None = None
    mechanism: str = "auto"

    def __post_init__(self) -> None:
        check_whole(self.steps, "steps")
        check_positive(self.constant, "constant")
        check_mechanism(self.mechanism, LABELS)

    def solver(self, facts: Facts, budget: Budget) -> OnLabels:
        """One ask, and an accelerated proximal loop on what it gives."""
        noise, randomiser = LABELS[self.mechanism]
        penalty = facts.penalty
        if not penalty.active:
            penalty = Penalty(kind="l1", alpha=self._strength(facts, budget))
        loop = AcceleratedProximal(steps=self.steps, sparsity=facts.cap, penalty=penalty)
        return OnLabels(loop=loop, noise=noise, randomiser=randomiser)

    def _strength(self, facts: Facts, budget: Budget) -> float:
        if self.constant is None:
            return 0.5 * label_threshold(facts, budget, self.mechanism)
        root = math.sqrt(math.log(max(facts.n_features, 2)) / facts.n_rows)
        return self.constant * root / report_epsilon(budget)
