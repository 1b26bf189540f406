r"""Intervals after selection: what part A is asked once its model is known, and what part B is asked.

A model of part A selects features S. Part A then says how its selected columns lie (means, lengths,
second moments) and how large residuals are; part B answers one query about score, Gram matrix
and meat at that pilot (two for classes, whose score is not linear), and one Newton step gives
estimates and their covariance (see `one_step`). All clips of B are public before B is touched;
`interval_clips` says where they are.

"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..core.facts import Projection, Vector
from ..core.plan import Ask, Noise, Plan
from ..queries.kinds import (
    CentredModel,
    ColumnMeans,
    CountWithin,
    Indices,
    Oracle,
    ProjectedModel,
    Quantile,
    ScoreMoments,
)
from .constants import INTERVALS, constants
from .engine import Queries
from .interval_clips import Clips, Pilot
from .one_step import Moments, Step, damped_step, newton_step

#: Shares of part A's budget that its last asks take.
SHARES = constants("intervals", "shares").values
#: Name of the ask of part B.
MOMENTS = "score moments"


def most_coefficients(n_rows: int, mu: float, factor: float = INTERVALS.cap) -> int:
    r"""How many coefficients the rows of part B carry: :math:`(c\,n_B\mu)^{2/3}`.

    The spectrum of the Gram matrix's noise reaches :math:`\sigma_H\sqrt{2p}` with
    :math:`\sigma_H \propto p/\mu`, and the matrix grows with :math:`n_B`.

    Examples
    --------
    >>> most_coefficients(2500, 0.26), most_coefficients(10_000, 0.26)
    (14, 37)
    """
    return max(1, int((factor * n_rows * mu) ** (2 / 3)))


@dataclass(frozen=True, kw_only=True)
class SplitIntervals:
    r"""The public choices of intervals.

    Parameters
    ----------
    robust : bool
        Whether residuals are clipped narrowly: for another parameter than the mean where errors are
        skewed.
    classes, intercept : bool
    mu : float
        Gaussian budget of part B.
    n_rows : int
        Expected rows of part B.
    gram, meat : float
        Weights of the matrices beside the score; see `ScoreMoments`.
    most : int
        At most this number of features.
    reading : float
        Scale of the selection's noise, in rows, if it had all of part A's budget:
        :math:`2/\epsilon` with :math:`\epsilon^2/8 = \mu^2/2`, in which selections of this kind are
        priced.
    members : array of shape (n_features,) or None
        The group of each feature: a group is inferred as a whole, or not at all.
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
    reading: float
    members: Indices | None = None
    selection_noise: Noise = Noise.GUMBEL
    noise: Noise = Noise.GAUSSIAN

    @property
    def clips(self) -> Clips:
        """Where residuals and rows are held."""
        reading = self.reading / math.sqrt(SHARES["reach"])
        return Clips(self.robust, self.classes, self.mu, self.n_rows, self.gram, reading)

    # ---------------------------------------------------------------------------------------------- plans

    def asks(self, share: float) -> tuple[Ask, ...]:
        """What part A is asked last, in this order, beside a plan of this share."""
        kinds = [
            ("lengths", "Quantile", self.selection_noise, self.intercept),
            ("centre", "ColumnMeans", self.noise, self.intercept),
            ("norms", "Quantile", self.selection_noise, True),
            ("columns", "Gram", self.noise, True),
            ("reach", "Quantile", self.selection_noise, not self.robust),
            ("clip", "Quantile", self.selection_noise, not self.classes),
            ("kept", "CountWithin", self.noise, not self.classes),
        ]
        used = [(name, question, noise) for name, question, noise, asked in kinds if asked]
        unit = share / (1 - sum(SHARES[name] for name, _, _ in used))
        return tuple(
            Ask(name=_ask(name), question=question, noise=noise, share=unit * SHARES[name])
            for name, question, noise in used
        )

    def plan(self) -> Plan:
        """What part B is asked."""
        steps = INTERVALS.several.steps if self.classes else (1.0,)
        return Plan(
            asks=(Ask(name=MOMENTS, question="ScoreMoments", noise=self.noise, times=len(steps), schedule=steps),)
        )

    # ---------------------------------------------------------------------------------------------- part A

    def pilot(self, oracle: Oracle, w: Vector) -> Pilot | None:
        """Ask part A what B must know; None where no feature was selected."""
        queries, facts, d = Queries(oracle), oracle.facts, oracle.facts.n_features
        support = whole_groups(w[:d], self.members, self.most)
        m = support.size
        if m == 0:
            return None
        centre, own = np.zeros(m), w[support]
        longest = min(facts.row_bound, facts.feature_bound * math.sqrt(m))
        if self.intercept:
            length = _length(queries, CentredModel(support, centre, own, 0.0), longest, "lengths")
            means = oracle.answer(ColumnMeans(support, INTERVALS.length_factor * length), _ask("centre"))
            centre = np.clip(means, -facts.feature_bound, facts.feature_bound)
            longest += float(np.linalg.norm(centre))
        limit = INTERVALS.largest_margin if self.classes else facts.target_bound
        offset = float(w[-1]) * facts.intercept + float(centre @ own) if self.intercept else 0.0
        offset = min(max(offset, -limit), limit)
        length = _length(queries, CentredModel(support, centre, own, offset), longest, "norms")
        scale = self._scale(queries, CentredModel(support, centre, own, offset), length)
        own = own * min(1.0, limit / max(float(np.linalg.norm(own * scale)), 1e-300))
        model = CentredModel(support, centre, own, offset)
        theta = np.concatenate([[offset] * self.intercept, own * scale])
        norm, beyond = self._norm(queries, model, scale)
        if self.classes:
            return Pilot(support, centre, scale, theta, 1.0, norm, 1.0, beyond, beyond, INTERVALS.class_deviation)
        residual, kept, clipped, typical = self._residuals(queries, model, norm)
        return Pilot(support, centre, scale, theta, residual, norm, kept, beyond, beyond + clipped, typical)

    def _scale(self, queries: Queries, model: CentredModel, length: float) -> Vector:
        """Sizes of columns: of one size together, distinguished as far as they differ by more than noise."""
        m = model.support.size
        held = INTERVALS.length_factor * length
        matrix, noise = queries.gram(model.support, model.centre, held, _ask("columns"))
        diagonal = np.diag(matrix)
        mean = float(diagonal.mean())
        shape = np.ones(m)
        if mean > 3 * noise / math.sqrt(m):
            apart = diagonal / mean - 1
            believed = max(0.0, 1 - (noise / mean) ** 2 / max(float(np.mean(apart**2)), 1e-300))
            shape = np.maximum(1 + believed * apart, max(INTERVALS.least_shape, 2 * noise / mean))
        return np.asarray(length / math.sqrt(INTERVALS.fill * m) * np.sqrt(shape))

    def _norm(self, queries: Queries, model: CentredModel, scale: Vector) -> tuple[float, float]:
        """Q, and the part of rows that are longer."""
        facts, size = queries.facts, scale.size + self.intercept
        least = math.sqrt(INTERVALS.fill * size)
        if self.robust:
            return least, 1 - INTERVALS.middle
        corner = float(np.linalg.norm((facts.feature_bound + np.abs(model.centre)) / scale))
        longest = min(corner, (facts.row_bound + float(np.linalg.norm(model.centre))) / float(scale.min()))
        grid = np.geomspace(
            INTERVALS.norm_depth * least, max(math.hypot(longest, self.intercept), least), INTERVALS.whole.finer
        )
        frame = Projection(
            support=model.support, centre=model.centre, matrix=np.diag(1 / scale), constant=float(self.intercept)
        )
        beyond = self.clips.beyond(facts.n_rows)
        found = queries.quantile(
            "rows", ProjectedModel(frame, np.zeros(frame.size), 0.0), 1 - beyond, grid, _ask("reach")
        )
        held = self.clips.largest_norm(size)
        return (held, 1 - INTERVALS.middle) if found > held else (max(found, least), beyond)

    def _residuals(self, queries: Queries, model: CentredModel, norm: float) -> tuple[float, float, float, float]:
        """The clip of residuals, two parts of them, and about their standard deviation.

        The parts are the one within the clip, and the one that is surely beyond it.
        """
        high = min(queries.facts.target_bound, queries.facts.slope_bound)
        grid = np.geomspace(1 / INTERVALS.residual_depth * high, high, INTERVALS.whole.points)
        typical = _quantile(queries, "slopes", model, grid, "clip")
        question = CountWithin(model, self.clips.residual(norm) * typical)
        answer, noise = queries.noisy(question, _ask("kept"))
        kept = min(max(float(answer[0]), 0.5), 1.0)
        return question.bound, kept, max(0.0, 1 - kept - noise), 1 / INTERVALS.deviation * typical

    # ---------------------------------------------------------------------------------------------- part B

    def run(self, oracle: Oracle, pilot: Pilot) -> Step:
        """Ask part B, and take the step; for classes a damped one before it."""
        theta, queries = pilot.theta, Queries(oracle)
        for _ in range(oracle.plan[MOMENTS].times - 1):
            theta = damped_step(theta, self._moments(queries, pilot, theta), pilot.kept)
        moments = self._moments(queries, pilot, theta)
        moved = 0.0 if self.robust else pilot.limited * pilot.typical * moments.n_rows
        return newton_step(theta, moments, pilot.kept, moved)

    def _moments(self, queries: Queries, pilot: Pilot, theta: Vector) -> Moments:
        question = ScoreMoments(
            pilot.model(theta), pilot.scale, pilot.constant, pilot.residual, pilot.norm, self.gram, self.meat
        )
        return Moments.of(*queries.noisy(question, MOMENTS), question, queries.facts.n_rows, classes=self.classes)


