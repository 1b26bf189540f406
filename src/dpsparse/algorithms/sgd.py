r"""Stochastic gradient descent: smooth, proximal, or with hard thresholding; private when its oracle is.

.. math:: w_{t+1} = H_s\bigl(\mathrm{prox}_{\eta_t\psi}(w_t - \eta_t\,\tilde g(w_t))\bigr)

:math:`\tilde g` is what the oracle answers from a Poisson sample of the rows, :math:`\psi` a public
penalty and :math:`H_s` keeps the s largest entries. With :math:`H_s` after every step and a central
oracle this is DP-SGD-HT [L22]_; with :math:`H_s` once at the end it is DP-SGD, the comparison method in
[MBST23]_; on the exact oracle it is SGD-HT [NNW17]_.

References
----------
.. [L22] Liang et al., 2022, Algorithm 1.
.. [MBST23] Mangold, Bellet, Salmon and Tommasi, AISTATS 2023, section 6.
.. [NNW17] Nguyen, Needell and Woolf, 2017.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from ..core.budget import Budget
from ..core.facts import Clip, Facts, Penalty, Vector
from ..core.plan import Ask, Noise, Participation, Plan
from ..ops import hard_threshold, proximal_step
from ..queries.kinds import Oracle, Path
from .steps import FixedSteps, Gradients, SampledSecantSteps, StepRule, Turn


@dataclass(frozen=True, kw_only=True)
class SGD:
    r"""Stochastic gradient descent on noisy gradients.

    Parameters
    ----------
    step_sizes : tuple of float
        The length of path that each turn pays for; fixed before any row is read.
    clip : Clip
        How much one row may contribute to a gradient.
    rows : EveryRow, PoissonRows, or a tuple of them
        Which rows answer: the same at every turn, or one entry for each turn, a public schedule of
        sampling rates.
    sparsity : int
        Nonzero coefficients of the result, without the intercept.
    thresholds : bool
        Threshold after every step, and not only at the end.
    settled : float
        Without thresholds after every step: the part of the turns after which the largest
        `sparsity` coefficients are kept, and the rest of the steps moves only those.
    penalty : Penalty
        Applied by its proximal map after every step.
    step_rule : StepRule
        How long steps are: those of `step_sizes`, or as long as the answers allow.
    noise : Noise
        ``Noise.NONE`` for the non-private baseline.
    """

    step_sizes: tuple[float, ...]
    clip: Clip
    rows: Participation | tuple[Participation, ...]
    sparsity: int
    thresholds: bool = True
    settled: float = 1.0
    penalty: Penalty = field(default_factory=Penalty)
    step_rule: StepRule = FixedSteps()
    noise: Noise = Noise.GAUSSIAN

    def __post_init__(self) -> None:
        if isinstance(self.rows, tuple) and len(self.rows) != len(self.step_sizes):
            raise ValueError(f"rows must say who answers each of the {len(self.step_sizes)} turns.")

    def plan(self, facts: Facts, budget: Budget) -> Plan:
        """One gradient for each step; one ask for each sampling rate, all with the same noise multiplier."""
        turns = self._turns()
        counts = Counter((turn.ask, turn.rows) for turn in turns)
        asks = [
            Ask(name=name, question="Gradient", noise=self.noise, times=k, rows=rows, share=k / len(turns))
            for (name, rows), k in counts.items()
        ]
        if isinstance(self.step_rule, SampledSecantSteps) and len(turns) > 1:
            change = Ask(
                name="change", question="GradientChange", noise=self.noise, times=len(turns) - 1, rows=turns[0].rows
            )
            asks.append(change)
        return Plan(asks=tuple(asks))

    def run(self, oracle: Oracle, path: Path | None = None) -> Vector:
        """Return the last iterate, thresholded; everything here is post-processing."""
        return self.run_from(oracle.facts.first(), oracle, path)

    def run_from(self, w: Vector, oracle: Oracle, path: Path | None = None) -> Vector:
        """The same from another public start: a loop of rounds goes on where the last one ended."""
        facts, steps = oracle.facts, self.step_rule.start(self._gradients(oracle))
        moving = np.ones(w.size, dtype=bool)
        while steps.left:
            at, g, eta = steps.next(w)
            w = np.where(moving, proximal_step(at - eta * g, eta, self.penalty, facts.free), 0.0)
            if self.thresholds:
                w = hard_threshold(w, self.sparsity, facts.free, facts.groups)
            elif steps.turn >= self.settled * len(self.step_sizes) and np.all(moving):
                w = hard_threshold(w, self.sparsity, facts.free, facts.groups)
                moving = (w != 0) | (np.arange(w.size) >= facts.n_features)
            if path is not None:
                path.add(w, oracle, thresholds=(len(path.iterates) + 1) * self.thresholds)
        if (nearer := steps.confirm(w)) is not w and path is not None:
            path.add(nearer, oracle, thresholds=0)
        return hard_threshold(nearer, self.sparsity, facts.free, facts.groups)

    def _gradients(self, oracle: Oracle) -> Gradients:
        return Gradients(
            oracle=oracle,
            clip=self.clip,
            turns=self._turns(),
            thresholded=self.thresholds,
            changes=True,
            confirmed=True,
        )

    def _turns(self) -> list[Turn]:
        """One gradient for each step size; one ask for each distinct way to sample, named in the order of first use."""
        rows = self.rows if isinstance(self.rows, tuple) else (self.rows,) * len(self.step_sizes)
        names = {way: f"gradient-{i}" if i > 1 else "gradient" for i, way in enumerate(dict.fromkeys(rows), start=1)}
        return [Turn(size, names[way], way) for size, way in zip(self.step_sizes, rows, strict=True)]
