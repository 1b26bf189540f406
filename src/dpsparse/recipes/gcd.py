"""GCD: greedy coordinate descent, without privacy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..algorithms.coordinates import ColumnSquares
from ..algorithms.gcd import GreedyCD
from ..core.facts import Facts
from ..core.plan import Noise
from .base import Baseline, check_positive, check_whole
from .dp_gcd import RULES


@dataclass(frozen=True, kw_only=True)
class GCD(Baseline):
    r"""Greedy coordinate descent, **without privacy**: a baseline to compare `dp_gcd` with.

    .. math:: w_{t+1,j_t} = \mathrm{prox}_{\gamma\psi/H_j}\bigl(w_{t,j_t} - \tfrac{\gamma}{H_j}\nabla_{j_t}(w_t)\bigr),
        \qquad j_t = \arg\max_j u_j(w_t)

    Parameters
    ----------
    steps : int or None
        Number of steps. None: ten for each coordinate, within 200..2000.
    tol : float or None
        After these steps: the minimiser on all coordinates that may move (with a `sparsity`, those
        that were chosen), by accelerated proximal steps down to this part of the first one. Default
        1e-8. None: the greedy steps alone.
    step_size : float
        Part of the step 1 over the curvature, whose mean squares are those of the data.
    rule : {"auto", "gs", "gs-r", "gs-s", "gs-q"}
        What the choice compares; see `DPGCD`.

    References
    ----------
    Nutini et al., ICML 2015; Mangold et al., AISTATS 2023, Algorithms 1 and 2 without noise.
    """

    name: ClassVar[str] = "gcd"
    penalties: ClassVar[tuple[str, ...]] = ("l2", "l1", "elasticnet", "box")

    steps: int | None = None
    tol: float | None = 1e-8
    step_size: float = 1.0
    rule: str = "auto"

    def __post_init__(self) -> None:
        check_whole(self.steps, "steps")
        check_positive(self.tol, "tol")
        check_positive(self.step_size, "step_size")
        if self.rule not in RULES:
            raise ValueError(f"rule must be one of {', '.join(RULES)}, got {self.rule!r}.")

    def solver(self, facts: Facts) -> GreedyCD:
        """The loop on exact gradients; the class docstring says what None in a parameter means."""
        bounds = np.r_[facts.half_widths**2, [facts.intercept**2] * facts.free]
        return GreedyCD(
            rule=self.rule,
            steps=self.steps or min(2000, max(200, 10 * facts.dimension)),
            step_size=self.step_size,
            residual=1.0,
            squares=ColumnSquares(bounds=bounds, guess=bounds, share=0.5, noise=Noise.NONE),
            selection_noise=Noise.NONE,
            noise=Noise.NONE,
            settle=0 if self.tol is None else 5000,
            tol=self.tol or 0.0,
        )