def whole_groups(w: Vector, members: Indices | None, most: int) -> Indices:
    """The features of the groups of the largest l2 norm that are not zero, at most `most` features together.

    Examples
    --------
    >>> whole_groups(np.array([0.0, 3.0, 2.0, 0.0, 1.0]), np.array([0, 0, 1, 1, 2]), 4).tolist()
    [0, 1, 2, 3]
    """
    own = np.arange(w.size) if members is None else members
    norms, sizes = np.bincount(own, weights=w**2), np.bincount(own)
    order = np.argsort(-norms, kind="stable")
    order = order[norms[order] > 0]
    return np.flatnonzero(np.isin(own, order[np.cumsum(sizes[order]) <= most]))


def _ask(name: str) -> str:
    return f"interval {name}"


def _length(queries: Queries, model: CentredModel, longest: float, ask: str) -> float:
    points = np.geomspace(INTERVALS.shortest * longest, longest, INTERVALS.whole.points)
    return _quantile(queries, "rows", model, points, ask)


def _quantile(queries: Queries, of: str, model: CentredModel, grid: Vector, ask: str) -> float:
    """A quantile: the middle of the cell that holds it, whose upper end would be too large on average."""
    cell = int(queries.oracle.answer(Quantile(of, model, INTERVALS.middle, grid), _ask(ask))[0])
    return math.sqrt(float(grid[max(cell - 1, 0)] * grid[cell]))
