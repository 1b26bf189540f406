"""Opacus in an environment of its own: logistic regression by DP-SGD, one run for each line of standard input.

Needs torch, opacus, numpy and scipy, and nothing of dpsparse. Rows are float32 and held once; a batch is one slice of the matrix, no row is handled alone. With ``ghost`` norms
of gradients are found without gradients of single rows. The first line of input names a file with rows; every further line is a JSON object of settings.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from opacus import PrivacyEngine


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


def run(X: Any, y: np.ndarray, test: tuple[Any, np.ndarray], given: dict[str, Any]) -> dict[str, float]:
    """One fit: seconds of processor and clock, in all and without calibration, and test accuracy."""
    torch.manual_seed(given["seed"])
    start, clock = time.process_time(), time.perf_counter()
    model = torch.nn.Sequential(torch.nn.Linear(X.shape[1], 1), torch.nn.Flatten(0))
    optimizer = torch.optim.SGD(model.parameters(), lr=given["rate"])
    loader = torch.utils.data.DataLoader(Rows(X, y), batch_size=given["batch"], collate_fn=lambda batch: batch)
    criterion = torch.nn.BCEWithLogitsLoss()
    private = PrivacyEngine().make_private_with_epsilon(
        module=model,
        optimizer=optimizer,
        data_loader=loader,
        criterion=criterion,
        target_epsilon=given["epsilon"],
        target_delta=given["delta"],
        epochs=given["epochs"],
        max_grad_norm=1.0,
        grad_sample_mode="ghost" if given["ghost"] else "hooks",
    )
    model, optimizer, *rest = private
    criterion, loader = rest if given["ghost"] else (criterion, rest[0])
    calibrated = time.process_time()
    for _ in range(given["passes"]):
        for rows, target in loader:
            optimizer.zero_grad()
            criterion(model(rows), target).backward()
            optimizer.step()
    done = time.process_time(), time.perf_counter()
    weights, bias = (p.detach().numpy().ravel().astype(float) for p in model.parameters())
    right = float(np.mean((test[0] @ weights + bias > 0) == (test[1] > 0)))
    part = given["epochs"] / given["passes"]  # passes that were not taken are counted as if they took as long
    return {
        "processor": calibrated - start + part * (done[0] - calibrated),
        "clock": done[1] - clock,
        "training": part * (done[0] - calibrated),
        "accuracy": right,
    }


def main() -> None:
    """Answer lines until there are no more."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    with np.load(sys.stdin.readline().strip()) as z:
        if "data" in z.files:
            train, held = (
                sp.csr_matrix((z["data" + s], z["indices" + s], z["indptr" + s]), shape=tuple(z["shape" + s]))
                for s in ("", "_test")
            )
        else:
            train, held = z["X"], z["X_test"]
        y, y_test = z["y"], z["y_test"]
    for line in sys.stdin:
        print(json.dumps(run(train, y, (held, y_test), json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
