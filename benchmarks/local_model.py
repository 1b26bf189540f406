"""The local model: error against people, features, sparsity and epsilon, with whole records or labels alone private.

``python -m benchmarks.local_model`` runs ``ldp_iht`` and ``label_ldp_iht`` on the synthetic model of Wang and Xu (ICML 2019): features
uniform on -1 and 1, s coefficients uniform on [0, 1], noise uniform on [-0.05, 0.05]. It fits error = a + b ln p and error = c p^k to the
means over growing p (log-like growth has a small k; the bounds are p/(n eps^2) for the square of the one and s ln p/(n eps^2) for the
other), compares with the recipes of the paper's theorems, and fits one million people with 54 features in a process of its own, with its
time and peak memory. Figures go to ``out/local_model.png``, numbers to ``out/local_model.json``.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from dpsparse import SparseRegressor, recipes

NOISE = 0.05
#: For each recipe: its fixed setting, and what is varied.
SETTINGS: dict[str, dict[str, Any]] = {
    "label_ldp_iht": {
        "fixed": {"n": 10_000, "p": 200, "s": 10, "epsilon": 1.0},
        "p": (50, 100, 200, 400, 800, 1600),
        "n": (3_000, 10_000, 30_000, 100_000),
        "s": (5, 10, 20, 30),
        "epsilon": (0.5, 1.0, 2.0, 4.0),
    },
    "ldp_iht": {
        "fixed": {"n": 200_000, "p": 50, "s": 5, "epsilon": 1.0},
        "p": (12, 25, 50, 100, 200),
        "n": (30_000, 100_000, 300_000, 1_000_000),
        "s": (2, 5, 10, 20),
        "epsilon": (0.5, 1.0, 2.0, 4.0),
    },
}


def data(n: int, p: int, s: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The paper's model."""
    rng = np.random.default_rng(seed)
    X = (rng.integers(0, 2, (n, p), dtype=np.int8) * 2 - 1).astype(np.int8)
    truth = np.zeros(p)
    truth[rng.choice(p, s, replace=False)] = rng.uniform(0, 1, s)
    return X, X @ truth + rng.uniform(-NOISE, NOISE, n), truth


def fitted(recipe: Any, X: Any, y: Any, s: int, epsilon: float, seed: int | None) -> SparseRegressor:
    """With the bounds that a user would declare: three standard deviations of the target."""
    needs = recipes.make(recipe).needs
    bounds = {"feature_bound": 1, "target_bound": 3 * math.sqrt(s / 3) + NOISE}
    model = SparseRegressor(
        epsilon=epsilon, recipe=recipe, sparsity=s, fit_intercept=False, random_state=seed, accept=needs, **bounds
    )
    return model.fit(X, y)


def errors(recipe: Any, *, n: int, p: int, s: int, epsilon: float, seeds: int) -> list[float]:
    """Relative errors, one for each seed."""
    found = []
    for seed in range(seeds):
        X, y, truth = data(n, p, s, seed)
        model = fitted(recipe, X, y, s, epsilon, seed)
        found.append(float(np.linalg.norm(model.coef_ - truth) / np.linalg.norm(truth)))
    return found


def swept(seeds: int, most: int) -> dict[str, Any]:
    """Mean errors along each axis, for both kinds of privacy."""
    results: dict[str, Any] = {}
    for name, setting in SETTINGS.items():
        results[name] = {"fixed": setting["fixed"]}
        for axis in ("p", "n", "s", "epsilon"):
            values = [v for v in setting[axis] if axis != "n" or v <= most]
            means, spreads = [], []
            for value in values:
                found = errors(name, **{**setting["fixed"], axis: value}, seeds=seeds)
                means.append(float(np.mean(found)))
                spreads.append(float(np.std(found, ddof=1) / math.sqrt(seeds)))
                print(f"{name:14s} {axis:8s} {value:>9} {means[-1]:.3f} +- {spreads[-1]:.3f}", flush=True)
            record = {"values": values, "mean": means, "standard_error": spreads}
            if axis == "p":
                logs = np.log(values)
                record["power_of_p"] = float(np.polyfit(logs, np.log(means), 1)[0])
                record["per_ln_p"] = float(np.polyfit(logs, means, 1)[0])
            results[name][axis] = record
    return results


