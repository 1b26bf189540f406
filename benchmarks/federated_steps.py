"""Step sizes for `federated_mnist`, chosen on other digits that are public: the 1,797 images of scikit-learn, enlarged to 28 x 28 and shifted.

The same network, start, sites, local steps and thresholds, in short and on small batches; the noise of a mean gradient is given as a number, the one that the prices of `federated_mnist`
come to. Nothing here is private, and MNIST is not looked at.

    python -m benchmarks.federated_steps --rounds 10        (needs the extra torch; minutes)
    python -m benchmarks.federated_steps --rounds 5 --few   (the runs of few rounds: batches of 120, and all rows of a site; an hour)
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from scipy.ndimage import zoom
from sklearn.datasets import load_digits

from dpsparse.neural import paper_cnn, sparse_start
from dpsparse.ops import hard_threshold
from dpsparse.sites.neural.gradients import UNITS, RowGradients
from dpsparse.sites.neural.oracle import LOSSES

from .federated_mnist import SITES, partition

TRAIN, SHIFTS, SPARSITY, LOCAL_STEPS = 1400, 3, 10_000, 10

#: Deviation of the noise in a mean gradient of few rounds, at epsilon between 4 and 6, with the rows of a batch (None: 6,000 of a site) and steps to try.
FEW_ROUNDS = ((0.0053, 120, (0.5, 1.0, 2.0)), (0.0025, None, (0.5, 1.0, 2.0, 4.0)))


def enlarged(images: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Images of 8 x 8 as 20 x 20 at a random place in 28 x 28, within [-1, 1]."""
    found = np.zeros((len(images), 28, 28), dtype=np.float32)
    for to, image in zip(found, images, strict=True):
        top, left = rng.integers(2, 7, 2)
        to[top : top + 20, left : left + 20] = np.clip(zoom(image, 20 / 8, order=1), 0, 1)
    return 2 * found[:, None] - 1


def curve(step_size: float, noise: float | None, rounds: int, batch: int | None, seed: int = 0) -> list[float]:
    """Accuracy after each round; `noise` None: exact gradients that are not clipped; `batch` None: all rows of a site."""
    rng = np.random.default_rng(seed)
    digits = load_digits()
    order = rng.permutation(len(digits.target))
    images, labels = digits.images[order] / 16, digits.target[order]
    X = torch.from_numpy(np.concatenate([enlarged(images[:TRAIN], rng) for _ in range(SHIFTS)]))
    y = torch.from_numpy(np.tile(labels[:TRAIN], SHIFTS))
    shown, known = torch.from_numpy(enlarged(images[TRAIN:], rng)), labels[TRAIN:]
    gradients = RowGradients(sparse_start(paper_cnn(seed), SPARSITY, seed), LOSSES["cross_entropy"], batch)
    w, found = gradients.start(), []
    for _ in range(rounds):
        moved = w.copy()
        for site in range(len(SITES)):
            own, v = partition(y.numpy(), site, len(y), seed), w
            for _ in range(LOCAL_STEPS):
                count = len(own) if batch is None else batch
                taking = np.zeros(len(y), dtype=bool)
                taking[rng.choice(own, count, replace=False)] = True
                if noise is None:
                    mean = gradients.exact(v, X, y, taking) / count
                else:
                    mean = gradients.total(v, X, y, taking, 1.0) / (UNITS * count)
                    mean = mean + noise * rng.standard_normal(mean.size)
                v = hard_threshold(v - step_size * mean, SPARSITY)
            moved += (v - w) / len(SITES)
        w = hard_threshold(moved, SPARSITY)
        found.append(float(np.mean(gradients.outputs(w, shown).argmax(dim=1).numpy() == known)))
    return found


def main() -> None:
    """Print accuracies by step size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument(
        "--noise", type=float, default=0.007, help="deviation of the noise in a mean gradient, at clip 1"
    )
    parser.add_argument(
        "--few", action="store_true", help="the runs of few rounds, which have less noise; three starts"
    )
    given = parser.parse_args()
    sampled = ((given.noise, 16, (0.5, 1.0, 2.0)), (None, 32, (0.1, 0.3)))
    for noise, batch, sizes in FEW_ROUNDS if given.few else sampled:
        for size in sizes:
            for seed in range(3 if given.few else 1):
                found = curve(size, noise, given.rounds, batch, seed)
                print(noise, batch, size, seed, [round(a, 3) for a in found], flush=True)


if __name__ == "__main__":
    main()
