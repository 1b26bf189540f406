"""DP-SVRG-HT: private stochastic variance-reduced gradients with hard thresholding."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ..algorithms.scsg import SCSG
from ..core.budget import Budget
from ..core.facts import Facts
from .defaults.epochs import PrivateEpochs
from .defaults.theory import budget_of, prescribed


@dataclass(frozen=True, kw_only=True)
class DPSVRGHT(PrivateEpochs):
    r"""Private stochastic variance-reduced gradients with hard thresholding (DP-SVRG-HT [L22]_).

    `DPSCSGHT` with snapshots on every row, B = n:

    .. math:: w \leftarrow H_s\Bigl(w - \eta\bigl(\tilde\mu + \tfrac{1}{b}\textstyle\sum_{i\in B_t}
              \mathrm{clip}_{C_\Delta}(g_i(w) - g_i(\tilde w)) + \text{noise}\bigr)\Bigr)

    Parameters
    ----------
    epochs : int or None
        Snapshots J, as in `DPSCSGHT`.
    step_size, clip : float or None
        As in `DPSGD`, for :math:`Jn/b` steps.
    inner_batch_size : float or None
        Expected rows b of an inner step. None: n/4, so four inner steps.
    option, length_seed, change_clip, snapshot_share, sparsity
        As in `DPSCSGHT`, with B = n.

    Guarantee
    ---------
    J Gaussian answers of every row with record norm C, and Gaussian answers at rate b/n with the
    public record norm :math:`C_\Delta`, composed in one privacy loss distribution under one
    convention, noise over the norm of one record. (Mixed with noise over sensitivity, four
    snapshots and forty inner steps would be stated as 7.7 where 3.6 is right.)

    Deviations
    ----------
    As in `DPSCSGHT`; [L22]_ gives this algorithm as the case B = n and no calibration of its own.

    References
    ----------
    .. [L22] Liang, Tong, Ding, Pan and Bi, Stochastic privacy-preserving methods for nonconvex
       sparse learning, Algorithm 2 with B = n, and Table 1.
    """

    name: ClassVar[str] = "dp_svrg_ht"
    penalties: ClassVar[tuple[str, ...]] = ("l2",)

    @classmethod
    def from_theory(
        cls,
        *,
        smoothness: float,
        strong_convexity: float,
        sparsity: int,
        n_rows: int,
        delta: float,
        lipschitz: float,
        epsilon: float | None = None,
        rho: float | None = None,
        option: str = "II",
        constant: float = 1.0,
    ) -> DPSVRGHT:
        r"""The choices of Theorems 5.3 and 5.5 of [L22]_ at B = n.

        :math:`\eta = 1/(32 L_s\kappa_s)`, :math:`J = c\,\log(n^2\epsilon^2/\log(1/\delta))`,
        :math:`n/b = c\sqrt k`; l becomes the clip. Parameters as in `DPSCSGHT.from_theory`.
        """
        epsilon, _ = budget_of(epsilon, delta, rho)
        return cls(
            epochs=prescribed(constant * math.log((n_rows * epsilon) ** 2 / math.log(1 / delta)), "J"),
            step_size=strong_convexity / (32 * smoothness**2),
            clip=lipschitz,
            inner_batch_size=n_rows / max(1.0, constant * math.sqrt(sparsity)),
            option=option,
            sparsity=sparsity,
        )

    def solver(self, facts: Facts, budget: Budget) -> SCSG:
        """The loop with snapshots on every row."""
        return self.loop(facts, budget, facts.n_rows)
