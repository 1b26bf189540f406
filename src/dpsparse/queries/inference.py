r"""What intervals ask: score, Gram matrix and meat of a pilot in one release, and how many residuals are within a clip.

Guarantee
---------
``CountWithin``: a record adds 0 or 1. Replaced (R), added or removed (A): 1.

``ScoreMoments``: in the symbols of the query let :math:`b = \sqrt w\,\tilde x/Q`, so that
:math:`\|b\| \le 1`, and :math:`\eta = \sqrt w\,\psi/R`. A record adds :math:`\eta b`,
:math:`\sqrt{B_H}\,(v/v_{\max})\,bb^\top` and :math:`\sqrt{B_M}\,\eta^2 bb^\top`. Write
:math:`a = |\eta|\|b\| \le 1`, :math:`u = (v/v_{\max})\|b\|^2 \le 1` and :math:`B = B_H + B_M`.

* A: the squared norm is :math:`a^2 + B_H u^2 + B_M a^4 \le 1 + B`.
* R: with c the size of the cosine between b and b' the squared distance of two records is at most

  .. math:: F = a^2 + a'^2 + 2aa'c + B_H(u^2 + u'^2 - 2uu'c^2) + B_M(a^4 + a'^4 - 2a^2a'^2c^2),

  since the score is longest apart for opposite signs. ``docs/guarantees/inference.md`` proves
  :math:`F \le 4` if :math:`B \le 1/2`, and for numbers :math:`F \le 2 + 2B + 1/(2B)` if
  :math:`1/2 \le B \le 2` and :math:`B_M \le 1/2`; for classes, where v is tied to the residual,
  :math:`F \le 4` if :math:`B_M < 1/2` and :math:`B_H \le 1.38\,(1 - 2B_M)`. Anything else is
  refused.

*Units.* A unit of several rows adds :math:`g = \sum w_i\eta_ib_i`,
:math:`\sqrt{B_H}\,U`, :math:`U = \sum w_i(v_i/v_{\max})b_ib_i^\top`, and
:math:`\sqrt{B_M}\,gg^\top`: the meat of units, robust to whatever ties their rows. The same bounds hold.
A: :math:`\|g\|, \|U\| \le 1`. R, numbers: :math:`(z\cdot g)^2 \le \sum w_i\eta_i^2(z\cdot b_i)^2 \le
z^\top Uz` by Cauchy-Schwarz, so that :math:`U - gg^\top` is positive semi-definite and
:math:`\langle U,U'\rangle \ge (g\cdot g')^2 = x^2`; hence
:math:`F \le 2 + 2x + 2B(1-x^2)`, at most 4 for :math:`B \le 1/2` and else
:math:`2 + 2B + 1/(2B)`. R, classes: with :math:`p = \sum w_i|\psi_i|\|b_i\|` the sizes obey
:math:`\|g\| \le p` and :math:`\mathrm{tr}\,U \le \sum w_i4q_i(1-q_i) \le 4p(1-p)`, since
:math:`4q(1-q)` is concave and 0 at 0, and :math:`\langle U,U'\rangle \ge 0`: all that the proof for one
record uses. Rows are truncated to :math:`2^{-42}` before they are averaged, which twice the
rounding below covers.

Contributions are rounded to a lattice of step h, by at most h/2 in each of D numbers: norms grow by
:math:`h\sqrt D/2` and distances by :math:`h\sqrt D`. b is clipped to :math:`1 - 2^{-36}`, which
covers the rounding of floats. Public numbers are between :math:`10^{-60}` and :math:`10^{60}`, and
entries of rows below :math:`10^{155}`, since longer rows are ignored: columns stay within
floats, squares do not vanish beside Q, and a row whose squares overflow is shrunk to nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ..core.errors import PrivacyError
from ..core.facts import LARGEST_SIZE, SMALLEST_SIZE, Vector, in_range
from ..rows.block import Block
from ..rows.lattice import Lattice
from ..rows.shard import Shard
from ..rows.units import pieces_of
from .bounds import FINE_UNITS, Bound, bounded_sum, interval
from .centred import SLACK, RowView, check_centre, seen
from .kinds import CountWithin, ScoreMoments
from .losses import Loss
from .sensitivity import Integers, Sensitivity, SumSpec, check_bound, check_support
from .table import SUMS, SumRule
from .unit_sums import unit_sums, weight_of

#: Numbers that are computed at a time.
PIECE = 2**20
#: How far the Gram matrix of classes is free, for each unit of precision that the meat leaves to the score.
TIED = 1.38


def within_bound(question: CountWithin, lattice: Lattice) -> Bound:
    """One record."""
    check_bound(question.bound)
    return interval(0.0, 1.0)


def within(question: CountWithin, shard: Shard, loss: Loss) -> Iterator[Vector]:
    """1 for each record whose slope is within the bound."""
    for view in seen(question.model, shard, loss):
        yield ((np.abs(view.slopes) <= question.bound) * view.block.present)[:, None]


# ------------------------------------------------------------------------------------------------ score, Gram and meat


def pair_square(gram: float, meat: float, *, classes: bool) -> float:
    """Largest squared distance of two records, in units of the score's bound; refuses weights without a proof."""
    both = gram + meat
    if both <= 0.5 or (classes and meat < 0.5 and gram <= TIED * (1 - 2 * meat)):
        return 4.0
    if not classes and both <= 2.0 and meat <= 0.5:
        return 2 + 2 * both + 1 / (2 * both)
    raise PrivacyError(f"no sensitivity is proven for a Gram matrix and a meat of weights {gram:g} and {meat:g}.")


