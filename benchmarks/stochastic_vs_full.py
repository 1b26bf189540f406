"""Stochastic against full-batch hard thresholding under equal, honest accounting: the claim of Liang et al. (2022), Tables 3 to 5.

``python -m benchmarks.stochastic_vs_full`` runs everything; ``--seeds 10 --only 000-log-i`` some of it. Every method is run with its
default rule, dense noise, the same budget and exact prices. Two full-batch rivals: `dp_ight` with dense noise (DP-GD-HT in the paper) and
DP-SGD-HT's own rule on every row, so that sampling is the only difference. Errors are paired by seed. The claim, that a stochastic
method is better than the full batch, *holds* where the mean difference is negative by more than two standard errors, *does not hold*
where it is positive by more, and is *undecided* between.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.settings import fit, news20, relative_error, synthetic
from dpsparse import recipes

#: Setting: its delta.
DELTAS = {"000-log-i": 0.01, "000-lin-i": 0.01, "news20": 1e-5}
FULL = ("dp_ight dense", "same rule, every row")


def methods(n_rows: int) -> dict[str, Any]:
    return {
        "dp_ight dense": recipes.DPIGHT(mechanism="dense"),
        "same rule, every row": recipes.DPSGDHT(batch_size=n_rows),
        "dp_sgd_ht": recipes.DPSGDHT(),
        "dp_scsg_ht": recipes.DPSCSGHT(),
        "dp_scsg_ht, all changes": recipes.DPSCSGHT(change_clip=2.0),
        "dp_svrg_ht": recipes.DPSVRGHT(),
    }


def run(name: str, epsilon: float, seeds: int) -> dict[str, dict[str, Any]]:
    """Errors, passes over the data and seconds of every method, by seed."""
    found: dict[str, dict[str, Any]] = {}
    real = news20() if name == "news20" else None
    for seed in range(seeds):
        setting = real or synthetic(name, seed)
        for label, recipe in methods(setting.X.shape[0]).items():
            start = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = fit(
                    setting, epsilon=epsilon, delta=DELTAS[name], recipe=recipe, random_state=seed, keep_path=True
                )
            took = time.perf_counter() - start
            error = 1 - model.score(*setting.test) if setting.test else relative_error(model, setting)
            record = found.setdefault(label, {"errors": [], "passes": 0.0, "seconds": 0.0, "epsilon": 0.0})
            record["errors"].append(float(error))
            record["passes"] = model.path_.passes[-1]
            record["seconds"] += took / seeds
            record["epsilon"] = model.statement_.epsilon
    return found


def judge(stochastic: list[float], full: list[float]) -> tuple[float, float, str]:
    """Mean difference, its standard error, and the verdict on "stochastic is better"."""
    difference = np.array(stochastic) - np.array(full)
    mean, error = float(difference.mean()), float(difference.std(ddof=1) / math.sqrt(difference.size))
    return mean, error, "holds" if mean < -2 * error else "does not hold" if mean > 2 * error else "undecided"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=["000-log-i", "000-lin-i", "news20"], choices=DELTAS)
    parser.add_argument("--epsilons", nargs="*", type=float, default=[2.0, 4.0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("out/stochastic_vs_full.json"))
    options = parser.parse_args()
    rows = []
    for name in options.only:
        for epsilon in options.epsilons:
            found = run(name, epsilon, options.seeds)
            print(f"\n{name}, epsilon {epsilon:g}, {options.seeds} seeds")
            for label, record in found.items():
                mean = float(np.mean(record["errors"]))
                error = float(np.std(record["errors"], ddof=1) / math.sqrt(options.seeds))
                row = {"setting": name, "epsilon": epsilon, "method": label, "mean": mean, "standard_error": error}
                row |= {k: record[k] for k in ("errors", "passes", "seconds")} | {"stated": record["epsilon"]}
                text = f"  {label:26s} {mean:.3f} +- {error:.3f}   {record['passes']:6.2f} passes {record['seconds']:6.2f} s"
                if label not in FULL:
                    row["verdicts"] = {rival: judge(record["errors"], found[rival]["errors"]) for rival in FULL}
                    text += "".join(f"   {m:+.3f} ({v})" for m, _, v in row["verdicts"].values())
                print(text, flush=True)
                rows.append(row)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(rows, indent=1))
    print(f"\nwritten to {options.out}; differences are against: {', '.join(FULL)}")


if __name__ == "__main__":
    main()
