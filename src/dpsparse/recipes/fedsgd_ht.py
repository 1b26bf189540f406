"""FedSGD-HT: stochastic gradient hard thresholding across sites, without privacy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..algorithms.constants import STEPS
from ..algorithms.federated import FedHT
from ..algorithms.sgd import SGD
from ..algorithms.steps import FixedSteps, SampledSecantSteps
from ..core.facts import Clip, Facts, Penalty
from ..core.plan import Noise
from .base import Baseline, check_positive, check_whole
from .defaults.schedules import batches, check_batch
from .private_rounds import LOCAL_STEPS


@dataclass(frozen=True, kw_only=True)
class FedSGDHT(Baseline):
    r"""Stochastic gradient hard thresholding across sites, **without privacy**: a baseline to compare with.

    .. math:: w_{t+1} = H_\tau\Bigl(\textstyle\sum_i p_i\,w^i_{t,K}\Bigr), \qquad
              w^i_{t,k+1} = H_s\Bigl(w^i_{t,k} - \eta\,\tfrac{1}{qn_i}\textstyle\sum_{j \in B} g_j(w^i_{t,k})\Bigr)

    Parameters
    ----------
    rounds : int
        How often models are exchanged; default 20.
    local_steps : int
        K; default 10.
    step_size : float or None
        None: 1 over the curvature that the change of the gradient on a sample shows; the first step of a round is
        :math:`1/(\beta_0 K_2^2)`, safe for any rows within the bounds.
    batch_size : float or None
        Expected rows of a batch; None: half of the rows, and at least 20.

    References
    ----------
    Liang, Tong, Ding, Pan and Bi, 2022, section 6.4.
    """

    name: ClassVar[str] = "fedsgd_ht"
    penalties: ClassVar[tuple[str, ...]] = ("l2",)

    rounds: int = 20
    local_steps: int = LOCAL_STEPS
    step_size: float | None = None
    batch_size: float | None = None

    def __post_init__(self) -> None:
        check_whole(self.rounds, "rounds")
        check_whole(self.local_steps, "local_steps")
        check_positive(self.step_size, "step_size")
        check_batch(self.batch_size, "batch_size")

    def solver(self, facts: Facts) -> FedHT:
        """The loop on exact gradients; the class docstring says what None in a parameter means."""
        step = self.step_size or 1.0 / (facts.curvature * facts.norm_bound**2 + facts.penalty.l2)
        size = self.batch_size or max(0.5 * facts.n_rows, STEPS.whole.fewest_rows)
        local = SGD(
            step_sizes=(step,) * self.local_steps,
            clip=Clip(1.0),
            rows=batches(size, facts, 1.0),
            sparsity=facts.cap,
            penalty=Penalty(kind="l2", alpha=facts.penalty.l2),
            step_rule=SampledSecantSteps(facts.cap) if self.step_size is None else FixedSteps(),
            noise=Noise.NONE,
        )
        return FedHT(local=local, rounds=self.rounds, sparsity=facts.cap)
