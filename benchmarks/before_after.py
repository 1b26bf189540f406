"""Two versions of the library on the same data with the same seeds: coefficients, statements, times.

    python -m benchmarks.before_after BEFORE/src AFTER/src [--rounds 5] [--only dp_ight]

Every recipe is fitted on fixed dense and sparse rows by either version in turn, each in a process of its own. Printed per
recipe and kind of rows: the largest difference of a coefficient over the largest coefficient, what differs in the
statement, and the ratio of the least times. Equal seeds mean equal noise, as long as both versions draw it in the same
order: differences are then those of the arithmetic. Fits are not private: they are seeded.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

DENSE, SPARSE = "dense", "sparse"
#: What may differ between two statements without meaning anything.
UNCOMPARED = {"versions", "created"}
#: Rows and features, by how much there is to do.
SHAPES = {
    "small": {DENSE: (3000, 60), SPARSE: (3000, 400)},
    "large": {DENSE: (20_000, 500), SPARSE: (20_000, 20_000)},
}


def data(kind: str, task: str, size: str) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(7)
    n, d = SHAPES[size][kind]
    if kind == DENSE:
        X: Any = rng.uniform(-1, 1, (n, d))
        margin = 2 * X[:, 0] - 2 * X[:, 7] + X[:, 20]
    else:
        density = 12 / d if size == "small" else 50 / d
        X = sp.random(n, d, density=density, format="csr", random_state=rng, data_rvs=lambda k: rng.uniform(0.2, 1, k))
        margin = np.asarray(X[:, :20].sum(axis=1)).ravel() - np.asarray(X[:, 20:40].sum(axis=1)).ravel()
    if task == "classes":
        return X, (margin + rng.logistic(size=n) / 2 > 0).astype(int)
    return X, np.clip(margin + 0.2 * rng.standard_normal(n), -4, 4)


def fit(recipe: str, kind: str, task: str, size: str) -> dict[str, Any]:
    """One seeded fit: coefficients, statement, seconds; or why there is none."""
    from dpsparse import SparseClassifier, SparseRegressor, recipes

    X, y = data(kind, task, size)
    given: dict[str, Any] = {"epsilon": 2.0, "delta": 1e-6, "sparsity": 5, "feature_bound": 1.0, "random_state": 3}
    given |= {"recipe": recipe, "accept": tuple(getattr(recipes.get(recipe), "needs", ()))}
    if kind == SPARSE:
        given["row_norm"] = 4.0
    if recipe == "dpsl_kt":
        auxiliary = np.random.default_rng(8).uniform(-1, 1, (200, X.shape[1]))
        given["recipe"] = recipes.get(recipe)(auxiliary=auxiliary)
    model = SparseClassifier(**given) if task == "classes" else SparseRegressor(**given, target_bound=4.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        try:
            model.fit(X, y)
        except (TypeError, ValueError) as error:
            return {"refused": str(error)}
        seconds = time.perf_counter() - start
    return {
        "coefficients": [*map(float, np.ravel(model.coef_)), *map(float, np.ravel(model.intercept_))],
        "statement": json.loads(model.statement_.to_json()),
        "seconds": seconds,
    }


def serve() -> None:
    """Answer fits that are asked for on standard input, one a line."""
    for line in sys.stdin:
        print(json.dumps(fit(*json.loads(line))), flush=True)


class Version:
    """One version of the library in a process of its own."""

    def __init__(self, source: str) -> None:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([source, os.getcwd()]), "OMP_NUM_THREADS": "2"}
        command = [sys.executable, "-c", "from benchmarks.before_after import serve; serve()"]
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def fit(self, *what: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()
        found: dict[str, Any] = json.loads(self._process.stdout.readline())
        return found


def differences(before: Any, after: Any, where: str = "") -> list[str]:
    """Paths at which two statements differ by more than rounding."""
    if isinstance(before, dict) and isinstance(after, dict):
        keys = (before.keys() | after.keys()) - UNCOMPARED
        return [d for k in sorted(keys) for d in differences(before.get(k), after.get(k), f"{where}.{k}")]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [
            d for i, (a, b) in enumerate(zip(before, after, strict=True)) for d in differences(a, b, f"{where}[{i}]")
        ]
    if isinstance(before, float) and isinstance(after, float):
        return [] if np.isclose(before, after, rtol=1e-4, equal_nan=True) else [f"{where}: {before:.6g} -> {after:.6g}"]
    return [] if before == after else [f"{where}: {before!r} -> {after!r}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--size", choices=sorted(SHAPES), default="small")
    parser.add_argument("--only", nargs="*", default=None, metavar="RECIPE")
    options = parser.parse_args()
    from dpsparse import recipes

    versions = [Version(options.before), Version(options.after)]
    print(f"{'recipe':18s} {'rows':7s} {'task':8s} {'largest difference':>19s} {'time ratio':>11s}  statement")
    for recipe in options.only or recipes.names():
        for kind in (DENSE, SPARSE):
            for task in ("numbers", "classes"):
                runs = [[v.fit(recipe, kind, task, options.size) for v in versions] for _ in range(options.rounds)]
                first = runs[0]
                if any("refused" in r for r in first):
                    said = [str(r.get("refused", "fitted"))[:60] for r in first]
                    print(
                        f"{recipe:18s} {kind:7s} {task:8s} {'refused':>19s} {'':>11s}  {said[0] if said[0] == said[1] else said}"
                    )
                    continue
                a, b = (np.array(r["coefficients"]) for r in first)
                gap = np.abs(a - b).max() / max(np.abs(a).max(), 1e-300)
                least = [min(run[i]["seconds"] for run in runs) for i in (0, 1)]
                other = differences(first[0]["statement"], first[1]["statement"])
                print(
                    f"{recipe:18s} {kind:7s} {task:8s} {gap:19.3g} {least[1] / least[0]:11.2f}  "
                    f"{'equal' if not other else f'{len(other)} differ: {other[0][:70]}'}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