def rivals(seeds: int) -> dict[str, dict[str, float]]:
    """The recipes of the paper's theorems and other randomisers, on the fixed settings."""
    local, label = (SETTINGS[name]["fixed"] for name in ("ldp_iht", "label_ldp_iht"))
    shared = {"n_rows": local["n"], "n_features": local["p"], "epsilon": local["epsilon"], "true_sparsity": local["s"]}
    theory = {"n_rows": label["n"], "n_features": label["p"], "epsilon": label["epsilon"], "true_sparsity": label["s"]}
    makers = {
        "ldp_iht": (recipes.LDPIHT(), local),
        "ldp_iht, Duchi et al.": (recipes.LDPIHT(mechanism="duchi"), local),
        "ldp_iht, theorem 4": (recipes.LDPIHT.from_theory(**shared), local),
        "ldp_moment, theorem 1": (recipes.LDPMoment(), local),
        "label_ldp_iht": (recipes.LabelLDPIHT(), label),
        "label_ldp_iht, theorem 5": (recipes.LabelLDPIHT.from_theory(**theory, noise_bound=NOISE), label),
        "label_ldp_lasso": (recipes.LabelLDPLasso(), label),
    }
    found = {}
    for name, (recipe, setting) in makers.items():
        values = errors(recipe, **setting, seeds=seeds)
        found[name] = {
            "mean": float(np.mean(values)),
            "standard_error": float(np.std(values, ddof=1) / math.sqrt(seeds)),
        }
        print(f"{name:26s} {found[name]['mean']:.3f} +- {found[name]['standard_error']:.3f}", flush=True)
    return found


def million(recipe: str, people: int, p: int = 54, s: int = 10) -> dict[str, Any]:
    """One fit of many people: seconds, and the peak memory of this process."""
    import resource

    X, y, truth = data(people, p, s, 0)
    start = time.perf_counter()
    model = fitted(recipe, X, y, s, 1.0, None)
    seconds = time.perf_counter() - start
    error = float(np.linalg.norm(model.coef_ - truth) / np.linalg.norm(truth))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {
        "recipe": recipe,
        "people": people,
        "features": p,
        "seconds": seconds,
        "peak_gigabytes": peak,
        "error": error,
    }


def alone(recipe: str, people: int) -> dict[str, Any]:
    """The same in a process of its own, so that its memory is measured alone."""
    command = [sys.executable, "-m", "benchmarks.local_model", "--only", recipe, "--people", str(people)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    record: dict[str, Any] = json.loads(run.stdout)
    print(
        f"{recipe:14s} {people:,} people: {record['seconds']:.1f} s, {record['peak_gigabytes']:.2f} GB, error {record['error']:.3f}"
    )
    return record


def plot(results: dict[str, Any], target: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 4, figsize=(15, 7), constrained_layout=True)
    names = {"p": "features p", "n": "people n", "s": "nonzero coefficients s", "epsilon": "epsilon"}
    for row, (recipe, found) in zip(axes, results.items(), strict=True):
        for axis, (key, text) in zip(row, names.items(), strict=True):
            record = found[key]
            axis.errorbar(record["values"], record["mean"], yerr=record["standard_error"], marker="o", capsize=3)
            axis.set(xscale="log", yscale="log", xlabel=text, ylabel="relative error")
            axis.set_xticks(record["values"], [f"{v:g}" if v < 1e4 else f"{v / 1000:g}k" for v in record["values"]])
            axis.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
            axis.grid(alpha=0.3)
            if key == "p":
                axis.set_title(f"{recipe}: error like $p^{{{record['power_of_p']:.2f}}}$")
            else:
                rest = ", ".join(f"{k} = {v:g}" for k, v in found["fixed"].items() if k != key)
                axis.set_title(rest, fontsize=9)
    figure.savefig(target, dpi=130)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--most", type=int, default=1_000_000, help="largest number of people along the axis of people")
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.add_argument("--only", help="fit --people people by this recipe, and print what it took")
    parser.add_argument("--out", type=Path, default=Path("out"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.only:
        print(json.dumps(million(options.only, options.people)))
        return
    options.out.mkdir(parents=True, exist_ok=True)
    scale = [alone(name, options.people) for name in ("ldp_iht", "label_ldp_iht")]
    compared = rivals(options.seeds)
    results = swept(options.seeds, options.most)
    for name, found in results.items():
        print(f"{name:14s} error like p^{found['p']['power_of_p']:.2f}, {found['p']['per_ln_p']:+.4f} for each ln p")
    target = options.out / "local_model.json"
    numbers = {"settings": {"seeds": options.seeds}, "sweeps": results, "rivals": compared, "scale": scale}
    target.write_text(json.dumps(numbers, indent=1))
    plot(results, target.with_suffix(".png"))
    print(f"written to {target} and .png")


if __name__ == "__main__":
    main()
