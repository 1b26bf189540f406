"""The two runs of one solver with one set of constants: on the central oracle and on the exact one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from builders import Rows, prepared_for
from dpsparse.core import Budget, Noise
from dpsparse.core.facts import Facts, Vector
from dpsparse.core.mechanisms import Randomness
from dpsparse.oracles import ExactOracle, make_oracle


def both_runs(estimator: Any, X: Any, y: np.ndarray, seed: int = 5) -> tuple[Vector, Vector, Facts]:
    """Coefficients of a private fit, and of the same solver without noise and clip."""
    prepared = prepared_for(estimator, *X.shape, sparse=sp.issparse(X), models=1)
    loss, facts = estimator.request().loss, prepared.facts
    rows = Rows(X, y.astype(float), facts)
    private = prepared.solver.run(make_oracle(rows, loss, prepared.of_one_model, Randomness(seed)))
    quiet = replace(prepared.solver, noise=Noise.NONE)
    plan = quiet.plan(facts, Budget.approx(1.0, 0.5))
    exact = ExactOracle(Rows(X, y.astype(float), facts, lattice=False), loss, plan, np.random.default_rng(seed))
    return private, quiet.run(exact), facts
