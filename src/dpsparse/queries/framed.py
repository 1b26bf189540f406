r"""Queries about rows in the coordinates of a public frame: exact integer sums, as those of `gradient`.

Guarantee
---------
Rows :math:`Z_i` of a frame are whole numbers of a unit u, functions of their record alone (see
`rows.frames`).

* ``ProjectedGradient``: the factor of row i is an integer :math:`c_i = \mathrm{trunc}(\phi'_i/h)`,
  :math:`h = C/(Su)` with :math:`S` = ``Lattice.record_units``, clipped to
  :math:`\pm\lfloor S/\|Z_i\|_2\rfloor`, the exact norm rounded against us. Hence
  :math:`\|c_iZ_i\|_2 \le S` in units of :math:`C/S`: a record adds a vector of norm at most C.
  Replaced: :math:`2C`. Added or removed: C. A record of which nothing counts, or whose row is zero,
  adds nothing. A unit of several rows adds the sum of their gradients, clipped once
  (`queries.unit_sums`).
* ``Hessian``: :math:`bb^\top` for :math:`b = z\sqrt{f\,\ell''/\beta}\min(1, Q/\|z\|)`, where f is 0
  for a row that the clip holds and else 1, and :math:`\ell''/\beta` is clipped to :math:`[0, 1]`, and 0
  where it is no number, whatever :math:`\beta` a loss declares: the row is multiplied with a number in
  [0, 1] after it was clipped to Q, so :math:`\|b\| \le Q`, and everything that `polish` says of ``Gram``
  holds: Added or removed: :math:`Q^2`. Replaced: :math:`\sqrt2\,Q^2`, since
  :math:`\|bb^\top - cc^\top\|_F^2 = \|b\|^4 + \|c\|^4 - 2\langle b,c\rangle^2`. b is truncated to
  whole numbers of :math:`Q/q`, which only shortens it. Products of `PIECE_ROWS` rows add up to less than
  :math:`2^{53}`, exactly, and pieces are added as integers. Rows of a unit have the root of their weights,
  as those of ``Gram``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..core.facts import Projection, Vector
from ..rows.block import Block
from ..rows.frames import FramedBlock
from ..rows.kernels.interface import UnitClip
from ..rows.kernels.products import PIECE_ROWS
from ..rows.lattice import Lattice
from ..rows.shard import Shard
from ..rows.slopes import slopes
from .centred import SLACK, RowView, curvature, seen
from .kinds import CentredModel, Hessian, Model, ProjectedGradient, ProjectedModel
from .losses import Loss
from .polish import outer_sum
from .sensitivity import Integers, Sensitivity, SumSpec, check_bound, check_support
from .table import SUMS, SumRule
from .unit_sums import SLACK as UNIT_SLACK
from .unit_sums import unit_factors, weight_of


@dataclass(eq=False, repr=False)
class FramedView:
    """A block of rows as a model on a frame sees it: **private**."""

    rows: FramedBlock
    model: ProjectedModel
    loss: Loss

    @property
    def block(self) -> Block:
        """The rows themselves."""
        return self.rows.block

    @property
    def size(self) -> int:
        """Coordinates of the frame."""
        return self.model.frame.size

    def rows_away(self, rows: slice) -> Vector:
        """Some rows in the frame."""
        return self.rows.away(rows)

    @property
    def norms(self) -> Vector:
        """Norms in the frame."""
        return self.rows.norms

    @cached_property
    def margins(self) -> Vector:
        """Margins of the model."""
        return self.rows.margins(self.model.w, self.model.offset)

    @cached_property
    def slopes(self) -> Vector:
        """Slopes at the model."""
        return slopes(self.loss, self.margins, self.block)


def framed_views(model: ProjectedModel, shard: Shard, loss: Loss) -> Iterator[FramedView]:
    """All rows, block by block."""
    if not shard.holds(model.frame):  # those that it holds were checked before
        _checked(model.frame, shard.lattice)
    return (FramedView(rows, model, loss) for rows in shard.framed(model.frame))


def view_of(model: Model, shard: Shard, loss: Loss) -> Iterator[RowView] | Iterator[FramedView]:
    """All rows as a model sees them, block by block."""
    return seen(model, shard, loss) if isinstance(model, CentredModel) else framed_views(model, shard, loss)


def _checked(frame: Projection, lattice: Lattice) -> Projection:
    """A frame on features that are there, each once."""
    check_support(frame.support, lattice.facts.n_features, "features")
    return frame


# ------------------------------------------------------------------------------------------------ gradients


def gradient_measure(question: ProjectedGradient, lattice: Lattice) -> SumSpec:
    """Norm within the clip."""
    size, units = _checked(question.model.frame, lattice).size, lattice.record_units
    reach = Sensitivity(check_bound(question.clip), np.full(size, question.clip))
    return SumSpec(reach, question.clip / units, units)


def gradient_part(question: ProjectedGradient, spec: SumSpec, shard: Shard, loss: Loss) -> Integers:
    """The integers of one shard."""
    units = shard.lattice.record_units
    total = np.zeros(question.model.frame.size, dtype=np.int64)
    for view in framed_views(question.model, shard, loss):
        rows = view.rows
        step = question.clip / (units * rows.on.unit)
        if shard.facts.by_unit:
            every = np.ones(question.model.frame.size)
            held = UnitClip(every, units * UNIT_SLACK, math.inf, every * math.inf)
            total += rows.unit_scatter(unit_factors(view.slopes, step, rows.squares, view.block), held)
            continue
        with np.errstate(over="ignore"):
            factor = view.slopes / step
        np.trunc(factor, out=factor)
        np.minimum(factor, rows.factor_cap, out=factor)
        total += rows.scatter(np.maximum(factor, -rows.factor_cap, out=factor))
    return total


def gradient_exact(question: ProjectedGradient, shards: Sequence[Shard], loss: Loss) -> Vector:
    """In floats; the clip, which is part of the query, stays."""
    total = np.zeros(question.model.frame.size)
    for shard in shards:
        for view in framed_views(question.model, shard, loss):
            with np.errstate(divide="ignore"):
                cap = question.clip / view.norms
            total += view.rows.scatter(np.clip(view.slopes, -cap, cap)) * view.rows.on.unit
    return total


SUMS[ProjectedGradient] = SumRule(gradient_measure, gradient_part, gradient_exact, by_unit=True)


# ------------------------------------------------------------------------------------------------ second derivatives


def bent_rows(question: Hessian, shard: Shard, loss: Loss, step: float | None) -> Iterator[Vector]:
    """Rows within the norm times the root of their second derivative, in pieces; zero for absent records."""
    top, limit = shard.facts.curvature, question.norm * SLACK
    for view in framed_views(question.model, shard, loss):
        rows, norms = view.rows, view.norms
        with np.errstate(all="ignore"):  # a wild model must not tell anything through a warning
            inside = np.abs(view.slopes) * norms <= question.clip
            bent = np.where(inside * view.block.present > 0, curvature(loss, view.margins, view.block, top), 0.0)
            part = np.clip(np.nan_to_num(bent / top), 0.0, 1.0)  # also where a loss declares no valid curvature
            factor = np.sqrt(part) * (limit / np.maximum(norms, limit) * rows.on.unit)
        if step is not None:
            yield from rows.whole_rows(factor * np.sqrt(weight_of(view.block)) if shard.facts.by_unit else factor, step)
            continue
        for start in range(0, norms.size, PIECE_ROWS):
            piece = slice(start, start + PIECE_ROWS)
            yield rows.shown(piece) * factor[piece, None]


def _check_hessian(question: Hessian, lattice: Lattice) -> None:
    check_bound(question.clip)
    _checked(question.model.frame, lattice)


SUMS[Hessian] = outer_sum(lambda question: question.model.frame.size, bent_rows, _check_hessian)
