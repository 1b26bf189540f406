r"""From questions to exact integer sums, with how far one record can move them.

Guarantee
---------
A `Measurement` states, for its integer sum, a bound on the l2 norm and on every coordinate of what one record
contributes. Between neighbours the sum then moves by at most :math:`\kappa` times these (see `Adjacency`), unless a
tighter bound on the *difference* of two records' contributions is stated for replace-one.

* ``Gradient``: `PrivateRows.gradient_sum` enforces the `Clip`: norm :math:`C_2`; coordinate j at most
  :math:`\min(C_2, C_\infty, R\,B_j, C_j)` for the bounds that the clip names (:math:`B_j`: largest entry of column j).
* ``GradientChange``: norm `change` per record, enforced like a clip.
* ``Squares``: a row contributes :math:`x_{ij}^2 \le B_j^2`; its norm is
  :math:`\sqrt{\sum_j x_{ij}^4} \le B_\infty K_2`. All contributions are non-negative, so two of them differ by at most
  :math:`B_j^2` in a coordinate and, since :math:`\|a-b\|^2 \le \|a\|^2 + \|b\|^2` for non-negative vectors, by at most
  :math:`\sqrt2\,B_\infty K_2` in norm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.rows import SUM_UNITS, PrivateRows
from ..facts import Clip, Vector
from ..losses import Loss
from ..oracle import Gradient, GradientChange, Minimum, PerturbedMinimum, Squares, Sum
from ..privacy.adjacency import Adjacency
from ..privacy.errors import PrivacyError
from ..statistics import exact_minimum

#: Steps of the released lattice per bound on one record's norm.
RELEASE_UNITS = 2.0**20


@dataclass(frozen=True, eq=False)
class Reach:
    """How far one record can move a sum, in real units.

    `pair_norm` and `pair_entry` bound the difference of two records' contributions where that is less than twice one.
    """

    norm: float
    entry: Vector
    pair_norm: float | None = None
    pair_entry: Vector | None = None

    def l2(self, relation: Adjacency) -> float:
        """l2 sensitivity of the sum."""
        per_entry = float(np.linalg.norm(self.linf(relation)))
        if relation is Adjacency.REPLACE_ONE:
            return min(2 * self.norm if self.pair_norm is None else self.pair_norm, per_entry)
        return min(self.norm, per_entry)

    def l1(self, relation: Adjacency) -> float:
        """l1 sensitivity of the sum."""
        return min(float(self.linf(relation).sum()), math.sqrt(self.entry.size) * self.l2(relation))

    def linf(self, relation: Adjacency) -> Vector:
        """Sensitivity of each coordinate."""
        if relation is Adjacency.REPLACE_ONE:
            return 2 * self.entry if self.pair_entry is None else self.pair_entry
        return self.entry


@dataclass(frozen=True, eq=False)
class Measurement:
    """An exact integer sum: `total` counts `unit`; answers are rounded to `coarse` units before they get noise.

    Both are numbers, or one for each coordinate.
    """

    total: NDArray[np.int64]
    unit: float | Vector
    reach: Reach
    coarse: int | NDArray[np.int64] = 1

    @property
    def values(self) -> Vector:
        """The sum in real units; private."""
        return self.total.astype(np.float64) * self.unit


def gradient_reach(clip: Clip, rows: PrivateRows, support: NDArray[np.intp] | None = None) -> Reach:
    """What `clip` allows one record to contribute to a gradient sum."""
    entry = np.full(rows.facts.dimension, min(clip.norm, clip.entry or clip.norm))
    if clip.slope is not None:
        entry = np.minimum(entry, clip.slope * rows.coordinate_bounds)
    if clip.columns is not None:
        entry = np.minimum(entry, clip.columns)
    return Reach(clip.norm, entry if support is None else entry[support])


def measure(question: Sum, rows: PrivateRows, loss: Loss, chosen: NDArray[np.bool_] | None = None) -> Measurement:
    """The exact sum that answers a question, over all rows or over the chosen ones."""
    facts = rows.facts
    coarse = int(SUM_UNITS / RELEASE_UNITS)
    if isinstance(question, Gradient):
        if question.support is not None:
            _each_once(question.support, facts.dimension)
        total = rows.gradient_sum(loss, question.w, question.clip, support=question.support, chosen=chosen)
        reach = gradient_reach(question.clip, rows, question.support)
        return Measurement(total, question.clip.norm / SUM_UNITS, reach, coarse)
    if isinstance(question, GradientChange):
        total = rows.change_sum(loss, question.w, question.anchor, question.clip, question.change, chosen=chosen)
        reach = Reach(question.change, np.full(facts.dimension, question.change))
        return Measurement(total, question.change / SUM_UNITS, reach, coarse)
    if isinstance(question, Squares):
        if chosen is not None:  # its tighter bound on pairs of records is not one that sampling is priced with
            raise PrivacyError("squares are asked of every row; plan them with EveryRow().")
        total, unit = rows.square_sum()
        entry = rows.coordinate_bounds**2
        norm = float(rows.coordinate_bounds.max()) * rows.norm_bound
        reach = Reach(norm, entry, pair_norm=math.sqrt(2) * norm, pair_entry=entry)
        return Measurement(total, unit, reach, max(1, int(norm / RELEASE_UNITS / unit)))
    raise TypeError(f"no sum answers {type(question).__name__}.")


def _each_once(support: NDArray[np.intp], dimension: int) -> None:
    """Refuse a support that names a coordinate twice: it would be released twice for the price of once."""
    if support.ndim != 1 or support.dtype.kind != "i" or np.unique(support).size != support.size:
        raise PrivacyError("a support must hold the positions of coordinates, each once.")
    if support.size and not (support.min() >= 0 and support.max() < dimension):
        raise PrivacyError(f"a support must lie within the {dimension} coordinates.")


def exact_mean(question: Sum, rows: PrivateRows, loss: Loss, share: float, chosen: NDArray[np.bool_] | None) -> Vector:
    """The same answer without clip or noise, for the exact oracle."""
    if isinstance(question, Gradient):
        return rows.exact_gradient_sum(loss, question.w, support=question.support, chosen=chosen) / share
    if isinstance(question, GradientChange):
        here = rows.exact_gradient_sum(loss, question.w, chosen=chosen)
        return (here - rows.exact_gradient_sum(loss, question.anchor, chosen=chosen)) / share
    if isinstance(question, Squares):
        return rows.exact_square_sum() / share
    raise TypeError(f"no sum answers {type(question).__name__}.")


def exact_estimate(question: Minimum, rows: PrivateRows, loss: Loss) -> Vector:
    """A minimiser without clip, tilt or noise, or its labels, for the exact oracle."""
    theta = exact_minimum(rows, loss, question.support, question.ridge)
    return theta if isinstance(question, PerturbedMinimum) or question.design is None else question.design @ theta
