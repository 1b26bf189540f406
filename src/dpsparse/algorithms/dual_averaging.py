r"""Dual averaging with momentum, whose noise does not depend on the number of steps.

.. math::
    v_t = \beta v_{t-1} + (1-\beta)\,\tilde g(w_t), \qquad
    Z_{t+1} = Z_t - \eta_t v_t, \qquad
    w_{t+1} = w_0 + a \circ S\bigl(Z_{t+1}\bigr)

:math:`\tilde g` is what the oracle answers about rows whose columns are multiplied by public
weights :math:`a`; gradients add up in :math:`Z`, and only where the next gradient is taken are they
thresholded: :math:`S` is soft thresholding by a multiple of the noise that :math:`Z` holds, or
(lazy hard thresholding) keeps the largest entries. Nothing that was learned is thrown away. Each
turn's budget is proportional to its step, so that with :math:`\tau = \sum_t\eta_t` the noise in
:math:`Z` is :math:`\tau\kappa C/(n\sqrt{2\rho})` for any number of steps: the length of the path
decides it, and steps are free.

Around the loop: `Weighting` asks for the mean absolute entry of every column and gives frequent
columns less weight, so that rare ones count too, by a fixed power or by the answers along the path
(`evidence`); the refit looks at the coordinates that won, where rows are short, and runs the loop
once more on them alone. A penalty enters through its proximal map, as in regularised dual averaging
[X10]_.

Weights may change along the path, so sums are kept in units of the columns as they are:
:math:`U_{t+1} = U_t - \eta_t a_t^2\circ v_t` for the mean gradient in these units, with noise of
variance :math:`V_{t+1} = V_t + (\eta_t\sigma_t a_t)^2` in each column. With fixed weights
:math:`U = a\circ Z`.

More than two classes are one matrix, a column of coefficients for each: one release, whose noise
does not grow with their number. What is known about it costs nothing: the true gradient sums to
zero over the classes, so the mean of each row of an answer is noise, and is taken away.

References
----------
.. [X10] Xiao, Journal of Machine Learning Research 2010, Algorithm 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..core.budget import Budget
from ..core.facts import Facts, Vector
from ..core.plan import Ask, Noise, Plan
from ..ops import groups_of, hard_threshold, largest_groups, proximal_step, soft_threshold
from ..queries.kinds import Indices, JointGradient, Oracle, Path, WeightedGradient
from .column_weights import Weighting, released_columns, sized_weights
from .constants import STEPS
from .engine import Queries, constant_only, constant_plan
from .finish import Finish, Score
from .signal_test import SignalTest
from .steps import PacedSteps, StepLimit


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
    momentum: float
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
        Features of the result, kept or dropped for all classes together; None: what soft
        thresholding leaves.
    lazy : bool
        Take every gradient at the `sparsity` largest entries, instead of thresholding softly.
    settled : float
        Part of the steps after which a lazy loop keeps its coordinates: entries that waited outside
        have added up to more than they are worth, and the rest of the path corrects those that came
        in.
    step_rule : PacedSteps or None
        Holds the steps of a lazy loop by what its answers show of the curvature. None: steps as
        planned.
    refit : Averaging or None
        Second run, on the coordinates that have the largest entries after the first.
    refit_size_share, refit_least, refit_fill : float
        Part of the budget for the mean length of rows on those coordinates, and what is made of it,
        as in `Weighting`.
    finish : Finish or None
        The slope of two classes on the score; None: not asked.
    level : float or None
        N: rows times the Gaussian budget, below a limit of which only the constant is released; None:
        the loop always runs.
    selection_noise, noise : Noise
        What protects a median, and a sum; ``Noise.NONE`` for the non-private baseline.
    """

    loop: Averaging
    column_weight: float
    intercept_weight: float
    weighting: Weighting | None = None
    sparsity: int | None = None
    lazy: bool = False
    settled: float = 1.0
    step_rule: PacedSteps | None = None
    refit: Averaging | None = None
    refit_size_share: float = 0.0
    refit_least: float = 1.0
    refit_fill: float = 1.0
    finish: Finish | None = None
    level: float | None = None
    selection_noise: Noise = Noise.GUMBEL
    noise: Noise = Noise.GAUSSIAN

    def releases_constant(self, facts: Facts) -> bool:
        """Whether nothing but the constant is released."""
        return self.level is not None and constant_only(facts, self.level)

    def plan(self, facts: Facts, budget: Budget) -> Plan:
        """What the weights take, then gradients, each with a budget proportional to its step."""
        joint = facts.target.joint
        if self.releases_constant(facts):
            return constant_plan(self.noise, self.selection_noise, classes=facts.target.classes, joint=joint)
        asks = () if self.weighting is None else self.weighting.asks(self.noise)
        asks += (self._gradients("gradient", self.loop, joint),)
        if self.refit is not None:
            size = Ask(name="support size", question="MeanRowNorm", noise=self.noise, share=self.refit_size_share)
            asks += (size, self._gradients("refit", self.refit, joint))
        if self.finish is not None:
            asks += tuple(self.finish.plan(self.noise, self.selection_noise))
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
        if self.level is not None and self.releases_constant(oracle.facts):
            return Queries(oracle).constant(self.level)
        w = self._path(oracle, path)
        return w if self.finish is None else self._calibrated(self.finish, oracle, w, path)

    def _calibrated(self, finish: Finish, oracle: Oracle, w: Vector, path: Path | None) -> Vector:
        """The model with the slope of the target on its score, and the constant beside it.

        Numbers are clipped at a typical residual.
        """
        facts, support = oracle.facts, np.flatnonzero(w[: oracle.facts.n_features])
        support = support if support.size else np.zeros(1, dtype=np.intp)
        offset = float(w[-1]) * facts.intercept * facts.free
        score = Score(support, np.zeros(support.size), w[support], None, offset)
        part, offset = finish.run(Queries(oracle), score, self.loop.clip, self.loop.clip)
        w = w.copy()
        w[support] *= part
        if facts.free:
            w[-1] = offset / facts.intercept
        if path is not None:
            path.add(w, oracle, thresholds=len(path.iterates))
        return w

    def _path(self, oracle: Oracle, path: Path | None) -> Vector:
        """The last iterate, sparse if asked for."""
        facts, steps = oracle.facts, self._start(oracle)
        w, ranks = self._average(steps, facts.first(), path)
        if self.sparsity is None or self.sparsity >= facts.n_features or (self.lazy and self.refit is None):
            return w
        if self.refit is None:
            kept = hard_threshold(_sizes(w) / steps.weights, self.sparsity, facts.free, facts.groups) != 0
            return np.where(_column(kept, w), w, 0.0)
        sizes = ranks[: facts.n_features]
        best = np.sort(np.argsort(-sizes, kind="stable")[: self.sparsity])
        if facts.groups is not None:
            best = largest_groups(sizes, facts.groups, groups_of(self.sparsity, facts.groups))
        again = self._restart(oracle, steps.weights, best)
        start = np.zeros_like(w)
        start[again.at] = w[again.at]
        return self._average(again, start, path)[0]

    def _average(self, steps: DualSteps, start: Vector, path: Path | None) -> tuple[Vector, Vector]:
        """Run the loop: its last iterate, and the sizes of the sums over a multiple of their noise.

        No threshold is applied to these sums.
        """
        w, first = start.copy(), start[steps.at].copy()
        Z, v = np.zeros_like(first), np.zeros_like(first)
        while steps.left:
            g, eta = steps.next(w)  # fresh arrays, of which there may be millions of numbers: changed in place
            v *= steps.loop.momentum
            v += np.multiply(g, 1 - steps.loop.momentum, out=g)
            Z -= np.multiply(eta, v, out=eta if eta.shape == v.shape else None)
            w[steps.at] = self._threshold(first, Z, steps)
            if path is not None:
                path.add(w, steps.oracle, thresholds=len(path.iterates) + 1)
        return w, _sizes(first + Z) / np.sqrt(steps.sums.lengths)

    def _threshold(self, first: Vector, Z: Vector, steps: DualSteps) -> Vector:
        """Where the next gradient is taken.

        Start and sum, thresholded lazily or softly, then the penalty's proximal map.
        """
        free, classes = steps.oracle.facts.free, steps.classes
        if self.lazy:
            moved = steps.largest(first + Z)
        elif steps.loop.threshold:
            by = steps.sums.variance * (1.0 if classes == 1 else (classes - 1) / classes)
            np.sqrt(by, out=by)
            by *= steps.loop.threshold
            by[by.size - free :] = 0.0
            moved = soft_threshold(Z, _column(by, Z))
            moved += first
        else:
            moved = first + Z
        penalty = steps.oracle.facts.penalty
        return proximal_step(moved, _column(steps.sums.lengths, Z), penalty, free) if penalty.active else moved

    def _start(self, oracle: Oracle) -> DualSteps:
        """The steps of the first run, on all coordinates, with weights of columns as `weighting` says."""
        facts, rule, loop, evidence = oracle.facts, self.weighting, self.loop, None
        weights = np.full(facts.dimension, self.column_weight)
        weights[facts.n_features :] = self.intercept_weight
        if rule is not None and rule.followed:
            evidence = SignalTest(released_columns(oracle, rule), facts)
            weights[: facts.n_features] *= evidence.columns.weights(rule.power)
            if evidence.columns.rare:
                loop = replace(loop, length=rule.longer * loop.length)
        elif rule is not None:
            weights[: facts.n_features] *= sized_weights(oracle, rule)
        return DualSteps(self, oracle, "gradient", loop, weights, None, evidence)

    def _restart(self, oracle: Oracle, weights: Vector, best: Indices) -> DualSteps:
        """The steps of the second run, on the best features and the intercept.

        Columns are scaled such that rows on these features have a norm of about 1.
        """
        support = np.r_[best, np.arange(oracle.facts.n_features, oracle.facts.dimension)]
        size = oracle.row_size(weights[best], top=1.0, support=best, ask="support size")
        weights[best] /= self.refit_fill * min(max(size, self.refit_least), 1.0)
        assert self.refit is not None
        return DualSteps(self, oracle, "refit", self.refit, weights[support], support)


