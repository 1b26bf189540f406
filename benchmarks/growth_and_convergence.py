"""Growth with the dimension beside dense noise, and the convergence of every twin, the stochastic ones too.

``python -m benchmarks.growth_and_convergence`` with n, s and epsilon fixed fits DP-IGHT (peel), DP-GCD and, as a contrast, DP-IGHT with
dense noise over d = 500 .. 20,000, and fits error = a + b ln d and error = c d^k to the means: log-like growth has a small k. Then it runs
the twins with their paths kept and fits a line to the logarithm of the distance to their last iterate against steps: converging linearly
means that the line fits. Figures go to ``out/growth_and_convergence.png``, numbers to ``out/growth_and_convergence.json``.
"""

from __future__ import annotations

import argparse
import json
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from dpsparse import SparseRegressor, recipes

DIMENSIONS = (500, 1000, 2000, 5000, 10_000, 20_000)
TWINS = ("ight", "sgd_ht", "scsg_ht", "svrg_ht", "gcd")


def data(n: int, d: int, s: int, seed: int, noise: float = 0.3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Signs +-1, and s coefficients of size 1/2 .. 1: the same signal and the same noise at every d."""
    rng = np.random.default_rng(seed)
    X = (rng.integers(0, 2, (n, d), dtype=np.int8) * 2 - 1).astype(np.int8)
    truth = np.zeros(d)
    truth[rng.choice(d, s, replace=False)] = rng.choice([-1, 1], s) * rng.uniform(0.5, 1, s)
    return X, X @ truth + noise * rng.standard_normal(n), truth


def estimator(recipe: Any, s: int, seed: int, **options: Any) -> SparseRegressor:
    bounds = {"feature_bound": 1, "target_bound": 3 * math.sqrt(0.6 * s)}
    return SparseRegressor(recipe=recipe, sparsity=s, fit_intercept=False, random_state=seed, **bounds, **options)


def growth(n: int, s: int, epsilon: float, seeds: int) -> dict[str, dict[str, Any]]:
    """Mean relative errors by dimension, and the two fits."""
    makers = {"dp_ight peel": recipes.DPIGHT(mechanism="peel"), "dp_ight dense": recipes.DPIGHT(mechanism="dense")}
    if "dp_gcd" in recipes.REGISTRY:
        makers["dp_gcd"] = recipes.get("dp_gcd")()
    found: dict[str, dict[str, Any]] = {name: {"mean": [], "standard_error": []} for name in makers}
    for d in DIMENSIONS:
        errors: dict[str, list[float]] = {name: [] for name in makers}
        for seed in range(seeds):
            X, y, truth = data(n, d, s, seed)
            for name, recipe in makers.items():
                model = estimator(recipe, s, seed, epsilon=epsilon, delta=1e-5).fit(X, y)
                errors[name].append(float(np.linalg.norm(model.coef_ - truth) / np.linalg.norm(truth)))
        for name, values in errors.items():
            found[name]["mean"].append(float(np.mean(values)))
            found[name]["standard_error"].append(float(np.std(values, ddof=1) / math.sqrt(seeds)))
            print(f"d = {d:6d}  {name:14s} {np.mean(values):.3f}", flush=True)
    logs = np.log(DIMENSIONS)
    for record in found.values():
        means = np.array(record["mean"])
        slope, level = np.polyfit(logs, means, 1)
        record |= {
            "per_ln_d": float(slope),
            "power_of_d": float(np.polyfit(logs, np.log(means), 1)[0]),
            "log_fit_residual": float(np.abs(means - (level + slope * logs)).max()),
            "ratio_over_range": float(means[-1] / means[0]),
        }
    return found


def convergence(n: int, d: int, s: int, seed: int = 0) -> dict[str, dict[str, Any]]:
    """Distance to the last iterate against steps, for the twins, with the line through its logarithm."""
    X, y, _ = data(n, d, s, seed)
    found = {}
    for name in TWINS:
        if name not in recipes.REGISTRY:
            continue
        model = estimator(recipes.get(name)(), s, seed, keep_path=True).fit(X, y)
        last = model.path_.iterates[-1]
        gaps = np.array([np.linalg.norm(w - last) for w in model.path_.iterates]) / np.linalg.norm(last)
        reached = int(np.argmax(gaps < 1e-10)) if np.any(gaps < 1e-10) else gaps.size
        used = np.flatnonzero(gaps[:reached] > 0)
        logs = np.log(gaps[used])
        line = np.polyfit(used, logs, 1)
        fitted = 1 - np.var(logs - np.polyval(line, used)) / np.var(logs)
        rate = math.exp(line[0])
        found[name] = {"gaps": gaps.tolist(), "rate": rate, "r_squared": float(fitted), "steps_to_1e-10": reached}
        print(f"{name:8s} contraction {rate:.3f} a step, R^2 {fitted:.3f}, {reached} steps to 1e-10", flush=True)
    return found


def plot(errors: dict[str, Any], paths: dict[str, Any], target: Path, title: str) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), constrained_layout=True)
    for name, record in errors.items():
        left.errorbar(DIMENSIONS, record["mean"], yerr=record["standard_error"], marker="o", capsize=3, label=name)
    left.set(xscale="log", xlabel="features d", ylabel="relative error", title=title, ylim=(0, None))
    for name, record in paths.items():
        gaps = np.maximum(record["gaps"], 1e-16)
        right.semilogy(np.arange(1, gaps.size + 1), gaps, label=f"{name} ($R^2$ {record['r_squared']:.2f})")
    right.set(xlabel="steps", ylabel="distance to the last iterate", title="twins without privacy", ylim=(1e-12, 3))
    for axis in (left, right):
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    figure.savefig(target, dpi=130)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--sparsity", type=int, default=5)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("out"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    options.out.mkdir(parents=True, exist_ok=True)
    paths = convergence(1000, 500, options.sparsity)
    errors = growth(options.rows, options.sparsity, options.epsilon, options.seeds)
    for name, record in errors.items():
        print(
            f"{name:14s} {record['per_ln_d']:+.4f} for each ln d, about d^{record['power_of_d']:.2f}, "
            f"{record['ratio_over_range']:.2f} times as large at d = {DIMENSIONS[-1]:,}"
        )
    settings = {"rows": options.rows, "sparsity": options.sparsity, "epsilon": options.epsilon, "seeds": options.seeds}
    numbers = {"settings": settings, "dimensions": DIMENSIONS, "growth": errors, "convergence": paths}
    target = options.out / "growth_and_convergence.json"
    target.write_text(json.dumps(numbers, indent=1))
    title = f"n = {options.rows}, s = {options.sparsity}, epsilon = {options.epsilon:g}"
    plot(errors, paths, target.with_suffix(".png"), title)
    print(f"written to {target} and .png")


if __name__ == "__main__":
    main()
