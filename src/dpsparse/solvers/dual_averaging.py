r"""Dual averaging with momentum, whose noise does not depend on the number of steps.

.. math::
    v_t = \beta v_{t-1} + (1-\beta)\,\tilde g(w_t), \qquad
    Z_{t+1} = Z_t - \eta_t v_t, \qquad
    w_{t+1} = w_0 + a \circ S\bigl(Z_{t+1}\bigr)

:math:`\tilde g` is what the oracle answers about rows whose columns are multiplied by public weights :math:`a`; gradients add
up in :math:`Z`, and only where the next gradient is taken are they thresholded: :math:`S` is soft thresholding by a
multiple of the noise that :math:`Z` holds, or (lazy hard thresholding) keeps the largest entries. Nothing that was
learned is thrown away. Each turn's budget is proportional to its step, so that with :math:`\tau = \sum_t\eta_t` the noise
in :math:`Z` is :math:`\tau\kappa C/(n\sqrt{2\rho})` for any number of steps: the length of the path decides it, and steps
are free.

Around the loop: `Weighting` asks for the mean absolute entry of every column and gives frequent columns less weight, so
that rare ones count too; `Refit` looks at the coordinates that won, where rows are short, and runs the loop once more on
them alone. A penalty enters through its proximal map, as in regularised dual averaging [X10]_.

References
----------
.. [X10] Xiao, Journal of Machine Learning Research 2010, Algorithm 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..facts import Facts, Vector
from ..ops import hard_threshold, proximal_step, soft_threshold
from ..oracle import Indices, Oracle, Path, WeightedGradient
from ..privacy.budget import Budget
from ..privacy.plan import Ask, Noise, Plan
from .steps import DOUBT, Pace


@dataclass(frozen=True, kw_only=True)
class Averaging:
    r"""Constants of one run of the loop, in columns whose weights make rows about as long as 1.

    Parameters
    ----------
    steps : int
        Gradients asked for. Steps fall linearly: :math:`\eta_t \propto 1 - t/T`.
    length : float
        :math:`\tau`: sum of all steps.
    clip : float
        Bound on the l2 norm of one row's weighted gradient.
    share : float
        Part of the budget.
    momentum : float
        :math:`\beta`.
    threshold : float
        Soft threshold, in standard deviations of the noise in :math:`Z`.
    """

    steps: int
    length: float
    clip: float
    share: float
    momentum: float = 0.9
    threshold: float = 0.0

    @property
    def sizes(self) -> tuple[float, ...]:
        """One step size for each gradient, falling linearly, with sum `length`."""
        ramp = 1.0 - np.arange(self.steps) / self.steps
        return tuple(float(v) for v in ramp * (self.length / ramp.sum()))


@dataclass(frozen=True, kw_only=True)
class Weighting:
    r"""How column weights are made: :math:`a_j = \sqrt{f/\max(m_j, f)}` for noisy means :math:`m_j = \mathrm{mean}|x_j|`.

    Then all are divided by `fill` times a noisy mean length of the weighted rows.

    Parameters
    ----------
    floor : float
        f: means below it drown in their noise, and count alike.
    share, size_share : float
        Parts of the budget for the means, and for each mean length.
    row_norm : float
        Public bound on the length of a row.
    least : float
        Mean lengths below this part of `row_norm` count as this: they would drown in their noise.
    fill : float
        What part of a mean length becomes 1; longer rows meet the clip.
    balance_share : float
        Part of the budget for the share of the rarer class; 0: not asked for.
    rare, held : float
        If that share is below `rare`, the floor is multiplied by `held`: what tells a rare class apart are often
        columns that are frequent within it, and they keep their weight.
    """

    floor: float
    share: float
    size_share: float
    row_norm: float
    least: float
    fill: float
    balance_share: float = 0.0
    rare: float = 0.15
    held: float = 3.0


@dataclass(frozen=True, kw_only=True)
class DualAveraging:
    """Dual averaging, with column weights, a sparse result and a second run on it where asked for.

    Parameters
    ----------
    loop : Averaging
    column_weight : float
        Weight of every feature, before `weighting`.
    intercept_weight : float
        Weight of the intercept column.
    weighting : Weighting or None
        None: all features alike.
    sparsity : int or None
        Nonzero coefficients of the result; None: what soft thresholding leaves.
    lazy : bool
        Take every gradient at the `sparsity` largest entries, instead of thresholding softly.
    settled : float
        Part of the steps after which a lazy loop keeps its coordinates: entries that waited outside have added up to more
        than they are worth, and the rest of the path corrects those that came in.
    pace : Pace or None
        Holds the steps of a lazy loop by what its answers show of the curvature. None: steps as planned.
    refit : Averaging or None
        Second run, on the coordinates that have the largest entries after the first.
    refit_size_share, refit_least, refit_fill : float
        Part of the budget for the mean length of rows on those coordinates, and what is made of it, as in `Weighting`.
    noise : Noise
        ``Noise.NONE`` for the non-private twin.
    """

    loop: Averaging
    column_weight: float
    intercept_weight: float
    weighting: Weighting | None = None
    sparsity: int | None = None
    lazy: bool = False
    settled: float = 1.0
    pace: Pace | None = None
    refit: Averaging | None = None
    refit_size_share: float = 0.0
    refit_least: float = 1.0
    refit_fill: float = 1.0
    noise: Noise = Noise.GAUSSIAN

    def plan(self, facts: Facts, budget: Budget) -> Plan:
        """Means and a mean length for the weights, then gradients, each with a budget proportional to its step."""
        asks = []
        if self.weighting is not None:
            if self.weighting.balance_share:
                asks.append(
                    Ask(
                        name="balance",
                        question="WeightedGradient",
                        noise=self.noise,
                        share=self.weighting.balance_share,
                    )
                )
            asks.append(Ask(name="means", question="AbsoluteMeans", noise=self.noise, share=self.weighting.share))
            asks.append(Ask(name="size", question="RowSize", noise=self.noise, share=self.weighting.size_share))
        asks.append(self._gradients("gradient", self.loop))
        if self.refit is not None:
            asks.append(Ask(name="support size", question="RowSize", noise=self.noise, share=self.refit_size_share))
            asks.append(self._gradients("refit", self.refit))
        return Plan(asks=tuple(asks))

    def _gradients(self, name: str, loop: Averaging) -> Ask:
        return Ask(
            name=name,
            question="WeightedGradient",
            noise=self.noise,
            times=loop.steps,
            share=loop.share,
            schedule=loop.sizes,
        )

    def run(self, oracle: Oracle, path: Path | None = None) -> Vector:
        """Return the last iterate, sparse if asked for; everything here is post-processing."""
        facts = oracle.facts
        everything = np.arange(facts.dimension)
        weights = np.full(facts.dimension, self.column_weight)
        if self.weighting is not None:
            weights *= column_weights(oracle, self.weighting)
        weights[facts.n_features :] = self.intercept_weight
        w, reached = self._average(oracle, "gradient", self.loop, facts.first(), weights, everything, path)
        if self.sparsity is None or self.sparsity >= facts.n_features:
            return w
        if self.refit is None:
            return w if self.lazy else np.where(hard_threshold(w / weights, self.sparsity, facts.free) != 0, w, 0.0)
        best = np.sort(np.argsort(-np.abs(reached[: facts.n_features]), kind="stable")[: self.sparsity])
        support = np.r_[best, np.arange(facts.n_features, facts.dimension)]
        start = np.zeros_like(w)
        start[support] = w[support]
        size = oracle.row_size(weights[best], top=1.0, support=best, ask="support size")
        weights[best] /= self.refit_fill * min(max(size, self.refit_least), 1.0)
        return self._average(oracle, "refit", self.refit, start, weights[support], support, path)[0]

    def _average(
        self,
        oracle: Oracle,
        ask: str,
        loop: Averaging,
        start: Vector,
        weights: Vector,
        support: Indices,
        path: Path | None,
    ) -> tuple[Vector, Vector]:
        """The loop from `start` on the coordinates of `support`, the intercept last.

        Returns the iterate, and in units of the weights where the path would be without any threshold.
        """
        facts = oracle.facts
        everywhere = None if support.size == facts.dimension else support
        w, first = start.copy(), start[support] / weights
        Z, v = np.zeros(support.size), np.zeros(support.size)
        kept = np.ones(support.size, dtype=bool)
        variance = walked = 0.0
        stride = None if self.pace is None else self.pace.start(loop.steps)
        before: tuple[Vector, Vector] | None = None
        for turn, step in enumerate(loop.sizes):
            question = WeightedGradient(w, weights, loop.clip, everywhere)
            g = np.asarray(oracle.answer(question, ask))
            if stride is not None:
                here = w[support] / weights
                if before is not None:
                    doubt = DOUBT * math.sqrt(2) * oracle.deviation(question, ask, turn)
                    stride.see(g - before[1], here - before[0], doubt)
                before, step = (here, g), stride.take(step)
            v = loop.momentum * v + (1 - loop.momentum) * g
            Z -= step * v
            walked += step
            variance += (step * oracle.deviation(question, ask, turn)) ** 2
            if self.lazy:
                assert self.sparsity is not None
                if turn <= self.settled * loop.steps:
                    kept = hard_threshold(first + Z, self.sparsity, facts.free) != 0
                moved = weights * np.where(kept, first + Z, 0.0)
            else:
                by = np.full(Z.size, loop.threshold * math.sqrt(variance))
                by[Z.size - facts.free :] = 0.0
                moved = weights * (first + soft_threshold(Z, by))
            w[support] = proximal_step(moved, walked * weights**2, facts.penalty, facts.free)
            if path is not None:
                path.add(w, oracle, thresholds=turn + 1)
        return w, first + Z


def column_weights(oracle: Oracle, rule: Weighting) -> Vector:
    """Noisy weights of the features that make rows about as long as 1; 1 for the intercept."""
    facts = oracle.facts
    weights = np.ones(facts.dimension)
    head = slice(0, facts.n_features)
    floor = rule.floor
    if rule.balance_share:  # with no margin a slope is 1/2 less the class, so their mean tells how many are of each
        last = np.array([facts.n_features])
        slope = oracle.weighted_gradient(
            np.zeros(facts.dimension), np.array([1 / facts.intercept]), norm=0.5, support=last, ask="balance"
        )
        floor *= rule.held if 0.5 - abs(float(slope[0])) < rule.rare else 1.0
    weights[head] = np.sqrt(floor / np.maximum(oracle.absolute_means(ask="means"), floor))
    shown = weights.copy()
    shown[facts.n_features :] = 0.0
    size = oracle.row_size(shown, top=rule.row_norm, ask="size")
    weights[head] /= rule.fill * min(max(size, rule.least * rule.row_norm), rule.row_norm)
    return weights


__all__ = ["Averaging", "DualAveraging", "Weighting"]
