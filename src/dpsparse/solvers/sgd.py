r"""Stochastic gradient descent: smooth, proximal, or with hard thresholding; private when its oracle is.

.. math:: w_{t+1} = H_s\bigl(\mathrm{prox}_{\eta_t\psi}(w_t - \eta_t\,\tilde g(w_t))\bigr)

:math:`\tilde g` is what the oracle answers from a Poisson sample of the rows, :math:`\psi` a public penalty and :math:`H_s`
keeps the s largest entries. With :math:`H_s` after every step and a central oracle this is DP-SGD-HT [L22]_; with
:math:`H_s` once at the end it is DP-SGD, the rival in [MBST23]_; on the exact oracle it is SGD-HT [NNW17]_.

References
----------
.. [L22] Liang et al., 2022, Algorithm 1.
.. [MBST23] Mangold, Bellet, Salmon and Tommasi, AISTATS 2023, section 6.
.. [NNW17] Nguyen, Needell and Woolf, 2017.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..facts import Clip, Facts, Penalty, Vector
from ..ops import hard_threshold, proximal_step
from ..oracle import Oracle, Path
from ..privacy.budget import Budget
from ..privacy.plan import Ask, Noise, Participation, Plan
from .steps import Pace, answer_spread, coordinate_steps, follow, intercept_gain, sampled_curvature


@dataclass(frozen=True, kw_only=True)
class SGD:
    r"""Stochastic gradient descent on noisy gradients.

    Parameters
    ----------
    step_sizes : tuple of float
        One step along the noisy gradient for each turn; fixed before any row is read.
    clip : Clip
        How much one row may contribute to a gradient.
    rows : EveryRow, PoissonRows, or a tuple of them
        Which rows answer: the same at every turn, or one entry for each turn, a public schedule of sampling rates.
    sparsity : int
        Nonzero coefficients of the result, without the intercept.
    thresholds : bool
        Threshold after every step, and not only at the end.
    settled : float
        Without thresholds after every step: the part of the turns after which the largest `sparsity` coefficients are kept, and the
        rest of the steps moves only those.
    penalty : Penalty
        Applied by its proximal map after every step.
    secant : bool
        Take `step_sizes` only at the start, and then 1 over the curvature that answers about the change of the gradient
        show, as `IHT` does; for exact answers.
    pace : Pace or None
        Step lengths from released answers; `step_sizes` then say how much of the path each turn pays for. None: one step of
        its size for each turn.
    noise : Noise
        ``Noise.NONE`` for the non-private twin.
    """

    step_sizes: tuple[float, ...]
    clip: Clip
    rows: Participation | tuple[Participation, ...]
    sparsity: int
    thresholds: bool = True
    settled: float = 1.0
    penalty: Penalty = field(default_factory=Penalty)
    secant: bool = False
    pace: Pace | None = None
    noise: Noise = Noise.GAUSSIAN

    def __post_init__(self) -> None:
        if isinstance(self.rows, tuple) and len(self.rows) != len(self.step_sizes):
            raise ValueError(f"rows must say who answers each of the {len(self.step_sizes)} turns.")

    def plan(self, facts: Facts, budget: Budget) -> Plan:
        """One gradient for each step; one ask for each sampling rate, all with the same noise multiplier."""
        schedule = self._schedule()
        times = len(schedule)
        asks = [
            Ask(name=name, question="Gradient", noise=self.noise, times=k, rows=rows, share=k / times)
            for rows, name in self._names().items()
            for k in [schedule.count(rows)]
        ]
        if self.secant and times > 1:
            asks.append(
                Ask(name="change", question="GradientChange", noise=self.noise, times=times - 1, rows=schedule[0])
            )
        return Plan(asks=tuple(asks))

    def run(self, oracle: Oracle, path: Path | None = None) -> Vector:
        """Return the last iterate, thresholded; everything here is post-processing."""
        return self.run_from(oracle.facts.first(), oracle, path)

    def run_from(self, w: Vector, oracle: Oracle, path: Path | None = None) -> Vector:
        """The same from another public start: a loop of rounds goes on where the last one ended."""
        facts = oracle.facts
        names, schedule = self._names(), self._schedule()
        kept = np.ones(w.size, dtype=bool)
        before: Vector | None = None
        curvature = 0.0
        stride = None if self.pace is None else self.pace.start(len(schedule))
        turn = thresholds = 0

        clip = self.clip

        def ask(at: Vector, turn: int) -> Vector:
            return oracle.gradient(at, clip=clip, ask=names[schedule[turn]])

        while turn < len(schedule):
            step, rows, gain = self.step_sizes[turn], schedule[turn], 0.0
            if stride is not None:
                clip = stride.clip(self.clip, answer_spread(oracle, names[rows], self.clip, rows))
                spread, since = answer_spread(oracle, names[rows], clip, rows), turn
                w, g, step = stride.walk(w, ask, spread, step, plain=self.thresholds)
                turn = len(schedule) - stride.left
                gain = intercept_gain(turn, turn - since, spread, facts)
            else:
                g, turn = ask(w, turn), turn + 1
            if before is not None and self.secant:
                change = oracle.gradient_change(w, before, clip=self.clip, change=2 * self.clip.norm)
                curvature = follow(curvature, sampled_curvature(change, w, before, self.sparsity))
                step = 1.0 / curvature if curvature > 0 else step
            before = w
            steps = coordinate_steps(step, facts, gain)
            w = np.where(kept, proximal_step(w - steps * g, steps, self.penalty, facts.free), 0.0)
            if self.thresholds:
                w = hard_threshold(w, self.sparsity, facts.free)
                thresholds += 1
            elif turn >= self.settled * len(schedule) and np.all(kept):
                w = hard_threshold(w, self.sparsity, facts.free)
                kept = (w != 0) | (np.arange(w.size) >= facts.n_features)
            if path is not None:
                path.add(w, oracle, thresholds)
        return hard_threshold(w, self.sparsity, facts.free)

    def _schedule(self) -> tuple[Participation, ...]:
        """Which rows answer, turn by turn."""
        return self.rows if isinstance(self.rows, tuple) else (self.rows,) * len(self.step_sizes)

    def _names(self) -> dict[Participation, str]:
        """One ask for each distinct way to sample, named in the order of their first use."""
        distinct = list(dict.fromkeys(self._schedule()))
        return {rows: "gradient" if i == 0 else f"gradient-{i + 1}" for i, rows in enumerate(distinct)}
