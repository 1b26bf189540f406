r"""What polishing asks: exact integer sums over a few centred features, and choices on public grids, with their reach.

Write :math:`a_i = x_{i,S} - \mu` for a row on a support S of m features, :math:`\phi'_i` for the slope of its loss at the
question's model. Everything a record adds is computed by elementwise operations from that record and the question, so it
does not depend, not even in its last bit, on the other rows; it is put on a lattice by truncation towards zero, which only
shrinks it; and integers are summed. A record that is not finite adds nothing.

Guarantee
---------
One record's contribution, and how far the sum moves when a record is replaced (R) or added or removed (A):

* ``ResidualMean``: :math:`\mathrm{clip}(\phi', \pm R)`, within :math:`[-R, R]`. R: 2R. A: R.
* ``ColumnMeans``: :math:`x_S`, entries within the bounds :math:`B_j` of their columns and norm within
  :math:`N = \min(K_2, \|B_S\|)`. R: 2N. A: N.
* ``CentredGradient``: :math:`c\,a` with :math:`|c| \le C/\|a\|`, norm within C. R: 2C. A: C.
* ``Curvature``: within :math:`[0, h]`, :math:`h = \beta\,\mathrm{norm}^2/m`, since the second derivative is held within
  :math:`[0,\beta]` and f within [0, 1]. Two numbers in [0, h] differ by at most h. R and A: h.
* ``Gram``: :math:`b b^\top` for :math:`b = a\min(1, Q/\|a\|)`. Its Frobenius norm is :math:`\|b\|^2 \le Q^2`. A: :math:`Q^2`. R:
  :math:`\|bb^\top - cc^\top\|_F^2 = \|b\|^4 + \|c\|^4 - 2\langle b,c\rangle^2 \le 2Q^4`, so :math:`\sqrt2\,Q^2`. b is an
  integer vector in units of :math:`Q\,2^{-18}`, so the products are exact. The upper triangle with off-diagonal
  entries times :math:`\sqrt2` has the same norm, because each of them stands twice in the matrix; rounding these
  multiples to integers, and the float product, move each number by less than 2 units, hence two sums apart by less than
  :math:`4\sqrt M` units (of :math:`Q^2 2^{-36}`) for M numbers: part of the stated reach. Dividing by :math:`\sqrt2` after the
  noise leaves variance :math:`\sigma^2` on the diagonal and :math:`\sigma^2/2` off it.
* ``Correlation``: :math:`c\,\mathrm{clip}(x, \pm e)` with :math:`|c| \le R`: coordinate j within
  :math:`R\min(B_j, e)`, norm within :math:`R\min(K_2, e\sqrt d)`. Its movements are twice these (R) or once (A), and scores
  follow as in `scores`: the range of two magnitudes is :math:`\min(2\max_j D_j, \sqrt2\,D_2)`.
* ``Quantile``: a record adds :math:`1[v \le e] - q` to :math:`T(e) = \#\{v\le e\} - q\#\{v\}` if its value counts, else 0, and the
  score is :math:`-|T(e)|`. A: T moves by :math:`1-q` or by :math:`-q`, each score by at most :math:`\max(q, 1-q)`, the difference
  of two by at most :math:`2\max(q,1-q)`. R: two values that count cancel in q, T moves by at most 1, the difference of
  two scores by at most 2; a value that stops or begins to count moves less, as in A.
* ``TypicalEntry``: a record adds 1 to one bin. A: 1. R: one bin falls while another rises, so the range is 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.columns import Columns
from ..data.rows import PrivateRows
from ..facts import Vector
from ..losses import Loss
from ..oracle import (
    Centred,
    CentredGradient,
    Choice,
    ColumnMeans,
    Correlation,
    Curvature,
    Gram,
    Polish,
    Quantile,
    ResidualMean,
)
from ..privacy.adjacency import Adjacency
from ..privacy.errors import PrivacyError
from .measure import Measurement, Reach

#: Steps of the fine lattice per bound on one record; times the rows of a block below 2^53.
UNITS = 2.0**30
#: Steps of the lattice of rows in a Gram matrix per bound on their norm: products are below 2^36.
GRAM_UNITS = 2.0**18
#: Steps of the released lattice per bound on one record.
RELEASED = 2.0**20
#: Norms are floats: rows are held within this part of their bound. Covers the sums of 2^16 squares.
SLACK = 1.0 - 2.0**-36
#: Step of the difference quotient that stands in for a second derivative.
STEP = 1e-4
#: Covers the rounding of scores, which are differences of counts.
ROUNDING = 1.0 + 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class _Seen:
    """A block of rows as a model sees it; private."""

    away: Vector
    norms: Vector
    slopes: Vector
    margins: Vector
    given: Columns


def polish_reach(question: Polish, rows: PrivateRows) -> Reach:
    """How far one record can move the sum: see the module's guarantee."""
    if isinstance(question, ResidualMean):
        return Reach(_bound(question.bound), np.array([question.bound]))
    if isinstance(question, ColumnMeans):
        bounds = rows.coordinate_bounds[_features(question.support, rows)]
        return Reach(min(rows.norm_bound, float(np.linalg.norm(bounds)) * (1 + 1e-12)), bounds)
    if isinstance(question, CentredGradient):
        return Reach(_bound(question.clip), np.full(question.model.support.size, question.clip))
    if isinstance(question, Curvature):
        top = np.array([rows.facts.curvature * _bound(question.norm) ** 2 / question.model.support.size])
        return Reach(float(top[0]), top, pair_norm=float(top[0]), pair_entry=top)
    if isinstance(question, Gram):
        square = _bound(question.norm) ** 2
        row, column = np.triu_indices(question.support.size)
        unit = square / GRAM_UNITS**2
        norm, more = square, 4 * unit * math.sqrt(row.size)
        off = np.where(row == column, 1.0, math.sqrt(0.5))
        entry = norm * off + 4 * unit
        pairs = norm * np.where(row == column, 1.0, math.sqrt(2)) + 4 * unit
        return Reach(norm + more, entry, pair_norm=math.sqrt(2) * norm + more, pair_entry=pairs)
    applied, _ = rows.clipped_lattice(_bound(question.entry))
    slope, d = _bound(question.slope), rows.facts.n_features
    bounds = np.minimum(rows.coordinate_bounds, applied) * slope
    bounds[d:] = 0.0
    return Reach(slope * min(rows.norm_bound, applied * math.sqrt(d)), bounds)


