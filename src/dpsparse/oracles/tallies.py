r"""One bounded number from each row: the loss of a model's prediction, or just that the row is there.

Guarantee
---------
* ``ValidationLoss``: a record adds :math:`\min(\ell, B)` for a loss :math:`\ell \ge 0`, truncated to whole units: a number in
  :math:`[0, B]`. A record that is not finite adds 0; a loss that is not a number counts as B. Two numbers in [0, B] differ by
  at most B, so the sum moves by at most B when a record is replaced, and by at most B when one is added or removed.
* ``Count``: a record adds 1, so the sum moves by 1 when one is added or removed. When one is replaced it does not move; it is
  priced like the other, since no answer may have noise zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy.special import log_expit

from ..data.rows import LARGEST_ROWS, PrivateRows
from ..facts import Vector
from ..losses import Loss, mean_of
from ..oracle import Count, Tally
from ..privacy.errors import PrivacyError
from .measure import RELEASE_UNITS, Measurement, Reach

KINDS = ("error", "log-loss", "squared", "absolute")


def tally(question: Tally, rows: PrivateRows, loss: Loss) -> Measurement:
    """The exact integer sum that answers a question; its unit is a millionth of the bound on one record."""
    top = _bound(question, rows)
    unit = top / RELEASE_UNITS
    assert LARGEST_ROWS * RELEASE_UNITS < 2.0**62
    total = sum(int(np.trunc(np.minimum(part / unit, RELEASE_UNITS)).sum()) for part in _parts(question, rows, loss))
    each = np.array([top])
    return Measurement(np.array([total], dtype=np.int64), unit, Reach(top, each, pair_norm=top, pair_entry=each))


def exact_tally(question: Tally, rows: PrivateRows, loss: Loss) -> Vector:
    """The same sum without lattice, for the exact oracle."""
    return np.array([math.fsum(float(part.sum()) for part in _parts(question, rows, loss))])


def _bound(question: Tally, rows: PrivateRows) -> float:
    if isinstance(question, Count):
        return 1.0
    if question.kind not in KINDS:
        raise PrivacyError(f"a validation loss is one of {', '.join(KINDS)}, got {question.kind!r}.")
    if not (math.isfinite(question.bound) and question.bound > 0):
        raise PrivacyError(f"the bound on a validation loss must be positive and finite, got {question.bound!r}.")
    if question.models.ndim != 2 or question.models.shape[1] != rows.facts.dimension or not question.models.size:
        raise PrivacyError(f"a validation loss needs models with {rows.facts.dimension} coefficients each.")
    return float(question.bound)


def _parts(question: Tally, rows: PrivateRows, loss: Loss) -> Iterator[Vector]:
    """What the records of each block add, within [0, bound]."""
    models = np.zeros((1, rows.facts.dimension)) if isinstance(question, Count) else question.models
    for margins, y, alive in rows.margins_of(models):
        if isinstance(question, Count):
            yield np.ones(y.size)
            continue
        with np.errstate(over="ignore", invalid="ignore"):  # a wild model must not tell anything through a warning
            losses = _losses(question.kind, margins, y, loss)
        yield np.where(alive, np.clip(np.nan_to_num(losses, nan=question.bound), 0.0, question.bound), 0.0)


def _losses(kind: str, margins: Vector, y: Vector, loss: Loss) -> Vector:
    """Loss of each record; not yet bounded."""
    several = margins.shape[1] > 1
    if kind == "error":
        return np.asarray((np.argmax(margins, axis=1) if several else margins[:, 0] > 0) != y, dtype=float)
    if kind == "log-loss" and several:  # one versus the rest, normalised
        logs = log_expit(margins)
        own = np.take_along_axis(logs, np.clip(y, 0, margins.shape[1] - 1).astype(np.intp)[:, None], axis=1)[:, 0]
        return np.asarray(np.logaddexp.reduce(logs, axis=1) - own)
    if kind == "log-loss":
        return np.asarray(-log_expit(np.where(y > 0, margins[:, 0], -margins[:, 0])))
    mean = mean_of(loss)
    residual = (margins[:, 0] if mean is None else mean(margins[:, 0])) - y
    return np.asarray(residual**2 if kind == "squared" else np.abs(residual))