def moments_measure(question: ScoreMoments, lattice: Lattice) -> SumSpec:
    """One record, or two, and the lattice."""
    size = _size(question, lattice)
    for bound in (question.residual, question.norm, question.gram, question.meat):
        check_bound(bound)
    if lattice.facts.target.classes and question.residual != 1:
        raise PrivacyError(
            "residuals of classes are at most 1, and their clip is 1: another has no proven sensitivity."
        )
    row, column = np.triu_indices(size)
    one, two = (np.where(row == column, 1.0, factor) for factor in (math.sqrt(0.5), math.sqrt(2)))
    weights = math.sqrt(question.gram), math.sqrt(question.meat)
    top, units = max(1.0, *weights), lattice.units(FINE_UNITS)
    step = top / units
    entry = np.r_[np.ones(size), weights[0] * one, weights[1] * one] + step / 2
    pairs = np.r_[np.full(size, 2.0), weights[0] * two, weights[1] * two] + step
    root = math.sqrt(entry.size) * (2 if lattice.facts.by_unit else 1)  # rows of units are put on a lattice, too
    square = pair_square(question.gram, question.meat, classes=lattice.facts.target.classes)
    reach = Sensitivity(
        math.sqrt(1 + question.gram + question.meat) + step * root / 2,
        entry,
        pair_norm=math.sqrt(square) + step * root,
        pair_entry=pairs,
    )
    return SumSpec(reach, step, units)


def _size(question: ScoreMoments, lattice: Lattice) -> int:
    """Number of columns; refuses an invalid query."""
    support = check_support(question.model.support, lattice.facts.n_features, "features")
    check_centre(question.model.centre, support.size)
    if question.scale.shape != support.shape or not in_range(question.scale):
        raise PrivacyError(f"columns need a scale between {SMALLEST_SIZE:g} and {LARGEST_SIZE:g} each.")
    if lattice.facts.target.joint or not support.size + question.constant:
        raise PrivacyError("moments of a score are of one margin, and of one column at least.")
    return support.size + question.constant


