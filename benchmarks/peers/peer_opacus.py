"""Opacus in an environment of its own: a linear model by DP-SGD, one fit for each line of standard input.

Batches are drawn by coins, as its accountant assumes; whole batches are sliced, no row is handled alone. The noise of a budget is looked up once. A line is a JSON object of settings with the file of the rows; the first line is not read. Answers are coefficients.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from functools import cache, lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from opacus import PrivacyEngine
from opacus.accountants.utils import get_noise_multiplier


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


@lru_cache(maxsize=1)
def rows(path: str) -> tuple[Any, np.ndarray]:
    """Training rows."""
    with np.load(path) as z:
        if "data" in z.files:
            X = sp.csr_matrix((z["data"], z["indices"], z["indptr"]), shape=tuple(z["shape"]))
        else:
            X = z["X"]
        return X, z["y"]


def fit(X: Any, y: np.ndarray, given: dict[str, Any]) -> dict[str, Any]:
    """One fit from zero."""
    torch.manual_seed(given["seed"])
    start = time.process_time()
    linear = torch.nn.Linear(X.shape[1], 1)
    torch.nn.init.zeros_(linear.weight)
    torch.nn.init.zeros_(linear.bias)
    model = torch.nn.Sequential(linear, torch.nn.Flatten(0))
    optimizer = torch.optim.SGD(model.parameters(), lr=given["rate"])
    size = len(y) // given["batches"]
    loader = torch.utils.data.DataLoader(Rows(X, y), batch_size=size, collate_fn=lambda batch: batch)
    criterion = torch.nn.BCEWithLogitsLoss() if given["task"] == "classification" else torch.nn.MSELoss()
    model, optimizer, loader = PrivacyEngine(accountant="prv").make_private(
        module=model,
        optimizer=optimizer,
        data_loader=loader,
        noise_multiplier=noise(given["epsilon"], given["delta"], 1 / len(loader), given["passes"]),
        max_grad_norm=1.0,
    )
    for _ in range(given["passes"]):
        for batch, target in loader:
            optimizer.zero_grad()
            criterion(model(batch), target).backward()
            optimizer.step()
    weights, bias = (p.detach().numpy().ravel().astype(float) for p in model.parameters())
    return {"coef": weights.tolist(), "intercept": float(bias[0]), "seconds": time.process_time() - start}


def main() -> None:
    """Answer lines until there are no more."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    sys.stdin.readline()
    for line in sys.stdin:
        given = json.loads(line)
        print(json.dumps(fit(*rows(given["rows"]), given)), flush=True)


if __name__ == "__main__":
    main()
