r"""Iterative hard thresholding, private when its oracle is.

.. math:: w_{t+1} = \Pi\,H_s\bigl(w_t - \eta_t\,(\tilde g(w_t) + \nabla\psi(w_t))\bigr)

:math:`H_s` keeps the :math:`s` largest entries, :math:`\tilde g` is what the oracle answers,
:math:`\psi` a public l2 penalty and :math:`\Pi` an optional projection to a ball. Who answers gives
the name: exact oracle, IGHT; central oracle on every row, DP-IGHT [WG19]_ (the same loop is DP-IHT
in [WX19]_ and DP-GD-HT in [L22]_).

`IHT` asks for the whole gradient, with dense noise. `PeeledIHT` asks only for the :math:`s`
coordinates that a step would keep, and for the gradient there: less noise when rows are dense and
the model is sparse.

References
----------
.. [WG19] Wang and Gu, IJCAI 2019, Algorithm 1.
.. [WX19] Wang and Xu, ICML 2019, Algorithm 3.
.. [L22] Liang et al., 2022.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.budget import Budget
from ..core.facts import Clip, Facts, Vector
from ..core.plan import Ask, EveryRow, Noise, Participation, Plan
from ..ops import groups_of, hard_threshold, project_ball
from ..queries.kinds import Indices, Magnitude, Oracle, Path
from .steps import FixedSteps, Gradients, StepRule, Turn, without_intercept


@dataclass(frozen=True, kw_only=True)
class IHT:
    r"""Iterative hard thresholding on a noisy gradient.

    Parameters
    ----------
    sparsity : int
        Nonzero coefficients kept after every step.
    step_sizes : tuple of float
        The length of path that each turn pays for; fixed before any row is read.
    clip : Clip
        How much one row may contribute to a gradient.
    step_rule : StepRule
        How long steps are: those of `step_sizes`, or as long as the answers allow.
    schedule : tuple of float or None
        Relative budget of each turn; None: all alike.
    ridge : float
        Weight of the l2 penalty.
    radius : float or None
        Project onto the l2 ball of this radius.
    intercept_cap : bool
        Whether the intercept's step is clipped to its known curvature, as in all loops on noisy answers.
    rows : EveryRow or PoissonRows
        Which rows answer each gradient.
    noise : Noise
        ``Noise.NONE`` for the non-private baseline.
    """

    sparsity: int
    step_sizes: tuple[float, ...]
    clip: Clip
    schedule: tuple[float, ...] | None = None
    step_rule: StepRule = FixedSteps()
    ridge: float = 0.0
    radius: float | None = None
    intercept_cap: bool = True
    rows: Participation = EveryRow()
    noise: Noise = Noise.GAUSSIAN

    def plan(self, facts: Facts, budget: Budget) -> Plan:
        """One gradient for each step."""
        times = len(self.step_sizes)
        gradient = Ask(
            name="gradient", question="Gradient", noise=self.noise, times=times, rows=self.rows, schedule=self.schedule
        )
        return Plan(asks=(gradient,))

    def run(self, oracle: Oracle, path: Path | None = None) -> Vector:
        """Return the last iterate; everything here is post-processing."""
        facts, steps = oracle.facts, self.step_rule.start(self._gradients(oracle))
        w = facts.first()
        while steps.left:
            at, g, eta = steps.next(w)
            w = project_ball(hard_threshold(at - eta * g, self.sparsity, facts.free, facts.groups), self.radius)
            if path is not None:
                path.add(w, oracle, thresholds=len(path.iterates) + 1)
        nearer = steps.confirm(w)
        if nearer is not w:
            w = hard_threshold(nearer, self.sparsity, facts.free, facts.groups)
            if path is not None:
                path.add(w, oracle, thresholds=len(path.iterates) + 1)
        return w

    def _gradients(self, oracle: Oracle) -> Gradients:
        turns = [Turn(size, "gradient", self.rows) for size in self.step_sizes]
        return Gradients(
            oracle=oracle,
            clip=self.clip,
            turns=turns,
            ridge=self.ridge,
            intercept_cap=self.intercept_cap,
            confirmed=True,
        )


@dataclass(frozen=True, kw_only=True)
class PeeledIHT:
    """Iterative hard thresholding by private peeling: select what a step would keep, then ask for its values.

    Parameters as `IHT`, with these differences.

    Parameters
    ----------
    selection : float
        Part of the budget that pays for the selections.
    values : int
        How many times the gradient on the selected coordinates is asked for after each selection; each pays for an
        equal part of the step. These are as many shorter steps there, or fewer longer ones where the rule allows it.
    """

    sparsity: int
    step_sizes: tuple[float, ...]
    clip: Clip
    schedule: tuple[float, ...] | None = None
    selection: float = 0.5
    values: int = 1
    step_rule: StepRule = FixedSteps()
    ridge: float = 0.0
    radius: float | None = None
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
            draws=groups_of(self.sparsity, facts.groups),
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
        w = oracle.facts.first()
        steps = self.step_rule.start(self._gradients(oracle, 0, np.arange(w.size)))
        for turn, size in enumerate(self.step_sizes):
            support = self._peel(oracle, w, steps.longest(size))
            steps.restart(self._gradients(oracle, turn, support))
            while steps.left:
                at, g, eta = steps.next(w)
                w = np.zeros_like(at)
                w[support] = at[support] - eta * g
                w = project_ball(w, self.radius)
            if path is not None:
                path.add(w, oracle, thresholds=turn + 1)
        return w

    def _peel(self, oracle: Oracle, w: Vector, length: float) -> Indices:
        """The features that a step of this length would keep, chosen privately, and the intercept."""
        facts = oracle.facts
        score = Magnitude(length, w - length * self.ridge * without_intercept(w, facts.free))
        chosen = oracle.select(w, self.sparsity, score=score, clip=self.clip)
        return np.concatenate([chosen, np.arange(facts.n_features, facts.dimension)])

    def _gradients(self, oracle: Oracle, turn: int, support: Indices) -> Gradients:
        """The gradients on a support after selection number `turn`."""
        turns = [Turn(self.step_sizes[turn] / self.values, "values", EveryRow())] * self.values
        first = turn * self.values
        return Gradients(oracle=oracle, clip=self.clip, turns=turns, ridge=self.ridge, support=support, first=first)
