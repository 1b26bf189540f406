"""Losses of networks, and rows as tensors; silent about every value."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy, mse_loss

from ..data.source import silence
from ..privacy import DataError
from .gradients import Criterion
from .oracle import NetworkRows

#: Losses by name: outputs (1, ...) and targets (1,) in, a number out.
LOSSES: dict[str, Criterion] = {
    "cross_entropy": cross_entropy,
    "squared": lambda output, y: 0.5 * mse_loss(output.reshape(-1), y.reshape(-1), reduction="sum"),
}


def example_target(loss: str) -> torch.Tensor:
    """A target that a loss takes, for rehearsals."""
    return torch.zeros(1, dtype=torch.int64 if loss == "cross_entropy" else torch.float32)


def private_rows(X: Any, y: Any, loss: str, classes: int | None, n_rows: int) -> NetworkRows:
    """Rows as float32 tensors. A record whose class is none of the declared ones counts as empty; nothing is said about it."""
    with silence():
        features = np.ascontiguousarray(np.asarray(X), dtype=np.float32)
        targets = np.asarray(y, dtype=np.float64).ravel()
        if features.shape[0] != targets.shape[0]:
            raise DataError("one target for each row was expected.")
        if loss == "cross_entropy":
            assert classes is not None
            known = np.isfinite(targets) & (targets == np.rint(targets)) & (targets >= 0) & (targets < classes)
            coded = torch.from_numpy(np.where(known, targets, 0).astype(np.int64))
        else:
            known = np.isfinite(targets)
            coded = torch.from_numpy(np.where(known, targets, 0).astype(np.float32))
        return NetworkRows(torch.from_numpy(features), coded, known, n_rows)
