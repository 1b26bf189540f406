r"""One bounded number from each row: the loss of a model's prediction, or just that the row is there.

Guarantee
---------
* ``MeanLoss``: a record adds :math:`\min(\ell, B)` for a loss :math:`\ell \ge 0`, truncated to
  whole units: a number in :math:`[0, B]`. A record that is not finite adds 0; a loss that is not a
  number counts as B. Two numbers in [0, B] differ by at most B, so the sum moves by at most B when
  a record is replaced, and by at most B when one is added or removed.
* ``Count``: a record adds 1, so the sum moves by 1 when one is added or removed. When one is
  replaced it does not move; it is priced like the other, since no answer may have noise zero.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import log_expit

from ..core.errors import PrivacyError
from ..core.facts import LARGEST_SIZE, SMALLEST_SIZE, Vector, in_range
from ..rows.lattice import Lattice
from ..rows.shard import Shard
from .bounds import Bound, bounded_sum, interval
from .kinds import Count, MeanLoss
from .losses import Loss, classes_of, mean_of
from .sensitivity import RELEASE_UNITS
from .table import SUMS

KINDS = ("error", "log-loss", "squared", "absolute")


def presence(question: Count, shard: Shard, loss: Loss) -> Iterator[Vector]:
    """A record that is there, whatever it holds."""
    return (np.ones((block.y.size, 1)) for block in shard.blocks)


def loss_bound(question: MeanLoss, lattice: Lattice) -> Bound:
    """From zero to the bound on losses; refuses what is no validation loss."""
    if question.kind not in KINDS:
        raise PrivacyError(f"a validation loss is one of {', '.join(KINDS)}, got {question.kind!r}.")
    if not in_range(question.bound):
        raise PrivacyError(
            f"the bound on a validation loss must be positive, between {SMALLEST_SIZE:g} and "
            f"{LARGEST_SIZE:g}, got {question.bound!r}."
        )
    dimension = lattice.facts.dimension
    if question.models.ndim != 2 or question.models.shape[1] != dimension or not question.models.size:
        raise PrivacyError(f"a validation loss needs models with {dimension} coefficients each.")
    return interval(0.0, float(question.bound), RELEASE_UNITS)


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
