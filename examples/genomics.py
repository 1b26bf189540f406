"""Seventy patients and four thousand genes: when to say no, before anything is spent. python examples/genomics.py."""

from __future__ import annotations

import warnings

import numpy as np

from dpsparse import SparseClassifier
from dpsparse.core import HopelessFitWarning

GENES = 4000
#: Expression is given as ranks within a sample, scaled to [-1, 1]: a map of one row at a time, with bounds that hold by construction.
BOUNDS = {"feature_bound": 1.0, "classes": [0, 1], "sparsity": 10}


def ranks(expression: np.ndarray) -> np.ndarray:
    """Each row as ranks in [-1, 1]; looks at one row at a time, so it is free."""
    order = expression.argsort(axis=1).argsort(axis=1)
    return 2 * order / (expression.shape[1] - 1) - 1


def cohort(people: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Made-up expression; ten genes shift with the disease, as strongly as in the easy sets that everybody plots."""
    rng = np.random.default_rng(seed)
    ill = rng.integers(0, 2, people)
    expression = rng.standard_normal((people, GENES))
    expression[:, :10] += 1.5 * ill[:, None] * np.where(np.arange(10) % 2, 1, -1)
    return ranks(expression), ill


def main() -> None:
    """Ask the planner; see that it is right; see what it would take."""
    print("before: what 70 people carry")
    for epsilon in (0.5, 1.0, 4.0, 16.0):
        plan = SparseClassifier(epsilon=epsilon, delta=1e-5, **BOUNDS).plan(70, GENES)
        print(f"  epsilon {epsilon:g}: {plan.verdict}, error rate {plan.error.test}")
    plan = SparseClassifier(epsilon=1.0, delta=1e-5, **BOUNDS).plan(70, GENES)
    print(f"  people for a useful fit at epsilon 1: about {plan.rows_needed(epsilon=1.0):,}")

    print("all the same: mean accuracy on others, five fits at epsilon 1; a coin has 0.5")
    X, y = cohort(2000, seed=1)
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HopelessFitWarning)  # the fit says it, too
        for k in range(5):
            few = cohort(70, seed=10 + k)
            found.append(SparseClassifier(epsilon=1.0, delta=1e-5, **BOUNDS).fit(*few).score(X, y))
    print(f"  70 people: {np.mean(found):.2f}")  # made-up people: an exact score gives nobody away

    print("what it takes")
    many = 4000
    plan = SparseClassifier(epsilon=1.0, delta=1e-5, **BOUNDS).plan(many, GENES)
    model = SparseClassifier(epsilon=1.0, delta=1e-5, **BOUNDS).fit(*cohort(many, seed=2))
    right = sorted(set(model.support_.tolist()) & set(range(10)))
    print(f"  {many:,} people: {plan.verdict}; accuracy {model.score(X, y):.2f}, {len(right)} of the ten genes found")


if __name__ == "__main__":
    main()
