"""Columns of very different size: with and without private scaling, at the same total budget.

``python -m benchmarks.private_scaling`` runs 20 data seeds; ``--seeds 5`` some. 3000 rows; two columns U(-1, 1), eighteen U(-1/20, 1/20), all of
which a user can only bound by 1. The target is x_1 + 20 x_3 + N(0, 0.01). A private pipeline spends 2 % of its zCDP on the scales.
"""

from __future__ import annotations

import argparse
import math
import warnings

import numpy as np

from dpsparse import PrivateScaler, SparseRegressor, make_private_pipeline

RECIPES = ("dp_ight", "dp_gcd", "select_polish", "dual_averaging")


def data(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (6000, 20)) * np.where(np.arange(20) < 2, 1.0, 0.05)
    return X, X[:, 0] + 20 * X[:, 2] + 0.1 * rng.standard_normal(6000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--epsilon", type=float, default=2.0)
    options = parser.parse_args()
    root = math.sqrt(options.seeds)
    print(f"R^2 on 3000 other rows, epsilon {options.epsilon}, delta 1e-6, {options.seeds} seeds")
    print(f"{'':16s} {'as they are':>12s} {'+-':>6s} {'scaled':>8s} {'+-':>6s}")
    for recipe in RECIPES:
        plain, scaled = [], []
        for seed in range(options.seeds):
            X, y = data(seed)
            model = SparseRegressor(sparsity=2, target_bound=3.0, recipe=recipe, random_state=seed)
            scaler = PrivateScaler(feature_bound=1.0, random_state=seed + 1000)
            pipe = make_private_pipeline(scaler, model, epsilon=options.epsilon, delta=1e-6)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scaled.append(pipe.fit(X[:3000], y[:3000]).score(X[3000:], y[3000:]))
                model.set_params(epsilon=options.epsilon, delta=1e-6, feature_bound=1.0).fit(X[:3000], y[:3000])
            plain.append(model.score(X[3000:], y[3000:]))
        row = [v for scores in (plain, scaled) for v in (np.mean(scores), np.std(scores) / root)]
        print(f"{recipe:16s} {row[0]:12.3f} {row[1]:6.3f} {row[2]:8.3f} {row[3]:6.3f}")


if __name__ == "__main__":
    main()