def moments_part(question: ScoreMoments, spec: SumSpec, shard: Shard, loss: Loss) -> Integers:
    """What the rows of one shard add, in units."""
    total = np.zeros(spec.size, dtype=np.int64)
    for added in _moments(question, shard, loss):
        whole = np.clip(np.rint(added / spec.unit), -spec.record, spec.record)
        total += whole.sum(axis=0).astype(np.int64)
    return total


def moments_exact(question: ScoreMoments, shards: Sequence[Shard], loss: Loss) -> Vector:
    """The sums in floats."""
    return np.asarray(sum(added.sum(axis=0) for shard in shards for added in _moments(question, shard, loss)))


def _moments(question: ScoreMoments, shard: Shard, loss: Loss) -> Iterator[Vector]:
    """What each row adds: score, triangle of the Gram matrix, triangle of the meat; a few rows at a time."""
    size = _size(question, shard.lattice)
    row, column = np.triu_indices(size)
    weight = np.where(row == column, 1.0, math.sqrt(2))
    for view in seen(question.model, shard, loss):
        held, eta, bend = _clipped(question, view, size, classes=shard.facts.target.classes)
        if shard.facts.by_unit and not shard.lattice.exact:
            yield from _moments_by_unit(question, view.block, held, eta, bend)
            continue
        piece = max(1, PIECE // (size + 2 * row.size))
        for start in range(0, eta.size, piece):
            b, e, v = (part[start : start + piece] for part in (held, eta, bend))
            products = b[:, row] * b[:, column] * weight
            gram, meat = math.sqrt(question.gram) * v[:, None], math.sqrt(question.meat) * (e**2)[:, None]
            yield np.hstack([e[:, None] * b, gram * products, meat * products])


def _moments_by_unit(question: ScoreMoments, block: Block, held: Vector, eta: Vector, bend: Vector) -> Iterator[Vector]:
    """What each unit adds: mean score g, triangle of the mean Gram matrix, and that of the meat g g'."""
    row, column = np.triu_indices(held.shape[1])
    double = np.where(row == column, 1.0, math.sqrt(2))
    starts, weight = block.unit_starts, weight_of(block)
    for start, stop in pieces_of(starts, weight.size, max(1, PIECE // (held.shape[1] + 2 * row.size))):
        b, e, v, w = (part[start:stop] for part in (held, eta, bend, weight))
        own = starts[np.searchsorted(starts, start) : np.searchsorted(starts, stop)] - start
        score = unit_sums(e[:, None] * b, own, w, 1.0)
        gram = unit_sums(v[:, None] * (b[:, row] * b[:, column]), own, w, 1.0) * double
        meat = score[:, row] * score[:, column] * double
        yield np.hstack([score, math.sqrt(question.gram) * gram, math.sqrt(question.meat) * meat])


def _clipped(question: ScoreMoments, view: RowView, size: int, *, classes: bool) -> tuple[Vector, Vector, Vector]:
    """b, eta and v over its largest value, of each row.

    Column by column, so that a row's do not depend on its place.
    """
    columns, squares = np.empty((view.slopes.size, size), order="F"), np.zeros(view.slopes.size)
    if question.constant:
        columns[:, 0] = view.block.present
    with np.errstate(over="ignore"):
        for j, scale in enumerate(question.scale):
            columns[:, j + question.constant] = view.away[:, j] / scale
        for j in range(size):
            squares += columns[:, j] ** 2
    limit = question.norm * SLACK
    shrink = limit / np.maximum(np.sqrt(squares), limit)
    for j in range(size):
        columns[:, j] *= shrink / question.norm
    with np.errstate(over="ignore"):
        psi = np.clip(-view.slopes / question.residual, -1.0, 1.0)
    bend = 4 * np.abs(psi) * (1 - np.abs(psi)) if classes else np.ones(psi.size)
    return columns, shrink * psi, bend


SUMS[CountWithin] = bounded_sum(within_bound, within)
SUMS[ScoreMoments] = SumRule(moments_measure, moments_part, moments_exact, by_unit=True)