def polish_sum(question: Polish, rows: PrivateRows, loss: Loss) -> Measurement:
    """The exact integer sum that answers a question."""
    reach = polish_reach(question, rows)
    if isinstance(question, Correlation):
        entry, units = rows.clipped_lattice(question.entry)
        total = rows.clipped_sum(_clipped_slopes(question, rows, loss, units), entry)
        padded = np.r_[total, np.zeros(rows.facts.free, dtype=np.int64)]
        return Measurement(padded, rows.unit * question.slope / units, reach)
    if isinstance(question, Gram):
        unit = question.norm**2 / GRAM_UNITS**2
        matrix = np.zeros((question.support.size,) * 2, dtype=np.int64)
        for part in _gram_rows(question, rows, GRAM_UNITS):
            matrix += (part.T @ part).astype(np.int64)
        return Measurement(np.rint(_upper(matrix)).astype(np.int64), unit, reach, int(GRAM_UNITS**2 / RELEASED))
    unit = reach.norm / UNITS
    total = np.zeros(reach.entry.size, dtype=np.int64)
    for part in _contributions(question, rows, loss):
        total += np.trunc(part / unit).sum(axis=0).astype(np.int64)
    return Measurement(total, unit, reach, int(UNITS / RELEASED))


def exact_polish(question: Polish, rows: PrivateRows, loss: Loss, share: float) -> Vector:
    """The same answer in floats and without noise; its clips, which are part of what is asked, stay."""
    if isinstance(question, Correlation):
        total = rows.clipped_sum(_clipped_slopes(question, rows, loss, None), question.entry) * rows.unit
        return np.asarray(np.r_[total, np.zeros(rows.facts.free)] / share)
    if isinstance(question, Gram):
        matrix = np.zeros((question.support.size,) * 2)
        for part in _gram_rows(question, rows, None):
            matrix += part.T @ part
        return np.asarray(_upper(matrix) / share)
    total = np.zeros(polish_reach(question, rows).entry.size)
    for part in _contributions(question, rows, loss):
        total += part.sum(axis=0)
    return np.asarray(total / share)


