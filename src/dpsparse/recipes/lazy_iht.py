"""Lazy iterative hard thresholding: dual averaging that looks only at its largest entries."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from ..algorithms.constants import AVERAGING, ENGINE, PAPERS
from ..algorithms.dual_averaging import DualAveraging as Loop
from ..algorithms.steps import PacedSteps
from ..core.budget import Budget
from ..core.facts import Facts
from .base import PrivateRecipe
from .defaults.averaging import (
    averaging,
    check_loop,
    intercept_weight,
    low_intercept,
    noise_length,
    typical_slope,
)
from .defaults.sparsity import default_sparsity
from .defaults.views import centre


@dataclass(frozen=True, kw_only=True)
class LazyIHT(PrivateRecipe):
    r"""Hard thresholding that forgets nothing: DP-IGHT with the threshold applied only where the gradient is taken.

    .. math:: Z_{t+1} = Z_t - \eta_t\,v_t, \quad v_t = \beta v_{t-1} + (1-\beta)\,\tilde g\bigl(H_s(Z_t)\bigr), \quad
              w = H_s(Z_T)

    DP-IGHT throws away what it learned about all but s coordinates after each noisy step. Here
    answers add up in Z, so a coordinate that was missed once returns when enough evidence has come
    together, and the noise in Z does not grow with the number of steps, since every turn's budget
    is proportional to its step.

    Parameters
    ----------
    steps : int or None
        Number of steps. None: 100, or more where a long path needs them (as for `DualAveraging`).
    clip : float or None
        l2 clip of one row's gradient, rows measured in units of their declared norm. None: 0.5 for
        classes, a third of `target_bound` for regression.
    momentum : float
        :math:`\beta`.
    margin_noise : float
        :math:`\nu`: noise of the whole path on the margin of a row of the declared norm; less where
        a path of length :math:`10 d/\beta_0`, after which entries outside only add up their own
        noise, is shorter than that.
    settled : float
        Part of the steps after which the coordinates stay. Entries that waited outside have added
        up to more than they are worth; the last steps correct those that came in.

    Guarantee
    ---------
    Gaussian releases of l2 sensitivity :math:`\kappa C` only, composed exactly. Holds for any data,
    since rows are clipped.

    Deviations
    ----------
    No paper has this loop; it is DP-IGHT [WG19]_ (see `DPIGHT` for what is wrong there) with its
    threshold moved, as in dual averaging. On news20 with 500 nonzeros its test error was some 30 to
    40 % below that of DP-IGHT with the best of a grid of constants, from epsilon 0.5 to 8.

    References
    ----------
    .. [WG19] Wang and Gu, IJCAI 2019, Algorithm 1.
    """

    name: ClassVar[str] = "lazy_iht"
    penalties: ClassVar[tuple[str, ...]] = ("l2", "l1", "elasticnet", "box")

    steps: int | None = None
    clip: float | None = None
    momentum: float = PAPERS.lazy_momentum
    margin_noise: float = PAPERS.lazy_noise
    settled: float = PAPERS.lazy_settled

    def __post_init__(self) -> None:
        check_loop(self.steps, self.clip, self.momentum, self.margin_noise)
        if not 0 < self.settled <= 1:
            raise ValueError(f"settled must lie in (0, 1], got {self.settled!r}.")

    def view(self, facts: Facts) -> Facts:
        """Midpoint shift and a low intercept column."""
        return low_intercept(centre(facts, facts.intercept > 0))

    def solver(self, facts: Facts, budget: Budget) -> Loop:
        """The lazy loop with the rule of the docstring."""
        clip = self.clip or typical_slope(facts, 0.5)
        loop = averaging(facts, budget, 1.0, clip, self.margin_noise, steps=self.steps, momentum=self.momentum)
        # a link bends far less than it may: answers, not the worst case, hold its steps
        bend = facts.curvature if facts.target.direct else 1.0
        allowed = noise_length(facts, budget, 1.0, clip, self.margin_noise)
        length = min(loop.length if facts.target.direct else allowed, PAPERS.lazy_longest * facts.n_features / bend)
        return Loop(
            loop=replace(loop, length=length),
            step_rule=PacedSteps(ENGINE.stable / facts.curvature, reach=ENGINE.stable),
            column_weight=math.sqrt(1 - AVERAGING.intercept * facts.free) / facts.row_bound,
            intercept_weight=intercept_weight(facts),
            sparsity=min(facts.sparsity or default_sparsity(facts, budget, peel=False), facts.n_features),
            lazy=True,
            settled=self.settled,
        )