class DualSteps:
    """The steps of one run: weighted gradients on some coordinates, and what is known about their noise.

    Parameters
    ----------
    solver : DualAveraging
    oracle : Oracle
    ask : str
        What the gradients are called in the plan.
    loop : Averaging
    weights : array
        Of the coordinates; they follow the evidence, in place.
    support : array of int, or None
        The coordinates, the intercept last; None: all.
    evidence : SignalTest or None
        What weights follow; None: they stay.
    """

    def __init__(
        self,
        solver: DualAveraging,
        oracle: Oracle,
        ask: str,
        loop: Averaging,
        weights: Vector,
        support: Indices | None,
        evidence: SignalTest | None = None,
    ) -> None:
        self.solver, self.oracle, self.ask, self.loop = solver, oracle, ask, loop
        self.weights, self.support, self.evidence = weights, support, evidence
        self.at: slice | Indices = slice(None) if support is None else support
        self.classes = oracle.facts.target.n_classes if oracle.facts.target.joint else 1
        self.sizes, self.turn = loop.sizes, 0
        self.sums, self.asked_weights = PathSums.start(weights), weights.copy()
        self.limit = None if solver.step_rule is None else StepLimit(solver.step_rule)
        self.before: tuple[Vector, Vector] | None = None
        self.kept = np.ones(weights.size, dtype=bool)

    @property
    def left(self) -> int:
        """Turns that are left."""
        return len(self.sizes) - self.turn

    def next(self, w: Vector) -> tuple[Vector, Vector]:
        """The gradient at `w`, in units of the columns as they are, and the step along each coordinate."""
        kind = JointGradient if self.oracle.facts.target.joint else WeightedGradient
        self._follow()
        query = kind(w, self.asked_weights, self.loop.clip, self.support)
        answer = np.asarray(self.oracle.answer(query, self.ask)).reshape(w[self.at].shape)
        noise = self.oracle.deviation(query, self.ask, self.turn)
        step = self._length(w, answer, noise)
        g = answer * _column(self.sums.inverse, answer)
        if self.classes > 1:  # the true gradient sums to zero over the classes
            g -= (g @ np.full(self.classes, 1 / self.classes))[:, None]
        if self.evidence is not None:
            facts, head = self.oracle.facts, slice(0, self.oracle.facts.n_features)
            slope = float(g[-1]) / facts.intercept if facts.free and self.classes == 1 else 0.0
            self.evidence.add(step, g[head], noise * self.sums.inverse[head], slope)
        self.sums.add(step, step * noise)
        self.turn += 1
        return g, _column(self.sums.squares * step, g)

    def largest(self, moved: Vector) -> Vector:
        """The largest entries in weighted columns; after a part of the steps, those on the coordinates of then."""
        assert self.solver.sparsity is not None
        if self.turn - 1 <= self.solver.settled * self.loop.steps:
            sizes = _sizes(moved) / self.weights
            facts = self.oracle.facts
            self.kept = hard_threshold(sizes, self.solver.sparsity, facts.free, facts.groups) != 0
        return np.where(_column(self.kept, moved), moved, 0.0)

    def _length(self, w: Vector, answer: Vector, noise: float) -> float:
        """The planned length of this step at `w`, or what answers allow."""
        step = self.sizes[self.turn]
        if self.limit is None:
            return step
        here = w[self.at] / _column(self.weights, answer)
        if self.before is not None:
            self.limit.see(answer - self.before[1], here - self.before[0], STEPS.doubt * math.sqrt(2) * noise)
        self.before = (here, answer)
        return self.limit.take(step)

    def _follow(self) -> None:
        """Change the weights of the features to those that the evidence speaks for, where it is time to look."""
        rule, spent = self.solver.weighting, float(np.sum(self.sizes[: self.turn])) / self.loop.length
        if self.evidence is None or rule is None or self.turn % rule.every or spent <= rule.after:
            return
        found = self.evidence.weights()
        if found is not None:
            self.weights[: found.size] = self.solver.column_weight * found
            self.sums, self.asked_weights = self.sums.reweighted(self.weights), self.weights.copy()


