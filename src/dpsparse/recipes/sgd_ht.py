"""SGD-HT: stochastic gradient hard thresholding, without privacy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..algorithms.constants import PAPERS, STEPS
from ..algorithms.converged import settle
from ..algorithms.sgd import SGD
from ..algorithms.steps import FixedSteps, SampledSecantSteps
from ..core.facts import Clip, Facts, Penalty
from ..core.plan import Noise
from ..queries.kinds import Solver
from .base import Baseline, check_positive, check_whole
from .defaults.schedules import batches, check_schedule


@dataclass(frozen=True, kw_only=True)
class SGDHT(Baseline):
    r"""Stochastic gradient hard thresholding, **without privacy**: a baseline to compare with.

    .. math:: w_{t+1} = H_s\Bigl(w_t - \eta\,\tfrac{1}{qn}\textstyle\sum_{i \in B_t} g_i(w_t)\Bigr)

    Parameters
    ----------
    steps : int
        Number of steps; default 200.
    tol : float or None
        As in `IGHT`: after these steps, the local optimum that they lead to. None, or a given
        `step_size`: the steps alone.
    step_size : float or None
        None: 1 over the curvature that the change of the gradient on a sample shows; the first step
        is :math:`1/(\beta_0 K_2^2)`, safe for any rows within the bounds.
    batch_size : float, tuple of float, or None
        Expected rows of a batch, or one number for each step. None: a tenth of all, and at least
        20, doubled after every fifth of the steps up to all.

    References
    ----------
    Nguyen, Needell and Woolf, 2017; growing batches: Zhou, Yuan and Feng, NeurIPS 2018. A comparison
    method of Liang et al., Algorithm 1.
    """

    name: ClassVar[str] = "sgd_ht"
    penalties: ClassVar[tuple[str, ...]] = ("l2",)

    steps: int = 200
    tol: float | None = 1e-6
    step_size: float | None = None
    batch_size: float | tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        check_whole(self.steps, "steps")
        check_positive(self.tol, "tol")
        check_positive(self.step_size, "step_size")
        check_schedule(self.batch_size, self.steps)

    def solver(self, facts: Facts) -> Solver:
        """The loop on exact gradients; the class docstring says what None in a parameter means."""
        step = self.step_size or 1.0 / (facts.curvature * facts.norm_bound**2 + facts.penalty.l2)
        sizes = self.batch_size
        if sizes is None:
            tenth = max(PAPERS.first_batch * facts.n_rows, STEPS.whole.fewest_rows)
            sizes = tuple(tenth * 2 ** (PAPERS.whole.batch_doublings * t // self.steps) for t in range(self.steps))
        loop = SGD(
            step_sizes=(step,) * self.steps,
            clip=Clip(1.0),
            rows=batches(sizes, facts, 1.0),
            sparsity=facts.cap,
            penalty=Penalty(kind="l2", alpha=facts.penalty.l2),
            step_rule=SampledSecantSteps(facts.cap) if self.step_size is None else FixedSteps(),
            noise=Noise.NONE,
        )
        return settle(loop, facts, None if self.step_size else self.tol)
