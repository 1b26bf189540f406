"""SCSG-HT and SVRG-HT: variance-reduced gradient hard thresholding, without privacy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..facts import Clip, Facts
from ..privacy.budget import Budget
from ..privacy.plan import Noise
from ..solvers.scsg import SCSG
from .base import centred, positive, whole
from .controlled import drawn
from .stochastic import FEW, check_batch, participation


@dataclass(frozen=True, kw_only=True)
class SCSGHT:
    r"""Stochastically controlled gradients with hard thresholding, **without privacy**: a baseline to compare with.

    .. math:: w \leftarrow H_s\Bigl(w - \eta\bigl(\nabla L_B(\tilde w) + \tfrac{1}{b}\textstyle\sum_{i\in B_t}
              (g_i(w) - g_i(\tilde w))\bigr)\Bigr)

    Parameters
    ----------
    epochs : int
        Snapshots; default 40.
    step_size : float or None
        None: 1 over the curvature that changes of the gradient show; the first step is :math:`1/(\beta_0 K_2^2)`.
    batch_size, inner_batch_size : float or None
        Expected rows B of a snapshot and b of an inner step; None: half of all, and a tenth of B; at
        least 40 and 20.
    option : {"II", "I"}
        Epochs of :math:`\lfloor B/b\rfloor` steps, or of a geometric number of mean B/b.
    length_seed : int or None
        Public seed of option I; None: drawn by chance.

    References
    ----------
    Liang, Tong, Zhu and Bi, AAAI 2020. The rival of Liang et al., Algorithm 2.
    """

    name: ClassVar[str] = "scsg_ht"
    private: ClassVar[bool] = False
    penalties: ClassVar[tuple[str, ...]] = ("l2",)
    needs: ClassVar[tuple[str, ...]] = ()

    epochs: int = 40
    step_size: float | None = None
    batch_size: float | None = None
    inner_batch_size: float | None = None
    option: str = "II"
    length_seed: int | None = None

    def __post_init__(self) -> None:
        whole(self.epochs, "epochs")
        positive(self.step_size, "step_size")
        check_batch(self.batch_size, "batch_size")
        check_batch(self.inner_batch_size, "inner_batch_size")
        if self.option not in ("I", "II"):
            raise ValueError(f"option must be 'I' (random length) or 'II' (fixed length), got {self.option!r}.")

    def view(self, facts: Facts) -> Facts:
        """Midpoint shift and intercept column."""
        return centred(facts, facts.intercept > 0)

    def solver(self, facts: Facts, budget: Budget | None) -> SCSG:
        """The loop, exact."""
        batch = min(self.batch_size or max(facts.n_rows / 2, 2 * FEW), facts.n_rows)
        inner = min(self.inner_batch_size or max(batch / 10, FEW), batch)
        return SCSG(
            sparsity=facts.cap,
            epochs=self.epochs,
            inner=batch / inner,
            length_seed=drawn(self.length_seed) if self.option == "I" else None,
            step_size=self.step_size or 1.0 / (facts.curvature * facts.norm_bound**2 + facts.penalty.l2),
            clip=Clip(1.0),
            snapshot_rows=participation(batch, facts, 1.0),
            inner_rows=participation(inner, facts, 1.0),
            ridge=facts.penalty.l2,
            secant=self.step_size is None,
            noise=Noise.NONE,
        )

    def assumptions(self, facts: Facts) -> tuple[str, ...]:
        """None: nothing is promised."""
        return ()


@dataclass(frozen=True, kw_only=True)
class SVRGHT:
    r"""Stochastic variance-reduced gradients with hard thresholding, **without privacy**: `SCSGHT` with B = n.

    .. math:: w \leftarrow H_s\Bigl(w - \eta\bigl(\nabla L(\tilde w) + \tfrac{1}{b}\textstyle\sum_{i\in B_t}
              (g_i(w) - g_i(\tilde w))\bigr)\Bigr)

    Parameters
    ----------
    epochs, step_size, inner_batch_size, option, length_seed
        As in `SCSGHT`.

    References
    ----------
    Li, Zhao, Arora, Liu and Haupt, ICML 2016.
    """

    name: ClassVar[str] = "svrg_ht"
    private: ClassVar[bool] = False
    penalties: ClassVar[tuple[str, ...]] = ("l2",)
    needs: ClassVar[tuple[str, ...]] = ()

    epochs: int = 40
    step_size: float | None = None
    inner_batch_size: float | None = None
    option: str = "II"
    length_seed: int | None = None

    def __post_init__(self) -> None:
        self._like()

    def _like(self, batch_size: float | None = None) -> SCSGHT:
        return SCSGHT(
            epochs=self.epochs,
            step_size=self.step_size,
            batch_size=batch_size,
            inner_batch_size=self.inner_batch_size,
            option=self.option,
            length_seed=self.length_seed,
        )

    def view(self, facts: Facts) -> Facts:
        """Midpoint shift and intercept column."""
        return centred(facts, facts.intercept > 0)

    def solver(self, facts: Facts, budget: Budget | None) -> SCSG:
        """The loop, exact, with snapshots on every row."""
        return self._like(facts.n_rows).solver(facts, budget)

    def assumptions(self, facts: Facts) -> tuple[str, ...]:
        """None: nothing is promised."""
        return ()