@dataclass
class PathSums:
    """What the steps of a path add up to in each coordinate: two numbers for all of them, as long as weights stay.

    Attributes
    ----------
    squares, inverse : array
        Squared and inverse weights.
    before : tuple of arrays, or None
        Lengths and variances under earlier weights.
    step_sum, noise_sum : float
        Sum of steps, and of squares of steps times standard deviations, under the present weights.
    """

    squares: Vector
    inverse: Vector
    before: tuple[Vector, Vector] | None = None
    step_sum: float = 0.0
    noise_sum: float = 0.0

    @classmethod
    def start(cls, weights: Vector) -> PathSums:
        """Before the first step."""
        return cls(weights**2, 1 / weights)

    def reweighted(self, weights: Vector) -> PathSums:
        """With other weights from here on."""
        return PathSums(weights**2, 1 / weights, (self.lengths, self.variance))

    def add(self, step: float, noise: float) -> None:
        """One step, with noise of this standard deviation in weighted columns."""
        self.step_sum += step
        self.noise_sum += noise**2

    @property
    def lengths(self) -> Vector:
        """Sum of steps times squared weights."""
        return self.step_sum * self.squares + (0.0 if self.before is None else self.before[0])

    @property
    def variance(self) -> Vector:
        """Variance of the noise in each coordinate."""
        return self.noise_sum * self.squares + (0.0 if self.before is None else self.before[1])


def _column(values: Vector, like: Vector) -> Vector:
    """Values of coordinates, as a column where there is one for each class."""
    return values.reshape(-1, *[1] * (like.ndim - 1))


def _sizes(w: Vector) -> Vector:
    """Size of each coordinate: absolute, or the norm over classes."""
    return np.abs(w) if w.ndim == 1 else np.asarray(np.sqrt((w**2).sum(axis=1)))


__all__ = ["Averaging", "DualAveraging", "Weighting"]
