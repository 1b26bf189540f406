r"""Sums of bounded numbers from each record.

They count records, clipped values and cells that were not understood, and average losses on validation data.

Guarantee
---------
* ``MeanLoss``: a record adds :math:`\min(\ell, B)` for a loss :math:`\ell \ge 0`, truncated to
  whole units: a number in :math:`[0, B]`. A record that is not finite adds 0; a loss that is not a
  number counts as B. Two numbers in [0, B] differ by at most B, so the sum moves by at most B when
  a record is replaced, and by at most B when one is added or removed.
* ``Count``: a record adds 1, so the sum moves by 1 when one is added or removed. When one is
  replaced it does not move; it is priced like the other, since no answer may have noise zero.
* ``ClippedShare``, how much of the rows was clipped: a record adds three numbers in [0, 1], truncated to
  whole units, or nothing if it is absent. Two records differ by at most 1 in each of them, so the sums move
  by at most :math:`\sqrt3` in l2 norm and by 1 in each coordinate, whether a record is replaced, added or
  removed.
* ``Unread``, how many cells of each column were not understood: a record adds one bit for each of the m
  declared columns, or nothing if it is not in the part that is asked: a vector of the box
  :math:`[0, 1]^m`, to which `bounds` clips it. Two such vectors differ by at most 1 in each of m
  coordinates, so the sums move by at most :math:`\sqrt m` in l2 norm and by 1 in each coordinate, whether a
  record is replaced, added or removed. A record without a usable target still says which of its cells were
  not understood: that is what the query counts.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import log_expit

from ..core.errors import PrivacyError
from ..core.facts import Vector
from ..rows.lattice import Lattice
from ..rows.shard import Shard
from .bounds import Bound, bounded_sum, interval
from .kinds import ClippedShare, Count, MeanLoss, Unread
from .losses import Loss, classes_of, mean_of
from .sensitivity import RELEASE_UNITS, check_bound
from .table import SUMS

KINDS = ("error", "log-loss", "squared", "absolute")


def presence(question: Count, shard: Shard, loss: Loss) -> Iterator[Vector]:
    """A record that is there, whatever it holds."""
    return (np.ones((block.y.size, 1)) for block in shard.blocks)


def loss_bound(question: MeanLoss, lattice: Lattice) -> Bound:
    """From zero to the bound on losses; refuses what is no validation loss."""
    if question.kind not in KINDS:
        raise PrivacyError(f"a validation loss is one of {', '.join(KINDS)}, got {question.kind!r}.")
    bound = check_bound(question.bound, "the bound on a validation loss")
    dimension = lattice.facts.dimension
    if question.models.ndim != 2 or question.models.shape[1] != dimension or not question.models.size:
        raise PrivacyError(f"a validation loss needs models with {dimension} coefficients each.")
    return interval(0.0, bound, RELEASE_UNITS)


def model_losses(question: MeanLoss, shard: Shard, loss: Loss) -> Iterator[Vector]:
    """Losses of the records of each block; zero for absent records."""
    for block in shard.blocks:
        margins = np.column_stack([shard.margin(block, w) for w in question.models])
        with np.errstate(all="ignore"):  # a wild model must not tell anything through a warning
            losses = losses_of(question.kind, margins, block.y, loss, shard.lattice.facts.target_bound)
        yield np.where(block.present > 0, losses, 0.0)[:, None]


def losses_of(kind: str, margins: Vector, y: Vector, loss: Loss, within: float) -> Vector:
    """Loss of each record; not yet bounded.

    Predictions of numbers are clipped to [-within, within], as `predict` does.
    """
    several = margins.shape[1] > 1
    first = np.ascontiguousarray(margins[:, 0])
    if kind == "error":
        return np.asarray((np.argmax(margins, axis=1) if several else first > 0) != y, dtype=float)
    if kind == "log-loss" and several and classes_of(loss) > 1:
        return loss.value(margins, y)
    if kind == "log-loss" and several:  # one versus the rest, normalised
        logs = log_expit(margins)
        own = np.take_along_axis(logs, np.clip(y, 0, margins.shape[1] - 1).astype(np.intp)[:, None], axis=1)[:, 0]
        return np.asarray(np.logaddexp.reduce(logs, axis=1) - own)
    if kind == "log-loss":
        return np.asarray(-log_expit(np.where(y > 0, first, -first)))
    residual = predicted(first, loss, within) - y
    return np.asarray(residual**2 if kind == "squared" else np.abs(residual))


def predicted(margin: Vector, loss: Loss, within: float) -> Vector:
    """What margins predict of centred numbers, clipped to [-within, within]."""
    mean = mean_of(loss)
    return np.clip(margin if mean is None else mean(margin), -within, within)


SUMS[MeanLoss] = bounded_sum(loss_bound, model_losses)
SUMS[Count] = bounded_sum(lambda question, lattice: interval(0.0, 1.0, RELEASE_UNITS), presence, "any")


#: Entries, rows and targets.
NUMBERS = 3


def clipped_bound(question: ClippedShare, lattice: Lattice) -> Bound:
    """Three numbers in [0, 1]."""
    if not lattice.facts.counts_clipped:
        raise PrivacyError("these rows do not remember what was clipped: their facts do not say so.")
    return Bound(np.zeros(NUMBERS), np.ones(NUMBERS), units=RELEASE_UNITS)


def clipped_shares(question: ClippedShare, shard: Shard, loss: Loss) -> Iterator[Vector]:
    """Which part of each record was clipped; zero for absent records."""
    return (block.clipped * block.present[:, None] for block in shard.blocks if block.clipped is not None)


SUMS[ClippedShare] = bounded_sum(clipped_bound, clipped_shares)


def unread_bound(query: Unread, lattice: Lattice) -> Bound:
    """Return the box with one number in [0, 1] for each column; refuse rows without these bits."""
    columns = lattice.facts.counts_unread
    if not columns:
        raise PrivacyError("these rows do not remember which cells were not understood: their facts do not say so.")
    return Bound(np.zeros(columns), np.ones(columns), units=RELEASE_UNITS)


def unread_cells(query: Unread, shard: Shard, loss: Loss) -> Iterator[Vector]:
    """Yield 1 for each column of a record whose cell was not understood, else 0."""
    for block in shard.blocks:
        if block.unread is None:  # facts say that rows remember it
            raise PrivacyError("these rows do not remember which cells were not understood.")
        yield np.unpackbits(block.unread, axis=1, count=shard.facts.counts_unread).astype(float)


SUMS[Unread] = bounded_sum(unread_bound, unread_cells, "mean of all")
