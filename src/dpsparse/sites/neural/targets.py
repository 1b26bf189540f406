"""Losses, rows and starting weights of neural networks.

Losses by name, rows as tensors without any message about a value, the convolutional network of the paper, and a start
with few nonzero parameters.
"""

from __future__ import annotations

import copy
import math
from collections import OrderedDict
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.functional import cross_entropy, mse_loss

from ...core import DataError, checks
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


def paper_cnn(seed: int = 0) -> nn.Sequential:
    """The convolutional network of the paper, with 44,426 weights.

    It has two convolutions of 5 x 5 with 6 and 16 channels, each followed by ReLU and 2 x 2
    max-pooling, and linear layers 256-120-84-10.

    It takes images of shape (1, 28, 28) and gives log-probabilities of ten classes. The usual start
    of its layers is drawn from a public seed; the state of torch's own generator stays as it was.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers = {
            "conv1": nn.Conv2d(1, 6, 5),
            "relu1": nn.ReLU(),
            "pool1": nn.MaxPool2d(2),
            "conv2": nn.Conv2d(6, 16, 5),
            "relu2": nn.ReLU(),
            "pool2": nn.MaxPool2d(2),
            "flat": nn.Flatten(),
            "fc1": nn.Linear(16 * 4 * 4, 120),
            "relu3": nn.ReLU(),
            "fc2": nn.Linear(120, 84),
            "relu4": nn.ReLU(),
            "fc3": nn.Linear(84, 10),
            "classes": nn.LogSoftmax(dim=1),
        }
        return nn.Sequential(OrderedDict(layers))


def sparse_start(module: nn.Module, sparsity: int, seed: int = 0) -> nn.Module:
    r"""A copy of a network that starts with at most `sparsity` nonzero parameters, drawn from a public seed.

    No data are looked at.

    The largest entries of an ordinary start are a bad choice of a support: its scale is that of the
    number of inputs, so a wide layer loses nearly all of its entries and what passes through it is
    lost. Here every tensor of parameters keeps at most the same number of entries, at random
    places, so that small tensors stay whole. An entry of a layer with :math:`d` inputs of which a
    part :math:`p` is kept is uniform within :math:`\pm\sqrt{6/(p\,d)}`, which keeps the variance of
    what a layer with ReLU passes on. Tensors of one axis (biases) are taken as they are.

    Parameters
    ----------
    module : torch.nn.Module
    sparsity : int
        Nonzero parameters at most.
    seed : int
        Public.

    Examples
    --------
    >>> from dpsparse.neural import paper_cnn, sparse_start
    >>> network = sparse_start(paper_cnn(), 10_000)
    >>> sum(int((p != 0).sum()) for p in network.parameters())
    10000
    """
    left, made = checks.whole(sparsity, "sparsity"), copy.deepcopy(module)
    generator = torch.Generator().manual_seed(seed)
    tensors = sorted(made.parameters(), key=lambda p: p.numel())
    with torch.no_grad():
        for place, tensor in enumerate(tensors):
            count = min(tensor.numel(), left // (len(tensors) - place))
            left -= count
            kept = torch.zeros(tensor.numel())
            kept[torch.randperm(tensor.numel(), generator=generator)[:count]] = 1.0
            if tensor.ndim > 1 and count:
                inputs = tensor[0].numel() * count / tensor.numel()
                drawn = torch.rand(tensor.shape, generator=generator) * 2 - 1
                tensor.copy_(drawn * math.sqrt(6 / inputs))
            tensor.mul_(kept.reshape(tensor.shape))
    return made
