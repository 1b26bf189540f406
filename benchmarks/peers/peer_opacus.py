"""Opacus in an environment of its own: a linear model by DP-SGD, 20 batches a pass, 20 passes, clip 1, at six learning rates.

Batches are Poisson samples, as its accountant assumes; whole batches are sliced, and the noise of a budget is looked up once.
It has no default for a linear model.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from opacus import PrivacyEngine
from opacus.accountants.utils import get_noise_multiplier
from serving import Parts, dense, serve

BATCHES, PASSES, RATES = 20, 20, (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


class Rows(torch.utils.data.Dataset):
    """Rows of a matrix, whole batches at a time; sparse ones are made dense batch by batch."""

    def __init__(self, X: Any, y: np.ndarray) -> None:
        self.X, self.y = X, torch.from_numpy(y.astype(np.float32))

    def __len__(self) -> int:
        return self.X.shape[0]

    def __getitem__(self, i: int) -> tuple[torch.Tensor, torch.Tensor]:
        batch, target = self.__getitems__([i])
        return batch[0], target[0]

    def __getitems__(self, which: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
        rows = self.X[which]
        return torch.from_numpy(rows.toarray() if sp.issparse(rows) else rows), self.y[which]


@cache
def noise(epsilon: float, delta: float, rate: float, passes: int) -> float:
    """Noise multiplier of a budget."""
    return float(
        get_noise_multiplier(
            target_epsilon=epsilon, target_delta=delta, sample_rate=rate, epochs=passes, accountant="prv"
        )
    )


def one(X: Any, y: np.ndarray, Z: torch.Tensor, rate: float, given: dict[str, Any]) -> np.ndarray:
    """Predictions, or log-odds, of a fit from zero."""
    torch.manual_seed(given["seed"])
    linear = torch.nn.Linear(X.shape[1], 1)
    torch.nn.init.zeros_(linear.weight)
    torch.nn.init.zeros_(linear.bias)
    model = torch.nn.Sequential(linear, torch.nn.Flatten(0))
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    loader = torch.utils.data.DataLoader(Rows(X, y), batch_size=len(y) // BATCHES, collate_fn=lambda batch: batch)
    criterion = torch.nn.BCEWithLogitsLoss() if given["task"] == "classification" else torch.nn.MSELoss()
    model, optimizer, loader = PrivacyEngine(accountant="prv").make_private(
        module=model,
        optimizer=optimizer,
        data_loader=loader,
        noise_multiplier=noise(given["epsilon"], given["delta"], 1 / len(loader), PASSES),
        max_grad_norm=1.0,
    )
    for _ in range(PASSES):
        for batch, target in loader:
            optimizer.zero_grad()
            criterion(model(batch), target).backward()
            optimizer.step()
    with torch.no_grad():
        return (Z @ linear.weight[0] + linear.bias).numpy()


def fit(parts: Parts, given: dict[str, Any]) -> list[np.ndarray]:
    """Predictions, or log-odds, at each learning rate."""
    Z = torch.from_numpy(dense(parts[2]).astype(np.float32))
    return [one(parts[0], parts[1], Z, rate, given) for rate in RATES]


if __name__ == "__main__":
    torch.set_num_threads(1)
    serve(fit)
