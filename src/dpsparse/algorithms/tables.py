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
noise, only the median is released, and of classes, whose slopes are bounded, a path on rows in
units of their declared bound, drawn back by its own noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..core.budget import Budget
from ..core.facts import Facts, Projection, Vector
from ..core.plan import Noise, Plan
from ..ops import groups_of, largest_groups
from ..queries.kinds import (
    CentredModel,
    Indices,
    Oracle,
    Path,
    ResidualMean,
)
from .column_locations import ColumnLocations
from .constants import ENGINE, RACE, TABLES
from .engine import Queries, believed
from .finish import Score, clear_part
from .newton import newton
from .select_polish import SelectAndPolish
from .table_descent import Descent
from .table_schedule import DENSE, SPARSE, TableSchedule


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
    rare : bool
        Whether columns are rare indicators, whose means will be known from elsewhere when it runs.
    selection_noise, noise : Noise
        What protects a choice, and a sum.
    """

    level: float
    few_coefficients: tuple[SelectAndPolish, ...] = ()
    rare: bool = False
    selection_noise: Noise = Noise.GUMBEL
    noise: Noise = Noise.GAUSSIAN

    def plan(self, facts: Facts, budget: Budget) -> Plan:
        """Everything that will be asked."""
        others = [runner.plan(facts, budget) for runner in self._runners]
        return self._schedule(facts).plan(gaussian=self.noise, gumbel=self.selection_noise, others=others)

    def releases_constant(self, facts: Facts) -> bool:
        """Whether nothing but the constant is released."""
        return self._schedule(facts).constant

    def _schedule(self, facts: Facts) -> TableSchedule:
        return TableSchedule.of(facts, self.level, race=bool(self.few_coefficients), rare=self.rare)

    @property
    def _runners(self) -> list[SelectAndPolish]:
        return [
            replace(runner, noise=self.noise, selection_noise=self.selection_noise) for runner in self.few_coefficients
        ]

    def run(self, oracle: Oracle, path: Path | None = None, origin: ColumnLocations | None = None) -> Vector:
        """Return the coefficients; everything here is post-processing."""
        schedule, queries = self._schedule(oracle.facts), Queries(oracle)
        if schedule.constant:
            return queries.constant(schedule.level)
        descent, origin = _all_columns(queries, schedule, _start(queries, schedule), path, origin)
        if schedule.newton:
            return _result(newton(descent, descent.square))
        for number, phase in enumerate(schedule.phases[:-1]):
            descent.run(phase)
            if self.few_coefficients:
                few = self._few(descent, origin, number)
                oracle.take_branch(SPARSE if few else DENSE)
                if few:
                    return self._runners[number].run(oracle, path, origin)
        return _result(_last_columns(descent, origin).run(schedule.phases[-1]))

    def _few(self, descent: Descent, origin: ColumnLocations | None, number: int) -> bool:
        """Whether few coefficients are expected to explain enough of what many would."""
        sparsity = self.few_coefficients[number].sparsity
        if origin is not None and origin.heavy_tailed(sparsity, descent.facts.half_widths):
            return False
        gain = descent.expected(sparsity, number)
        early = number < len(self.few_coefficients) - 1
        needed = RACE.pair.early if early else RACE.pair.late
        return gain.few > needed[descent.schedule.classes] * gain.many


# ------------------------------------------------------------------------------------------------ start


def _start(queries: Queries, schedule: TableSchedule) -> tuple[float, float]:
    """The median, or the log-odds of the class share, for the path and for a constant; 0 without an intercept."""
    if not schedule.free:
        return 0.0, 0.0
    if schedule.classes:
        return queries.log_odds()[:2]
    points = ENGINE.whole.thin_median_points if schedule.thin else ENGINE.whole.median_points
    return (queries.median(points),) * 2


# ------------------------------------------------------------------------------------------------ frames


def _all_columns(
    queries: Queries,
    schedule: TableSchedule,
    start: tuple[float, float],
    path: Path | None,
    origin: ColumnLocations | None,
) -> tuple[Descent, ColumnLocations | None]:
    """A path on all columns, from their means; and what was answered about those."""
    facts = queries.facts
    everything = np.arange(facts.n_features)
    centre = np.zeros(facts.n_features)
    if schedule.means:
        origin = ColumnLocations.learn(queries, schedule.lengths, schedule.middle)
    if origin is not None:
        centre = origin.means
    elif facts.means is not None and schedule.free:
        centre = facts.means
    longest = facts.row_bound + float(np.linalg.norm(centre))
    columns, asks = (everything, centre), ("gram", "length")
    return _descent(queries, schedule, columns, longest, start, path, asks, schedule.gram), origin


def _last_columns(descent: Descent, origin: ColumnLocations | None) -> Descent:
    """A new path on the columns with the largest coefficients in units of their half-widths.

    Or the groups of columns with the largest. Where all are kept, the same.
    """
    queries, schedule, facts = descent.queries, descent.schedule, descent.facts
    if schedule.keep is None or schedule.declared_scale:
        return descent
    best = _largest(descent, schedule.keep)
    centre = descent.frame.centre[best]
    longest = min(facts.row_bound, float(np.linalg.norm(facts.half_widths[best]))) + float(np.linalg.norm(centre))
    asks, gram = ("last gram", "last length"), schedule.last_gram
    elsewhere = 1.0 if origin is None else origin.rows_elsewhere(best, facts.half_widths)
    return _descent(
        queries, schedule, (best, centre), longest, (descent.start, descent.home), descent.path, asks, gram, elsewhere
    )


def _largest(descent: Descent, keep: int) -> Indices:
    """The columns, or groups of columns, with the largest coefficients in units of their half-widths."""
    facts = descent.facts
    sizes = np.abs(descent.features()) * facts.half_widths
    if facts.groups is not None:
        return largest_groups(sizes, facts.groups, groups_of(keep, facts.groups))
    return np.sort(np.argsort(-sizes, kind="stable")[:keep])


def _descent(
    queries: Queries,
    schedule: TableSchedule,
    columns: tuple[Indices, Vector],
    longest: float,
    start: tuple[float, float],
    path: Path | None,
    asks: tuple[str, str],
    gram: float,
    elsewhere: float = 1.0,
) -> Descent:
    """A path on some columns and their centre, whitened if a Gram matrix has a share."""
    support, centre = columns
    matrix, square = None, 0.0
    if gram:
        frame = Projection(support=support, centre=centre)
        length = queries.row_length(
            frame, schedule.lengths(longest), schedule.middle, f"length for {asks[0]}", elsewhere
        )
        found, noise = queries.gram(support, centre, length, asks[0])
        matrix, largest = whitening(found, noise, length)
        square = mean_eigenvalue(found, length)
        longest *= largest
    frame = Projection(support=support, centre=centre, matrix=matrix)
    length = ENGINE.clear_length * longest
    if not schedule.declared_scale:
        length = queries.row_length(frame, schedule.lengths(longest), schedule.middle, asks[1], elsewhere)
    constant = TABLES.constant * schedule.free
    frame = Projection(support=support, centre=centre, matrix=matrix, length=length, constant=constant)
    return Descent(queries, schedule, frame, start, path, square / length**2, elsewhere)


def mean_eigenvalue(gram: Vector, norm: float) -> float:
    """Of a noisy Gram matrix of rows within a norm; at least a small part of what rows of that length have."""
    d = gram.shape[0]
    return float(max(np.trace(gram) / d, ENGINE.gram_floor * norm**2 / d))


def whitening(gram: Vector, noise: float, norm: float) -> tuple[Vector, float]:
    r"""A root of the inverse of a noisy Gram matrix, and its largest singular value.

    The matrix is drawn towards a multiple h of the identity as far as its noise asks for (of its
    squared distance :math:`\|A - hI\|^2`, :math:`\sigma^2d(d+1)/2` is noise), and the edge of the
    noise that is left is added to its eigenvalues: the identity, up to a rotation, where the matrix
    is noise. Rows in the frame have their former mean square.
    """
    d = gram.shape[0]
    typical = mean_eigenvalue(gram, norm)
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
    schedule, facts, queries = descent.schedule, descent.facts, descent.queries
    if schedule.declared_scale:
        return _believed(descent)
    part, offset = 1.0, descent.intercept()
    if schedule.slope:
        assert descent.clip is not None
        score = Score(descent.frame.support, descent.frame.centre, descent.features(), descent.start, offset)
        clip = max(TABLES.class_slope_clip, descent.clip) if schedule.classes else descent.clip
        part, offset = schedule.finish.run(queries, score, clip, descent.widest)
    elif schedule.classes:
        part = descent.kept()
        offset = descent.home + min(1.0, part) * (offset - descent.home)
    found = descent.full(part, offset)
    if schedule.mean_residual:
        found[-1] += mean_residual(descent, part, offset) / facts.intercept
    if descent.path is not None:
        descent.path.add(found, queries.oracle)
    return found


def _believed(descent: Descent) -> Vector:
    """The coefficients as far as the gradient at the start stands clear of noise, without a query; or the largest.

    Noise of the class share is in that gradient along the mean row, which is at most about as long as a typical one.
    """
    schedule, facts = descent.schedule, descent.facts
    gradient, variance = descent.trail.start()
    share = 1 / (schedule.level * math.sqrt(schedule.question))
    part = believed(gradient, math.sqrt(variance + share**2 / gradient.size))
    found = descent.full(part, descent.start + part * (descent.intercept() - descent.start))
    if schedule.keep is not None:
        dropped = np.setdiff1d(np.arange(facts.n_features), _largest(descent, schedule.keep))
        found[dropped] = 0.0
    if descent.path is not None:
        descent.path.add(found, descent.queries.oracle)
    return found


def mean_residual(descent: Descent, part: float, offset: float) -> float:
    """What is added to the constant.

    Minus the mean of residuals within a wide clip, as far as it stands clear of twice its noise.
    """
    assert descent.clip is not None
    model = CentredModel(descent.frame.support, descent.frame.centre, part * descent.features(), offset)
    query = ResidualMean(model, TABLES.residual_clip * descent.clip)
    answer, noise = descent.queries.noisy(query, "mean residual")
    return -clear_part(float(answer[0]), 2 * noise)
