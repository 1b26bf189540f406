"""IGHT: iterative gradient hard thresholding, without privacy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..algorithms import IHT
from ..algorithms.converged import settle
from ..algorithms.steps import FixedSteps, SecantSteps
from ..core.facts import Clip, Facts
from ..core.plan import Noise
from ..queries.kinds import Solver
from .base import Baseline, check_positive, check_whole


@dataclass(frozen=True, kw_only=True)
class IGHT(Baseline):
    r"""Iterative gradient hard thresholding, **without privacy**: a baseline to compare with.

    .. math:: w_{t+1} = H_s\bigl(w_t - \eta\,\nabla L(w_t)\bigr)

    Parameters
    ----------
    steps : int
        Number of steps; default 200.
    tol : float or None
        After these steps: the minimiser on the support, with steps down to this part of the first
        one, and exchanges of coordinates while they help (`algorithms.converged`). Default 1e-6.
        None, or a given `step_size` or `radius`: the steps alone.
    restart : bool
        A second start, from the largest coefficients of the minimiser on all columns; the better of
        the two is returned. Off, since this is the non-private baseline of `DPIGHT`, which goes to the optimum that
        plain steps find, and since it seldom helps: on california with 4 coefficients the loss
        falls by 14 %, on meltingpoint, covtype, pneumonia and mnist not at all. For figures that
        measure a gap to the least loss give True; it costs little time. No search proves that there
        is no better.
    step_size : float or None
        None: 1 over the curvature that successive exact gradients show; the first step is
        :math:`1/(\beta_0 K_2^2)`, safe for any rows within the bounds.
    radius : float or None
        Project onto the l2 ball of this radius.

    References
    ----------
    Wang and Gu, IJCAI 2019, the non-private comparison method of Algorithm 1.
    """

    name: ClassVar[str] = "ight"
    penalties: ClassVar[tuple[str, ...]] = ("l2",)

    steps: int = 200
    tol: float | None = 1e-6
    restart: bool = False
    step_size: float | None = None
    radius: float | None = None

    def __post_init__(self) -> None:
        check_whole(self.steps, "steps")
        check_positive(self.tol, "tol")
        check_positive(self.step_size, "step_size")
        check_positive(self.radius, "radius")

    def solver(self, facts: Facts) -> Solver:
        """The loop on exact gradients; the class docstring says what None in a parameter means."""
        step = self.step_size or 1.0 / (facts.curvature * facts.norm_bound**2 + facts.penalty.l2)
        loop = IHT(
            sparsity=facts.cap,
            step_sizes=(step,) * self.steps,
            clip=Clip(1.0),
            step_rule=SecantSteps() if self.step_size is None else FixedSteps(),
            intercept_cap=False,
            ridge=facts.penalty.l2,
            radius=self.radius,
            noise=Noise.NONE,
        )
        return settle(loop, facts, None if self.step_size or self.radius else self.tol, restart=self.restart)
