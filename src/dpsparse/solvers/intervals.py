r"""Intervals after selection: what part A is asked once its model is known, and what part B is asked.

A model of part A selects features S. Part A then says how its selected columns lie (means, lengths, second moments) and how large residuals are; part B
answers one question about score, Gram matrix and meat at that pilot (two for classes, whose score is not linear), and one Newton step gives estimates and their
covariance (see `one_step`). All clips of B are public before B is touched.

Constants were chosen on simulated data, and coverage hardly depends on any but the clip c: quantiles .8 for lengths and residuals; :math:`Q^2 = 1.25\,p` for columns of second
moment 1; c = 1.5 for the target ``robust`` and :math:`c = .23\,\mu\sqrt{n_B/p}` within [2.5, 5] for ``mean``, so that the noise of the score stays below about .7 of its sampling error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..facts import Vector
from ..oracle import Centred, ColumnMeans, Gram, Indices, Oracle, Quantile, ScoreMoments, Within
from ..privacy.plan import Ask, Noise, Plan
from .one_step import Moments, Step, damped_step, newton_step

#: Shares of part A's budget that its last asks take.
SHARES = {"lengths": 0.006, "centre": 0.010, "norms": 0.006, "columns": 0.020, "clip": 0.012, "kept": 0.006}
#: Points of the grids, and how far below the largest possible value they reach: lengths, residuals.
POINTS, SHORTEST, SMALLEST = 49, 0.01, 1 / 300
#: Quantile of lengths and of residuals; second moment of rows at that quantile for each column.
MIDDLE, FILL = 0.8, 1.25
#: Rows of A are held at so many times their quantile for means and second moments.
ROOM = 1.2
#: Clip of residuals over their quantile: of a robust target; least and most for the mean, and the factor of its rule.
ROBUST, LEAST, MOST, FACTOR = 1.5, 2.5, 5.0, 0.23
#: A pilot of numbers whose predictions would spread beyond the bound of targets is noise, and is held there; so is one of classes beyond these log-odds.
LARGEST_MARGIN = 3.0
#: Weights of the first and second step of classes.
STEPS = (0.25, 0.75)
#: Most coefficients: (c n_B mu)^(2/3). Beyond `GOOD_CAP` they are expected to be wide.
CAP, GOOD_CAP = 0.087, 0.04
#: Name of the ask of part B.
MOMENTS = "score moments"


def most_coefficients(n_rows: int, mu: float, factor: float = CAP) -> int:
    r"""How many coefficients so many rows of part B carry: :math:`(c\,n_B\mu)^{2/3}`.

    The spectrum of the Gram matrix's noise reaches :math:`\sigma_H\sqrt{2p}` with :math:`\sigma_H \propto p/\mu`, and the matrix grows with :math:`n_B`.

    Examples
    --------
    >>> most_coefficients(2500, 0.26), most_coefficients(10_000, 0.26)
    (14, 37)
    """
    return max(1, int((factor * n_rows * mu) ** (2 / 3)))


@dataclass(frozen=True, eq=False)
class Pilot:
    """What part A leaves to part B: all public.

    Attributes
    ----------
    support : array of int
    centre, scale : arrays of the size of the support
        Columns are measured from and in.
    theta : array
        The pilot in these columns, the constant first where there is one.
    residual, norm : float
        Clips R and Q.
    kept : float
        Part of residuals within R.
    """

    support: Indices
    centre: Vector
    scale: Vector
    theta: Vector
    residual: float
    norm: float
    kept: float

    @property
    def constant(self) -> bool:
        """Whether there is a constant column."""
        return self.theta.size > self.support.size

    def model(self, theta: Vector) -> Centred:
        """The model of these coefficients."""
        offset = float(theta[0]) if self.constant else 0.0
        return Centred(self.support, self.centre, theta[int(self.constant) :] / self.scale, offset)


@dataclass(frozen=True, kw_only=True)
class SplitIntervals:
    """The public choices of intervals.

    Parameters
    ----------
    robust : bool
        Whether residuals are clipped narrowly: for another parameter than the mean where errors are skewed.
    classes, intercept : bool
    mu : float
        Gaussian budget of part B.
    n_rows : int
        Expected rows of part B.
    gram, meat : float
        Weights of the matrices beside the score; see `ScoreMoments`.
    most : int
        At most so many features.
    selection_noise, noise : Noise
    """

    robust: bool
    classes: bool
    intercept: bool
    mu: float
    n_rows: int
    gram: float
    meat: float
    most: int
    selection_noise: Noise = Noise.GUMBEL
    noise: Noise = Noise.GAUSSIAN

    # ---------------------------------------------------------------------------------------------- plans

    def asks(self, share: float) -> tuple[Ask, ...]:
        """What part A is asked last, in this order, beside a plan of this share."""
        kinds = [
            ("lengths", "Quantile", self.selection_noise, self.intercept),
            ("centre", "ColumnMeans", self.noise, self.intercept),
            ("norms", "Quantile", self.selection_noise, True),
            ("columns", "Gram", self.noise, True),
            ("clip", "Quantile", self.selection_noise, not self.classes),
            ("kept", "Within", self.noise, not self.classes),
        ]
        used = [(name, question, noise) for name, question, noise, asked in kinds if asked]
        unit = share / (1 - sum(SHARES[name] for name, _, _ in used))
        return tuple(
            Ask(name=_ask(name), question=question, noise=noise, share=unit * SHARES[name])
            for name, question, noise in used
        )

    def plan(self) -> Plan:
        """What part B is asked."""
        steps = STEPS if self.classes else (1.0,)
        return Plan(
            asks=(Ask(name=MOMENTS, question="ScoreMoments", noise=self.noise, times=len(steps), schedule=steps),)
        )

    # ---------------------------------------------------------------------------------------------- part A

    def clip(self, size: int) -> float:
        """c: the clip of residuals over their quantile, for so many columns."""
        if self.robust:
            return ROBUST
        return min(max(FACTOR * self.mu * math.sqrt(self.n_rows / size), LEAST), MOST)

    def pilot(self, oracle: Oracle, w: Vector) -> Pilot | None:
        """Ask part A what B must know; None where no feature was selected."""
        facts, d = oracle.facts, oracle.facts.n_features
        order = np.argsort(-np.abs(w[:d]), kind="stable")[: self.most]
        support = np.sort(order[w[order] != 0])
        m = support.size
        if m == 0:
            return None
        centre, own = np.zeros(m), w[support]
        longest = min(facts.row_bound, facts.feature_bound * math.sqrt(m))
        if self.intercept:
            length = self._length(oracle, Centred(support, centre, own, 0.0), longest, "lengths")
            means = oracle.answer(ColumnMeans(support, ROOM * length), _ask("centre"))
            centre = np.clip(means, -facts.feature_bound, facts.feature_bound)
            longest += float(np.linalg.norm(centre))
        limit = LARGEST_MARGIN if self.classes else facts.target_bound
        offset = float(w[-1]) * facts.intercept + float(centre @ own) if self.intercept else 0.0
        offset = min(max(offset, -limit), limit)
        length = self._length(oracle, Centred(support, centre, own, offset), longest, "norms")
        scale = self._scale(oracle, Centred(support, centre, own, offset), length)
        own = own * min(1.0, limit / max(float(np.linalg.norm(own * scale)), 1e-300))
        model = Centred(support, centre, own, offset)
        theta = np.concatenate([[offset] * self.intercept, own * scale])
        residual, kept = (1.0, 1.0) if self.classes else self._residuals(oracle, model, theta.size)
        return Pilot(support, centre, scale, theta, residual, math.sqrt(FILL * theta.size), kept)

    def _length(self, oracle: Oracle, model: Centred, longest: float, ask: str) -> float:
        return _quantile(oracle, "rows", model, np.geomspace(SHORTEST * longest, longest, POINTS), ask)

    def _scale(self, oracle: Oracle, model: Centred, length: float) -> Vector:
        """Sizes of columns: of one size together, told apart as far as they differ by more than noise."""
        m = model.support.size
        question = Gram(model.support, model.centre, ROOM * length)
        noise = oracle.deviation(question, _ask("columns"), 0)
        row, column = np.triu_indices(m)
        diagonal = np.asarray(oracle.answer(question, _ask("columns")))[row == column]
        mean = float(diagonal.mean())
        shape = np.ones(m)
        if mean > 3 * noise / math.sqrt(m):
            apart = diagonal / mean - 1
            believed = max(0.0, 1 - (noise / mean) ** 2 / max(float(np.mean(apart**2)), 1e-300))
            shape = np.maximum(1 + believed * apart, max(0.02, 2 * noise / mean))
        return np.asarray(length / math.sqrt(FILL * m) * np.sqrt(shape))

    def _residuals(self, oracle: Oracle, model: Centred, size: int) -> tuple[float, float]:
        """The clip of residuals, and the part of them within it."""
        high = min(oracle.facts.target_bound, oracle.facts.slope_bound)
        typical = _quantile(oracle, "slopes", model, np.geomspace(SMALLEST * high, high, POINTS), "clip")
        residual = self.clip(size) * typical
        kept = float(oracle.answer(Within(model, residual), _ask("kept"))[0])
        return residual, min(max(kept, 0.5), 1.0)

    # ---------------------------------------------------------------------------------------------- part B

    def run(self, oracle: Oracle, pilot: Pilot) -> Step:
        """Ask part B, and take the step; for classes a damped one before it."""
        theta, times = pilot.theta, oracle.plan[MOMENTS].times
        for turn in range(times - 1):
            theta = damped_step(theta, self._moments(oracle, pilot, theta, turn), pilot.kept)
        return newton_step(theta, self._moments(oracle, pilot, theta, times - 1), pilot.kept)

    def _moments(self, oracle: Oracle, pilot: Pilot, theta: Vector, turn: int) -> Moments:
        question = ScoreMoments(
            pilot.model(theta), pilot.scale, pilot.constant, pilot.residual, pilot.norm, self.gram, self.meat
        )
        noise = oracle.deviation(question, MOMENTS, turn)
        told = np.asarray(oracle.answer(question, MOMENTS))
        return Moments.of(told, noise, question, oracle.facts.n_rows, classes=self.classes)


def _quantile(oracle: Oracle, of: str, model: Centred, grid: Vector, ask: str) -> float:
    """A quantile: the middle of the cell that holds it, whose upper end would be too large on average."""
    cell = int(oracle.answer(Quantile(of, model, MIDDLE, grid), _ask(ask))[0])
    return math.sqrt(float(grid[max(cell - 1, 0)] * grid[cell]))


def _ask(name: str) -> str:
    return f"interval {name}"
