"""Small networks and images for tests; needs PyTorch."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from dpsparse.neural import SparseNetwork


def small(seed=0):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(
            nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(2 * 4 * 4, 8), nn.Tanh(), nn.Linear(8, 3)
        )


def images(count=90, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, count)
    X = 0.3 * rng.standard_normal((count, 1, 6, 6)).astype(np.float32)
    for k in range(3):
        X[y == k, 0, 2 * k : 2 * k + 2] += 1.0
    return X, y


def tensors(count=90, seed=0):
    X, y = images(count, seed)
    return torch.from_numpy(X), torch.from_numpy(y)


def network(**options):
    given = {
        "epsilon": 4.0,
        "delta": 1e-5,
        "sparsity": 120,
        "steps": 6,
        "step_size": 0.5,
        "batch_size": 30,
        "classes": 3,
    }
    return SparseNetwork(small(), **{**given, **options})