def choice_scores(question: Choice, rows: PrivateRows, loss: Loss, relation: Adjacency) -> tuple[Vector, float]:
    """Scores of the points of a grid, or of bins, and how far the difference of two of them can move."""
    if isinstance(question, Quantile):
        if not 0 < question.part < 1 or question.of not in ("slopes", "gradients", "rows", "targets"):
            raise PrivacyError(f"no quantile of this kind: {question.part!r} of {question.of!r}.")
        grid = question.grid * (1 + 1e-6 * (question.of != "targets"))
        below, counted = np.zeros(grid.size), 0
        for seen in _seen(question.model, rows, loss):
            values = _values(question.of, seen)
            counted += values.size
            below += np.searchsorted(np.sort(values), grid, side="right")
        moved = 2.0 if relation is Adjacency.REPLACE_ONE else 2 * max(question.part, 1 - question.part)
        return -np.abs(below - question.part * counted), moved * ROUNDING
    counts = np.zeros(question.edges.size - 1)
    for middle, largest in rows.typical_entries():
        size = np.where(largest > 0, largest, question.part * middle)
        bins = np.searchsorted(question.edges[1:-1], size[size > 0], side="right")
        counts += np.bincount(bins, minlength=counts.size)
    return counts, 2.0 if relation is Adjacency.REPLACE_ONE else 1.0


# ------------------------------------------------------------------------------------------------ inside


def _bound(value: float) -> float:
    if not (math.isfinite(value) and value > 0):
        raise PrivacyError(f"a bound must be positive and finite, got {value!r}.")
    return float(value)


def _features(support: NDArray[np.intp], rows: PrivateRows) -> NDArray[np.intp]:
    """The support, if it names features, each once: a copy would be released twice for the price of once."""
    if support.dtype.kind != "i" or np.unique(support).size != support.size:
        raise PrivacyError("a support must hold the positions of features, each once.")
    if support.size and not (support.min() >= 0 and support.max() < rows.facts.n_features):
        raise PrivacyError(f"a support must lie within the {rows.facts.n_features} features.")
    return support


def _away(support: NDArray[np.intp], centre: Vector, rows: PrivateRows) -> Iterator[tuple[Vector, Vector, Columns]]:
    """Centred rows on a support and their norms, block by block; column by column, so that each row stands alone."""
    if centre.shape != support.shape or not np.all(np.isfinite(centre)):
        raise PrivacyError("a centre must hold one finite number for each feature of the support.")
    for given in rows.columns(_features(support, rows)):
        away = np.empty_like(given.x, order="F")
        squares = np.zeros(given.y.size)
        for i, centre_i in enumerate(centre):
            away[:, i] = (given.x[:, i] - centre_i) * given.alive
            squares += away[:, i] ** 2
        yield away, np.sqrt(squares), given


def _seen(model: Centred, rows: PrivateRows, loss: Loss) -> Iterator[_Seen]:
    """Margins and slopes of all rows, block by block."""
    for away, norms, given in _away(model.support, model.centre, rows):
        margins = np.full(given.y.size, float(model.offset))
        for i, w in enumerate(model.w):
            margins += away[:, i] * w
        yield _Seen(away, norms, _slope(loss, margins, given), margins, given)


