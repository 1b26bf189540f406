r"""Ordinary tables: private means, noise-aware whitening, then a noisy path in phases.

The clips and the lengths of the phases are answers of queries.

.. math:: z = \bigl((x - \tilde\mu)\tilde M/\tilde R,\; .3\bigr), \qquad w \leftarrow w - e_t v_t, \qquad
          v_t = .9 v_{t-1}
          + .1\,\tfrac1n\Bigl(\textstyle\sum_i \mathrm{clip}_{\tilde C}(\phi'_i z_i)
          + \text{noise}\Bigr)

Whatever has a tilde is a noisy answer: means of columns, a root of their Gram matrix that is the
identity where the matrix is noise, a typical length of rows, and before every phase a typical size
of gradients. Declared bounds may be far too wide: they set the range of grids, and not the noise.
Where noise may dominate, the slope of the target on the score is asked at the end, and the score is
shrunk towards the constant by it; where even a typical norm of rows cannot be distinguished from
noise, only the median is released.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..core.budget import Budget
from ..core.facts import Facts, Projection, Vector
from ..core.plan import Noise, Plan
from ..queries.kinds import (
    CentredModel,
    Indices,
    Oracle,
    Path,
    ProjectedGradient,
    ProjectedModel,
    ResidualMean,
)
from .column_locations import ColumnLocations
from .constants import ENGINE, RACE, SPREAD, TABLES
from .engine import Queries
from .select_polish import SelectAndPolish
from .table_descent import Descent
from .table_schedule import DENSE, SPARSE, TableSchedule, grid


@dataclass(frozen=True, kw_only=True)
class TableDescent:
    """Descent on a table.

    Parameters
    ----------
    level : float
        N: rows times the Gaussian budget, in units of replace-one neighbours; public choices are
        made for it, never a noise scale.
    few_coefficients : tuple of SelectAndPolish
        Who takes over, after the first phase and after the second, if few coefficients are enough;
        empty: nobody.
    selection_noise, noise : Noise
        What protects a choice, and a sum.
    """

    level: float
    few_coefficients: tuple[SelectAndPolish, ...] = ()
    selection_noise: Noise = Noise.GUMBEL
    noise: Noise = Noise.GAUSSIAN

    def plan(self, facts: Facts, budget: Budget) -> Plan:
        """Everything that will be asked."""
        others = [runner.plan(facts, budget) for runner in self._runners]
        return self._schedule(facts).plan(gaussian=self.noise, gumbel=self.selection_noise, others=others)

    def _schedule(self, facts: Facts) -> TableSchedule:
        return TableSchedule.of(facts, self.level, race=bool(self.few_coefficients))

    @property
    def _runners(self) -> list[SelectAndPolish]:
        return [
            replace(runner, noise=self.noise, selection_noise=self.selection_noise) for runner in self.few_coefficients
        ]

    def run(self, oracle: Oracle, path: Path | None = None) -> Vector:
        """Return the coefficients; everything here is post-processing."""
        schedule = self._schedule(oracle.facts)
        queries = Queries(oracle)
        start = _start(queries, schedule)
        if schedule.constant:
            return Descent(queries, schedule, NO_FEATURE, start, path).full()
        descent, origin = _all_columns(queries, schedule, start, path)
        for number, phase in enumerate(schedule.phases[:-1]):
            descent.run(phase)
            if self.few_coefficients and self._few(descent, origin, number):
                oracle.take_branch(SPARSE)
                return self._runners[number].run(oracle, path, origin)
            if self.few_coefficients:
                oracle.take_branch(DENSE)
        return _result(_last_columns(descent).run(schedule.phases[-1]))

    def _few(self, descent: Descent, origin: ColumnLocations | None, number: int) -> bool:
        """Whether few coefficients are enough: after the first phase only if that is clear, or many have little hope.

        Where nothing is clear after the second, many columns of which a few may matter are taken to
        be so, and others not.
        """
        schedule, sparsity = descent.schedule, self.few_coefficients[number].sparsity
        if origin is not None and origin.heavy_tailed(descent.frame.length, sparsity, descent.facts.half_widths):
            return False
        evidence, several = descent.evidence(sparsity), schedule.n_features >= TABLES.whole.soft_columns
        if number < len(self.few_coefficients) - 1:
            hopeless = several and schedule.kappa < RACE.hopeless_kappa
            return evidence.many < 1 and (evidence.sparse_signal > RACE.clear_few or hopeless)
        doubtful = min(evidence.sparse_signal / RACE.few_over_many, RACE.most_many)
        if evidence.many > max(RACE.pair.many[several], doubtful):
            return False
        return several or evidence.sparse_signal > RACE.least_few


# ------------------------------------------------------------------------------------------------ start


NO_FEATURE = Projection(support=np.zeros(0, dtype=np.intp), centre=np.zeros(0))


def _start(queries: Queries, schedule: TableSchedule) -> float:
    """The median, or part of the log-odds of the noisy class share; 0 without an intercept."""
    if not schedule.free:
        return 0.0
    if schedule.classes:
        share, _ = queries.class_share()
        part = 1.0 if schedule.constant else TABLES.class_start
        return part * math.log(share / (1 - share))
    return queries.median(TABLES.whole.thin_median_points if schedule.thin else ENGINE.whole.median_points)


# ------------------------------------------------------------------------------------------------ frames


def _all_columns(
    queries: Queries, schedule: TableSchedule, start: float, path: Path | None
) -> tuple[Descent, ColumnLocations | None]:
    """A path on all columns, from their means; and what was told about those."""
    facts = queries.facts
    everything = np.arange(facts.n_features)
    centre, origin = np.zeros(facts.n_features), None
    if facts.means is not None and schedule.free:
        centre = facts.means
    elif schedule.means:
        origin = ColumnLocations.learn(queries, schedule.lengths, schedule.middle)
        centre = origin.means
    longest = facts.row_bound + float(np.linalg.norm(centre))
    columns, asks = (everything, centre), ("gram", "length")
    return _descent(queries, schedule, columns, longest, start, path, asks, schedule.gram), origin


def _last_columns(descent: Descent) -> Descent:
    """A new path on the columns with the largest coefficients in units of their half-widths.

    Where all are kept, the same.
    """
    queries, schedule, facts = descent.queries, descent.schedule, descent.facts
    if schedule.keep is None:
        return descent
    sizes = np.abs(descent.features()) * facts.half_widths
    best = np.sort(np.argsort(-sizes, kind="stable")[: schedule.keep])
    centre = descent.frame.centre[best]
    longest = min(facts.row_bound, float(np.linalg.norm(facts.half_widths[best]))) + float(np.linalg.norm(centre))
    asks = ("last gram", "last length")
    return _descent(queries, schedule, (best, centre), longest, descent.start, descent.path, asks, schedule.last_gram)


def _descent(
    queries: Queries,
    schedule: TableSchedule,
    columns: tuple[Indices, Vector],
    longest: float,
    start: float,
    path: Path | None,
    asks: tuple[str, str],
    gram: float,
) -> Descent:
    """A path on some columns and their centre, whitened if a Gram matrix has a share."""
    support, centre = columns
    matrix = None
    if gram:
        frame = Projection(support=support, centre=centre)
        length = queries.row_length(frame, schedule.lengths(longest), schedule.middle, f"length for {asks[0]}")
        matrix, largest = whitening(*queries.gram(support, centre, length, asks[0]), length)
        longest *= largest
    frame = Projection(support=support, centre=centre, matrix=matrix)
    length = TABLES.guess * longest
    if not schedule.guesses:
        length = queries.row_length(frame, schedule.lengths(longest), schedule.middle, asks[1])
    constant = TABLES.constant * schedule.free
    frame = Projection(support=support, centre=centre, matrix=matrix, length=length, constant=constant)
    return Descent(queries, schedule, frame, start, path)


def whitening(gram: Vector, noise: float, norm: float) -> tuple[Vector, float]:
    r"""A root of the inverse of a noisy Gram matrix, and its largest singular value.

    The matrix is drawn towards a multiple h of the identity as far as its noise asks for (of its
    squared distance :math:`\|A - hI\|^2`, :math:`\sigma^2d(d+1)/2` is noise), and the edge of the
    noise that is left is added to its eigenvalues: the identity, up to a rotation, where the matrix
    is noise. Rows in the frame have their former mean square.
    """
    d = gram.shape[0]
    typical = max(float(np.trace(gram)) / d, ENGINE.gram_floor * norm**2 / d)
    spread = gram - typical * np.eye(d)
    kept = 1 - min(1.0, noise**2 * d * (d + 1) / 2 / max(float((spread**2).sum()), 1e-300))
    values, vectors = np.linalg.eigh(kept * spread)
    edge = kept * noise * math.sqrt(2 * d)
    values = np.maximum(values + typical, 0.0) + edge + TABLES.gram_ridge * typical
    scale = np.sqrt(typical / values)
    return vectors * scale, float(scale.max())


# ------------------------------------------------------------------------------------------------ end


def _result(descent: Descent) -> Vector:
    """The coefficients, drawn back by the slope and with a last step of the constant where these are asked for."""
    schedule, facts = descent.schedule, descent.facts
    part = slope(descent) if schedule.slope else 1.0
    found = descent.full(part)
    if schedule.finish:
        found[-1] += finish(descent, part) / facts.intercept
    if descent.path is not None:
        descent.path.add(found, descent.queries.oracle)
    return found


def slope(descent: Descent) -> float:
    """Slope of the target on the score, in two private dimensions.

    It is 1 unless it is clearly below 1, and 0 where the score is noise.
    """
    queries, schedule, clip = descent.queries, descent.schedule, descent.clip
    assert clip is not None
    support, centre = descent.frame.support, descent.frame.centre
    score = Projection(support=support, centre=centre, matrix=descent.features()[:, None])
    least, most = TABLES.pair.spread_grid
    points = grid(least * clip, most * clip, TABLES.whole.spread_points, schedule.thin)
    model = ProjectedModel(score, np.zeros(1), 0.0)
    unit = SPREAD.length_factor * queries.quantile("rows", model, SPREAD.length_quantile, points, "spread")
    plane = replace(score, length=unit, constant=TABLES.slope_constant * schedule.free)
    theta = np.r_[unit, [(descent.intercept() - descent.start) / TABLES.slope_constant] * plane.free]
    mean, skipped = 0.0, TABLES.whole.slope_skipped
    for turn in range(TABLES.whole.slope_steps):
        answer, _ = queries.noisy(ProjectedGradient(ProjectedModel(plane, theta, descent.start), clip), "slope")
        theta = theta - 0.5 * answer
        mean += float(theta[0]) / (TABLES.whole.slope_steps - skipped) * (turn >= skipped)
    level = schedule.level * math.sqrt(schedule.slope)
    noise = TABLES.slope_noise * 2 * clip / level / TABLES.slope_bend / unit
    found = mean / unit
    if found >= 1 - 2 * noise:
        return 1.0
    return max(0.0, found) * max(0.0, 1 - (noise / max(abs(found), 1e-12)) ** 2)


def finish(descent: Descent, part: float) -> float:
    """What is added to the constant.

    Minus the mean of residuals within a wide clip, as far as it stands clear of twice its noise.
    """
    clip = descent.clip
    assert clip is not None
    constant = descent.start + part * (descent.intercept() - descent.start)
    model = CentredModel(descent.frame.support, descent.frame.centre, part * descent.features(), constant)
    answer, noise = descent.queries.noisy(ResidualMean(model, TABLES.finish_clip * clip), "finish")
    mean = float(answer[0])
    return -mean * max(0.0, 1 - (2 * noise / max(abs(mean), 1e-300)) ** 2)
