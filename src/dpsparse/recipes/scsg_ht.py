"""SCSG-HT and SVRG-HT: variance-reduced gradient hard thresholding, without privacy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..algorithms.constants import STEPS
from ..algorithms.converged import settle
from ..algorithms.scsg import SCSG
from ..algorithms.steps import FixedSteps, SampledSecantSteps
from ..core.facts import Clip, Facts
from ..core.plan import Noise
from ..queries.kinds import Solver
from .base import Baseline, check_positive, check_whole
from .defaults.epochs import check_option, length_seed
from .defaults.schedules import check_batch, participation


@dataclass(frozen=True, kw_only=True)
class ExactEpochs(Baseline):
    """The fields of `SCSGHT` and `SVRGHT`, and their loop."""

    epochs: int = 40
    tol: float | None = 1e-6
    step_size: float | None = None
    inner_batch_size: float | None = None
    option: str = "II"
    length_seed: int | None = None

    def __post_init__(self) -> None:
        check_whole(self.epochs, "epochs")
        check_positive(self.tol, "tol")
        check_positive(self.step_size, "step_size")
        check_batch(self.inner_batch_size, "inner_batch_size")
        check_option(self.option)

    def loop(self, facts: Facts, batch_size: float | None) -> Solver:
        """The loop, exact, with about `batch_size` rows in a snapshot; None: half of all."""
        batch = min(batch_size or max(facts.n_rows / 2, 2 * STEPS.whole.fewest_rows), facts.n_rows)
        inner = min(self.inner_batch_size or max(batch / 10, STEPS.whole.fewest_rows), batch)
        loop = SCSG(
            sparsity=facts.cap,
            epochs=self.epochs,
            inner=batch / inner,
            length_seed=length_seed(self.option, self.length_seed),
            step_size=self.step_size or 1.0 / (facts.curvature * facts.norm_bound**2 + facts.penalty.l2),
            clip=Clip(1.0),
            snapshot_rows=participation(batch, facts, 1.0),
            inner_rows=participation(inner, facts, 1.0),
            ridge=facts.penalty.l2,
            step_rule=SampledSecantSteps(facts.cap) if self.step_size is None else FixedSteps(),
            noise=Noise.NONE,
        )
        return settle(loop, facts, None if self.step_size else self.tol)


@dataclass(frozen=True, kw_only=True)
class SCSGHT(ExactEpochs):
    r"""Stochastically controlled gradients with hard thresholding, **without privacy**: a baseline to compare with.

    .. math:: w \leftarrow H_s\Bigl(w - \eta\bigl(\nabla L_B(\tilde w) + \tfrac{1}{b}\textstyle\sum_{i\in B_t}
              (g_i(w) - g_i(\tilde w))\bigr)\Bigr)

    Parameters
    ----------
    epochs : int
        Snapshots; default 40.
    tol : float or None
        As in `IGHT`: after these steps, the local optimum that they lead to. None, or a given
        `step_size`: the steps alone.
    step_size : float or None
        None: 1 over the curvature that changes of the gradient show; the first step is
        :math:`1/(\beta_0 K_2^2)`.
    batch_size, inner_batch_size : float or None
        Expected rows B of a snapshot and b of an inner step; None: half of all, and a tenth of B;
        at least 40 and 20.
    option : {"II", "I"}
        Epochs of :math:`\lfloor B/b\rfloor` steps, or of a geometric number of mean B/b.
    length_seed : int or None
        Public seed of option I; None: drawn by chance.

    References
    ----------
    Liang, Tong, Zhu and Bi, AAAI 2020. The comparison method of Liang et al., Algorithm 2.
    """

    name: ClassVar[str] = "scsg_ht"

    batch_size: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_batch(self.batch_size, "batch_size")

    def solver(self, facts: Facts) -> Solver:
        """The loop with snapshots on a sample."""
        return self.loop(facts, self.batch_size)


@dataclass(frozen=True, kw_only=True)
class SVRGHT(ExactEpochs):
    r"""Stochastic variance-reduced gradients with hard thresholding, **without privacy**: `SCSGHT` with B = n.

    .. math:: w \leftarrow H_s\Bigl(w - \eta\bigl(\nabla L(\tilde w) + \tfrac{1}{b}\textstyle\sum_{i\in B_t}
              (g_i(w) - g_i(\tilde w))\bigr)\Bigr)

    Parameters
    ----------
    epochs, tol, step_size, inner_batch_size, option, length_seed
        As in `SCSGHT`.

    References
    ----------
    Li, Zhao, Arora, Liu and Haupt, ICML 2016.
    """

    name: ClassVar[str] = "svrg_ht"

    def solver(self, facts: Facts) -> Solver:
        """The loop with snapshots on every row."""
        return self.loop(facts, facts.n_rows)
