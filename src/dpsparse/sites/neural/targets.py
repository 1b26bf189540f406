"""Losses by name, and rows as tensors, without any message about a value."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import cross_entropy, mse_loss

from ...core import DataError
from ...rows.records import cell_numbers, center_targets, code_classes, suppress_messages
from .layers import Criterion
from .oracle import NetworkRows

#: Losses by name: outputs (1, ...) and targets (1,) in, a number out.
LOSSES: dict[str, Criterion] = {
    "cross_entropy": cross_entropy,
    "squared": lambda output, y: 0.5 * mse_loss(output.reshape(-1), y.reshape(-1), reduction="sum"),
}


def example_target(loss: str, classes: int | None) -> torch.Tensor:
    """The target of which a loss asks most, for trial runs: the last class, for which the network needs an output."""
    if loss != "cross_entropy":
        return torch.zeros(1, dtype=torch.float32)
    assert classes is not None
    return torch.full((1,), classes - 1, dtype=torch.int64)


def private_rows(X: object, y: object, loss: str, classes: int | None, n_rows: int) -> NetworkRows:
    """Rows as float32 tensors; silent.

    A record with a cell that is no finite number of 32 bits, or a class outside the
    declared ones, counts as empty.
    """
    with suppress_messages():
        features, targets = _features(_array(X)), _targets(_array(y), classes if loss == "cross_entropy" else None)
        if features.shape[0] != targets.shape[0]:
            raise DataError("one target for each row was expected.")
        known = np.isfinite(targets) & np.isfinite(features).all(axis=tuple(range(1, features.ndim)))
        coded = np.where(known, targets, 0).astype(np.int64 if loss == "cross_entropy" else np.float32)
        return NetworkRows(torch.from_numpy(features), torch.from_numpy(coded), known, n_rows)


def _array(values: object) -> Any:
    """Tensors as arrays; lists as arrays in which every cell stays what it is."""
    if isinstance(values, torch.Tensor):
        return values.detach().cpu().to(torch.float64 if values.is_floating_point() else values.dtype).numpy()
    return np.asarray(values, dtype=object) if isinstance(values, list | tuple) else values


def _features(X: object) -> NDArray[np.float32]:
    plain = isinstance(X, np.ndarray) and X.dtype.kind in "biuf" and not np.ma.isMaskedArray(X)
    return np.ascontiguousarray(X if plain else cell_numbers(X), dtype=np.float32)


def _targets(y: object, classes: int | None) -> NDArray[np.float64 | np.float32]:
    """Codes of classes, or numbers of 32 bits; not finite for anything else."""
    return center_targets(y, 0.0).astype(np.float32) if classes is None else code_classes(y, range(classes))