def _slope(loss: Loss, margins: Vector, given: Columns) -> Vector:
    limit = np.finfo(float).max
    with np.errstate(over="ignore", invalid="ignore"):
        slope = loss.slope(margins, given.y)
    return np.asarray(np.nan_to_num(slope, nan=0.0, posinf=limit, neginf=-limit) * given.alive)


def _held(seen: _Seen, clip: float) -> Vector:
    """Largest slope of each row for which its gradient is within `clip`; infinite for a row of zeros."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(clip * SLACK / seen.norms)


def _contributions(question: Polish, rows: PrivateRows, loss: Loss) -> Iterator[Vector]:
    """What each row adds, one line for each."""
    if isinstance(question, ColumnMeans):
        norm = polish_reach(question, rows).norm
        for x, lengths, _ in _away(question.support, np.zeros(question.support.size), rows):
            yield x * (norm * SLACK / np.maximum(lengths, norm * SLACK))[:, None]
        return
    assert isinstance(question, ResidualMean | CentredGradient | Curvature)
    for seen in _seen(question.model, rows, loss):
        if isinstance(question, ResidualMean):
            yield np.clip(seen.slopes, -question.bound, question.bound)[:, None]
            continue
        cap = _held(seen, question.clip)
        if isinstance(question, CentredGradient):
            yield np.clip(seen.slopes, -cap, cap)[:, None] * seen.away
        else:
            with np.errstate(divide="ignore", over="ignore"):
                kept = np.minimum(1.0, cap / np.abs(seen.slopes))
            lengths = np.minimum(seen.norms, question.norm)
            bent = _curvature(loss, seen, rows.facts.curvature)
            yield (kept * bent * lengths**2 / question.model.support.size)[:, None]


def _curvature(loss: Loss, seen: _Seen, top: float) -> Vector:
    """Second derivative of the loss of each row, by a difference quotient, within [0, top]."""
    ahead, behind = (_slope(loss, seen.margins + step, seen.given) for step in (STEP, -STEP))
    with np.errstate(over="ignore"):
        quotient = ahead / (2 * STEP) - behind / (2 * STEP)
    return np.clip(quotient, 0.0, top)


def _gram_rows(question: Gram, rows: PrivateRows, units: float | None) -> Iterator[Vector]:
    """Rows within the norm; whole numbers of them, `units` to the norm, if given."""
    for away, norms, _ in _away(question.support, question.centre, rows):
        limit = question.norm * SLACK
        held = away * (limit / np.maximum(norms, limit))[:, None]
        yield held if units is None else np.trunc(held / (question.norm / units))


def _upper(matrix: Any) -> Vector:
    """Upper triangle, off-diagonal entries times the root of two."""
    row, column = np.triu_indices(matrix.shape[0])
    return np.asarray(matrix[row, column] * np.where(row == column, 1.0, math.sqrt(2)))


def _values(of: str, seen: _Seen) -> Vector:
    """The values that count for a quantile."""
    if of == "targets":
        return seen.given.y[seen.given.alive > 0]
    with np.errstate(over="ignore"):
        sizes = {"slopes": np.abs(seen.slopes), "rows": seen.norms, "gradients": np.abs(seen.slopes) * seen.norms}[of]
    return np.asarray(sizes[sizes > 0])


def _clipped_slopes(question: Correlation, rows: PrivateRows, loss: Loss, units: float | None) -> list[Vector]:
    """Clipped slopes of all rows; whole numbers of them, `units` to the clip, if given."""
    slopes = [np.clip(seen.slopes, -question.slope, question.slope) for seen in _seen(question.model, rows, loss)]
    return slopes if units is None else [np.trunc(s / (question.slope / units)) for s in slopes]
