"""Easy data, objectives, and the two runs of one solver: on the central oracle and on the exact one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from builders import Rows, prepared_for
from dpsparse.core import Budget, Noise
from dpsparse.core.facts import Facts, Penalty, Vector
from dpsparse.core.mechanisms import Randomness
from dpsparse.oracles import ExactOracle, make_oracle


def easy(task: str, n: int = 1000, d: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Three of d columns matter, and the intercept does."""
    rng = np.random.default_rng(11)
    X = rng.uniform(-1, 1, (n, d))
    margin = X[:, :3] @ np.array([1.0, -2.0, 0.7]) + 0.4
    if task == "regression":
        return X, margin + 0.3 * rng.standard_normal(n)
    return X, (rng.random(n) < 1 / (1 + np.exp(-2 * margin))).astype(int)


def objective(X: Any, y: Vector, coef: Vector, intercept: float, task: str, penalty: Penalty) -> float:
    """Mean loss plus penalty."""
    m = X @ np.ravel(coef) + intercept
    loss = 0.5 * np.mean((m - y) ** 2) if task == "regression" else np.mean(np.logaddexp(0, m) - y * m)
    return float(loss + penalty.l1 * np.abs(coef).sum() + penalty.l2 * np.sum(np.square(coef)) / 2)


def central_and_exact(estimator: Any, X: np.ndarray, y: np.ndarray) -> tuple[Vector, Vector, Facts]:
    """Coefficients of a private fit, and of the same solver, with the same constants, on the exact oracle."""
    prepared = prepared_for(estimator, *X.shape, sparse=False, models=1)
    loss, facts = estimator.request().loss, prepared.facts
    rows = Rows(X, y.astype(float), facts)
    private = prepared.solver.run(make_oracle(rows, loss, prepared.of_one_model, Randomness(5)))
    names = [n for n in ("noise", "selection_noise") if hasattr(prepared.solver, n)]
    quiet = replace(
        prepared.solver,
        squares=replace(prepared.solver.squares, noise=Noise.NONE),
        **dict.fromkeys(names, Noise.NONE),
    )
    plan = quiet.plan(facts, Budget.approx(1.0, 0.5))
    oracle = ExactOracle(Rows(X, y.astype(float), facts, lattice=False), loss, plan, np.random.default_rng(0))
    return private, quiet.run(oracle), facts
