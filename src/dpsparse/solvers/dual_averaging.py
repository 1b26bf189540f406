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
that rare ones count too, by a fixed power or by what the path was told (`evidence`); the refit looks at the
coordinates that won, where rows are short, and runs the loop once more on them alone. A penalty enters through its proximal map, as in
regularised dual averaging [X10]_.

Weights may change along the path, so sums are kept in units of the columns as they are: :math:`U_{t+1} = U_t - \eta_t a_t^2\circ v_t` for the
mean gradient in these units, with noise of variance :math:`V_{t+1} = V_t + (\eta_t\sigma_t a_t)^2` in each column. With fixed weights
:math:`U = a\circ Z`.

More than two classes are one matrix, a column of coefficients for each: one release, whose noise does not grow with their number. What is
known about it costs nothing: the true gradient sums to zero over the classes, so the mean of each row of an answer is noise, and is taken away.

References
----------
.. [X10] Xiao, Journal of Machine Learning Research 2010, Algorithm 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..facts import Facts, Vector
from ..ops import hard_threshold, proximal_step, soft_threshold
from ..oracle import Indices, JointGradient, Oracle, Path, WeightedGradient
from ..privacy.budget import Budget
from ..privacy.plan import Ask, Noise, Plan
from .column_weights import Weighting, sized_weights, told_columns
from .evidence import Evidence
from .steps import DOUBT, Pace
from .walked import Walked


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
        Features of the result, kept or dropped for all classes together; None: what soft thresholding leaves.
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
        """What the weights take, then gradients, each with a budget proportional to its step."""
        joint = facts.target.joint
        asks = () if self.weighting is None else self.weighting.asks(self.noise)
        asks += (self._gradients("gradient", self.loop, joint),)
        if self.refit is not None:
            size = Ask(name="support size", question="RowSize", noise=self.noise, share=self.refit_size_share)
            asks += (size, self._gradients("refit", self.refit, joint))
        return Plan(asks=asks)

    def _gradients(self, name: str, loop: Averaging, joint: bool) -> Ask:
        return Ask(
            name=name,
            question="JointGradient" if joint else "WeightedGradient",
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
        weights[facts.n_features :] = self.intercept_weight
        evidence, loop = None, self.loop
        start = facts.first()
        if self.weighting is not None and self.weighting.followed:
            evidence = Evidence(told_columns(oracle, self.weighting), facts)
            weights[: facts.n_features] *= evidence.columns.weights(self.weighting.power)
            if evidence.columns.rare:
                loop = replace(loop, length=self.weighting.longer * loop.length)
        elif self.weighting is not None:
            weights[: facts.n_features] *= sized_weights(oracle, self.weighting)
        w, ranks = self._average(oracle, "gradient", loop, start, weights, everything, path, evidence)
        if self.sparsity is None or self.sparsity >= facts.n_features:
            return w
        if self.refit is None:
            kept = hard_threshold(_sizes(w) / weights, self.sparsity, facts.free) != 0
            return w if self.lazy else np.where(_column(kept, w), w, 0.0)
        best = np.sort(np.argsort(-ranks[: facts.n_features], kind="stable")[: self.sparsity])
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
        evidence: Evidence | None = None,
    ) -> tuple[Vector, Vector]:
        """The loop from `start` on the coordinates of `support`, the intercept last; `weights` follow the evidence, in place.

        Returns the iterate, and the sizes of the path's sums without any threshold, over a multiple of their noise.
        """
        facts = oracle.facts
        whole = support.size == facts.dimension
        at, everywhere = (slice(None), None) if whole else (support, support)
        kind = JointGradient if facts.target.joint else WeightedGradient
        classes = facts.target.n_classes if facts.target.joint else 1
        w, first = start.copy(), start[at].copy()
        U, v, room = np.zeros_like(first), np.zeros_like(first), np.empty_like(first)
        kept = np.ones(support.size, dtype=bool)
        sums = Walked.start(weights)
        stride = None if self.pace is None else self.pace.start(loop.steps)
        before: tuple[Vector, Vector] | None = None
        sizes = loop.sizes
        for turn, step in enumerate(sizes):
            if evidence is not None and self._follow(
                evidence, turn, float(np.sum(sizes[:turn])) / loop.length, weights
            ):
                sums = sums.go_on(weights)
            question = kind(w, weights.copy(), loop.clip, everywhere)
            told = np.asarray(oracle.answer(question, ask)).reshape(first.shape)
            deviation = oracle.deviation(question, ask, turn)
            if stride is not None:
                here = w[at] / _column(weights, first)
                if before is not None:
                    stride.see(told - before[1], here - before[0], DOUBT * math.sqrt(2) * deviation)
                before, step = (here, told), stride.take(step)
            g = np.multiply(told, _column(sums.inverse, first), out=room)
            if classes > 1:
                g -= (g @ np.full(classes, 1 / classes))[:, None]
            if evidence is not None:
                head = slice(0, facts.n_features)
                slope = float(g[-1]) / facts.intercept if facts.free and classes == 1 else 0.0
                evidence.add(step, g[head], deviation * sums.inverse[head], slope)
            v *= loop.momentum
            g *= 1 - loop.momentum
            v += g
            sums.add(step, step * deviation)
            U -= np.multiply(v, _column(sums.squares * step, U), out=room)
            if self.lazy:
                assert self.sparsity is not None
                if turn <= self.settled * loop.steps:
                    kept = hard_threshold(_sizes(first + U) / weights, self.sparsity, facts.free) != 0
                moved = np.where(_column(kept, U), first + U, 0.0)
            elif loop.threshold:
                by = loop.threshold * np.sqrt(sums.variance * (1.0 if classes == 1 else (classes - 1) / classes))
                by[by.size - facts.free :] = 0.0
                moved = soft_threshold(U, _column(by, U))
                moved += first
            else:
                moved = first + U
            if facts.penalty.active:
                moved = proximal_step(moved, _column(sums.walked, U), facts.penalty, facts.free)
            w[at] = moved
            if path is not None:
                path.add(w, oracle, thresholds=turn + 1)
        return w, _sizes(first + U) / np.sqrt(sums.walked)

    def _follow(self, evidence: Evidence, turn: int, spent: float, weights: Vector) -> bool:
        """Change the weights of the features to those that the evidence speaks for, where it is time to look; tells whether they changed."""
        assert self.weighting is not None
        if turn % self.weighting.every or spent <= self.weighting.after:
            return False
        found = evidence.weights()
        if found is not None:
            weights[: found.size] = self.column_weight * found
        return found is not None


def _column(values: Vector, like: Vector) -> Vector:
    """Values of coordinates, as a column where there is one for each class."""
    return values.reshape(-1, *[1] * (like.ndim - 1))


def _sizes(w: Vector) -> Vector:
    """Size of each coordinate: absolute, or the norm over classes."""
    return np.abs(w) if w.ndim == 1 else np.asarray(np.sqrt((w**2).sum(axis=1)))


__all__ = ["Averaging", "DualAveraging", "Weighting"]
