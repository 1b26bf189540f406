r"""Iterative hard thresholding, private when its oracle is.

.. math:: w_{t+1} = \Pi\,H_s\bigl(w_t - \eta_t\,(\tilde g(w_t) + \nabla\psi(w_t))\bigr)

:math:`H_s` keeps the :math:`s` largest entries, :math:`\tilde g` is what the oracle answers, :math:`\psi` a public l2
penalty and :math:`\Pi` an optional projection to a ball. Who answers gives the name: exact oracle, IGHT; central oracle
on every row, DP-IGHT [WG19]_ (the same loop is DP-IHT in [WX19]_ and DP-GD-HT in [L22]_).

`IHT` asks for the whole gradient, with dense noise. `PeeledIHT` asks only for the :math:`s` coordinates that a step would
keep, and for the gradient there: less noise when rows are dense and the model is sparse.

References
----------
.. [WG19] Wang and Gu, IJCAI 2019, Algorithm 1.
.. [WX19] Wang and Xu, ICML 2019, Algorithm 3.
.. [L22] Liang et al., 2022.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..facts import Clip, Facts, Vector
from ..ops import hard_threshold, project_ball
from ..oracle import Gradient, Indices, Magnitude, Oracle, Path
from ..privacy.budget import Budget
from ..privacy.plan import Ask, EveryRow, Noise, Participation, Plan
from .steps import Pace, Stride, answer_spread, intercept_gain


@dataclass(frozen=True, kw_only=True)
class IHT:
    r"""Iterative hard thresholding on a noisy gradient.

    Parameters
    ----------
    sparsity : int
        Nonzero coefficients kept after every step.
    step_sizes : tuple of float
        One step along the noisy gradient for each turn; fixed before any row is read.
    clip : Clip
        How much one row may contribute to a gradient.
    secant : bool
        Take `step_sizes` only at the start, and then 1 over the curvature that the answers show:
        :math:`\langle\Delta g, \Delta w\rangle / \|\Delta w\|^2`, never forgetting more than a tenth of the largest
        one a step. For exact answers; noise would swamp the differences.
    pace : Pace or None
        Step lengths from released answers; `step_sizes` then say how much of the path each turn pays for. None: one step of
        its size for each turn.
    schedule : tuple of float or None
        Relative budget of each turn; None: all alike.
    ridge : float
        Weight of the l2 penalty.
    radius : float or None
        Project onto the l2 ball of this radius.
    intercept_step : float
        Longest step along the intercept, whose column is as high for every row.
    rows : EveryRow or PoissonRows
        Which rows answer each gradient.
    noise : Noise
        ``Noise.NONE`` for the non-private twin.
    """

    sparsity: int
    step_sizes: tuple[float, ...]
    clip: Clip
    schedule: tuple[float, ...] | None = None
    secant: bool = False
    pace: Pace | None = None
    ridge: float = 0.0
    radius: float | None = None
    intercept_step: float = float("inf")
    rows: Participation = EveryRow()
    noise: Noise = Noise.GAUSSIAN

    def plan(self, facts: Facts, budget: Budget) -> Plan:
        """One gradient for each step."""
        times = len(self.step_sizes)
        return Plan(
            asks=(
                Ask(
                    name="gradient",
                    question="Gradient",
                    noise=self.noise,
                    times=times,
                    rows=self.rows,
                    schedule=self.schedule,
                ),
            )
        )

    def run(self, oracle: Oracle, path: Path | None = None) -> Vector:
        """Return the last iterate; everything here is post-processing."""
        free = oracle.facts.free
        w = oracle.facts.first()
        before: tuple[Vector, Vector] | None = None
        curvature = 0.0
        stride = None if self.pace is None else self.pace.start(len(self.step_sizes))
        turn = thresholds = 0

        clip = self.clip

        def ask(at: Vector, turn: int) -> Vector:
            return oracle.gradient(at, clip=clip) + self.ridge * without_intercept(at, free)

        while turn < len(self.step_sizes):
            step, gain = self.step_sizes[turn], 0.0
            if stride is not None:
                clip = stride.clip(self.clip, answer_spread(oracle, "gradient", self.clip, self.rows))
                spread, since = answer_spread(oracle, "gradient", clip, self.rows), turn
                w, g, step = stride.walk(w, ask, spread, step, plain=True)
                turn = len(self.step_sizes) - stride.left
                gain = intercept_gain(turn, turn - since, spread, oracle.facts)
            else:
                g, turn = ask(w, turn), turn + 1
            if self.secant and before is not None:
                moved = w - before[0]
                length = float(moved @ moved)
                if length > 1e-20 * float(w @ w):  # differences of a loop that has settled are rounding
                    curvature = max(float((g - before[1]) @ moved) / length, 0.9 * curvature)
                step = 1.0 / curvature if curvature > 0 else step
            before = (w, g)
            w = project_ball(
                hard_threshold(w - step_sizes(step, w.size, free, self.intercept_step, gain) * g, self.sparsity, free),
                self.radius,
            )
            thresholds += 1
            if path is not None:
                path.add(w, oracle, thresholds)
        return w


@dataclass(frozen=True, kw_only=True)
class PeeledIHT:
    """Iterative hard thresholding by private peeling: select what a step would keep, then ask for its values.

    Parameters as `IHT`, with these differences.

    Parameters
    ----------
    selection : float
        Part of the budget that pays for the selections.
    values : int
        How many times the gradient on the selected coordinates is asked for after each selection; each pays for an equal part of
        the step. With a `pace` these are as many shorter steps there, or fewer longer ones; without it one step along their mean.
    """

    sparsity: int
    step_sizes: tuple[float, ...]
    clip: Clip
    schedule: tuple[float, ...] | None = None
    selection: float = 0.5
    values: int = 1
    pace: Pace | None = None
    ridge: float = 0.0
    radius: float | None = None
    intercept_step: float = float("inf")
    selection_noise: Noise = Noise.GUMBEL
    noise: Noise = Noise.GAUSSIAN

    def plan(self, facts: Facts, budget: Budget) -> Plan:
        """For each step `sparsity` selections and one release of the gradient there (and of the intercept's)."""
        times = len(self.step_sizes)
        select = Ask(
            name="select",
            question="Select",
            noise=self.selection_noise,
            times=times,
            draws=self.sparsity,
            share=self.selection,
            schedule=self.schedule,
        )
        values = Ask(
            name="values",
            question="Gradient",
            noise=self.noise,
            times=times * self.values,
            share=1.0 - self.selection,
            schedule=None if self.schedule is None else tuple(v for v in self.schedule for _ in range(self.values)),
        )
        return Plan(asks=(select, values))

    def run(self, oracle: Oracle, path: Path | None = None) -> Vector:
        """Return the last iterate."""
        facts = oracle.facts
        w = facts.first()
        stride = None if self.pace is None else self.pace.start(self.values)
        for turn, step in enumerate(self.step_sizes):
            length = step if stride is None else stride.longest(step)
            shrunk = w - length * self.ridge * without_intercept(w, facts.free)
            support = oracle.select(w, self.sparsity, score=Magnitude(length, shrunk), clip=self.clip)
            w = self._descend(
                oracle, w, np.r_[support, np.arange(facts.n_features, facts.dimension)], step, turn, stride
            )
            if path is not None:
                path.add(w, oracle, thresholds=turn + 1)
        return w

    def _descend(
        self, oracle: Oracle, w: Vector, support: Indices, step: float, turn: int, stride: Stride | None
    ) -> Vector:
        """From `w`, whose answers speak of the support alone, along the gradient there; what lies outside is left behind."""
        facts = oracle.facts
        ridge = self.ridge * without_intercept(np.ones(facts.dimension), facts.free)[support]

        def ask(at: Vector, _: int = 0) -> Vector:
            return oracle.gradient_at(at, support, clip=self.clip) + ridge * at[support]

        def move(at: Vector, g: Vector, length: float) -> Vector:
            new = np.zeros_like(at)
            sizes = step_sizes(length, at.size, facts.free, self.intercept_step)
            new[support] = at[support] - sizes[support] * g
            return project_ball(new, self.radius)

        if stride is None:
            return move(w, np.mean([ask(w) for _ in range(self.values)], axis=0), step)
        spread = oracle.deviation(Gradient(w, self.clip, support), "values", turn * self.values)
        stride.rest(self.values)
        while stride.left:
            w, g, length = stride.walk(w, ask, spread, step / self.values, support)
            w = move(w, g, length)
        return w


def without_intercept(w: Vector, free: int) -> Vector:
    """The coefficients that a penalty sees: all but the intercept."""
    out = w.copy()
    out[w.size - free :] = 0.0
    return out


def step_sizes(step: float, dimension: int, free: int, longest: float, least: float = 0.0) -> Vector:
    """The step along each coordinate: `step`, and along the intercept at most `longest` and at least the part `least` of it."""
    sizes = np.full(dimension, step)
    if free:
        sizes[dimension - free :] = min(max(step, least * longest) if least else step, longest)
    return sizes
