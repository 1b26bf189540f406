"""DP-SVRG-HT: private stochastic variance-reduced gradients with hard thresholding."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import ClassVar

from ..facts import Facts
from ..privacy.budget import Budget
from ..solvers.scsg import SCSG
from .base import centred
from .controlled import check_controlled, controlled


@dataclass(frozen=True, kw_only=True)
class DPSVRGHT:
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
    J Gaussian answers of every row with record norm C, and Gaussian answers at rate b/n with the public record norm
    :math:`C_\Delta`, composed in one privacy loss distribution under one convention, noise over the norm of one record. (Mixed with
    noise over sensitivity, four snapshots and forty inner steps would be stated as 7.7 where 3.6 is right.)

    Deviations
    ----------
    As in `DPSCSGHT`; [L22]_ gives this algorithm as the case B = n and no calibration of its own.

    References
    ----------
    .. [L22] Liang, Tong, Ding, Pan and Bi, Stochastic privacy-preserving methods for nonconvex sparse learning, Algorithm 2
       with B = n, and Table 1.
    """

    name: ClassVar[str] = "dp_svrg_ht"
    private: ClassVar[bool] = True
    penalties: ClassVar[tuple[str, ...]] = ("l2",)
    needs: ClassVar[tuple[str, ...]] = ()

    epochs: int | None = None
    step_size: float | None = None
    clip: float | None = None
    inner_batch_size: float | None = None
    option: str = "II"
    length_seed: int | None = None
    change_clip: float | None = None
    snapshot_share: float = 0.3
    sparsity: int | None = None

    def __post_init__(self) -> None:
        check_controlled(batch_size=None, **asdict(self))

    @classmethod
    def from_theory(
        cls,
        *,
        smoothness: float,
        strong_convexity: float,
        sparsity: int,
        n_rows: int,
        epsilon: float,
        delta: float,
        lipschitz: float,
        option: str = "II",
        constant: float = 1.0,
    ) -> DPSVRGHT:
        r"""The choices of Theorems 5.3 and 5.5 of [L22]_ at B = n.

        :math:`\eta = 1/(32 L_s\kappa_s)`, :math:`J = c\,\log(n^2\epsilon^2/\log(1/\delta))`, :math:`n/b = c\sqrt k`; l becomes the clip.
        Parameters as in `DPSCSGHT.from_theory`.
        """
        return cls(
            epochs=max(1, math.ceil(constant * math.log(n_rows**2 * epsilon**2 / math.log(1 / delta)))),
            step_size=strong_convexity / (32 * smoothness**2),
            clip=lipschitz,
            inner_batch_size=n_rows / max(1.0, constant * math.sqrt(sparsity)),
            option=option,
            sparsity=sparsity,
        )

    def view(self, facts: Facts) -> Facts:
        """Midpoint shift and intercept column."""
        return centred(facts, facts.intercept > 0)

    def solver(self, facts: Facts, budget: Budget | None) -> SCSG:
        """The loop with the rule of the docstring."""
        assert budget is not None
        return controlled(facts, budget, batch_size=facts.n_rows, **asdict(self))

    def assumptions(self, facts: Facts) -> tuple[str, ...]:
        """None: lengths of a given seed are priced as they are, others as a law."""
        return ()
