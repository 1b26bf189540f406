"""The planner's verdict beside what happens, on data with few records and thousands of features.

``python -m benchmarks.planner_verdicts [--runs 20] [--sparsity 10]``. Useful: at least 10 % below the constant predictor's test error in four of
five runs; hopeless: not clearly below it (3 %) in four of five; else borderline: the planner's own lines. A run is a random 80/20 split and fresh noise.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from benchmarks import settings
from dpsparse import SparseClassifier, SparseRegressor
from dpsparse.algorithms.constants import PLANNER

NAMES = ("arcene", "colon", "golub_leukemia", "riboflavin")
DELTA = 1e-5


def ratio(name: str, epsilon: float, seed: int, sparsity: int | None = None) -> float:
    """Test error of a fit over that of the constant predictor, on the same split."""
    setting = settings.genomic(name, seed, sparsity)
    model = settings.fit(setting, epsilon=epsilon, delta=DELTA, fit_intercept=True, random_state=seed)
    assert setting.test is not None
    X, y = setting.test
    if setting.task == "regression":
        error, constant = np.mean((model.predict(X) - y) ** 2), np.mean((setting.y.mean() - y) ** 2)
    else:
        error, constant = 1 - model.score(X, y), np.mean(y != round(float(setting.y.mean())))
    return float(error / constant)


def ratios(name: str, epsilon: float, runs: int, sparsity: int | None = None) -> np.ndarray:
    """The same for several splits."""
    return np.array([ratio(name, epsilon, seed, sparsity) for seed in range(runs)])


def happened(found: np.ndarray) -> str:
    """The verdict that runs give."""
    if np.mean(found <= PLANNER.useful) >= 0.8:
        return "useful"
    return "hopeless" if np.mean(found >= PLANNER.hopeless) >= 0.8 else "borderline"


def chances(found: np.ndarray, rng: np.random.Generator) -> dict[str, float]:
    """How often five of these runs, drawn anew, give each verdict: with tests of a dozen records it is partly luck."""
    drawn = [happened(rng.choice(found, 5)) for _ in range(2000)]
    return {v: drawn.count(v) / len(drawn) for v in ("useful", "borderline", "hopeless")}


def verdict(name: str, epsilon: float, sparsity: int | None = None) -> str:
    """The planner's verdict from public facts."""
    setting = settings.genomic(name, 0, sparsity)
    estimator = SparseRegressor if setting.task == "regression" else SparseClassifier
    model = estimator(epsilon=epsilon, delta=DELTA, sparsity=sparsity, **setting.bounds)
    return str(model.plan(*setting.X.shape).verdict)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--sparsity", type=int)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in NAMES:
        for epsilon in (1.0, 4.0):
            found = ratios(name, epsilon, given.runs, given.sparsity)
            odds = ", ".join(f"{v} {p:.2f}" for v, p in chances(found, np.random.default_rng(0)).items())
            print(
                f"{name:16s} eps {epsilon:g}: planner {verdict(name, epsilon, given.sparsity):10s} five runs say: {odds}; "
                f"of {found.size} at least 10 % below {np.mean(found <= 0.9):.2f}, below {np.mean(found < 1):.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
