"""The public side of a fit, for benchmarks that drive solvers themselves."""

from __future__ import annotations

from dpsparse.core.facts import Facts
from dpsparse.estimators.linear import SparseLinear
from dpsparse.fitting import FitPlan, Shape, plan_fit


def prepared_for(
    estimator: SparseLinear, n_rows: int, n_features: int, *, sparse: bool = False, models: int = 1
) -> FitPlan:
    """What an estimator would run on data of this shape."""
    return plan_fit(estimator.request(), Shape(n_rows=n_rows, n_features=n_features, sparse=sparse, models=models))


def declared_facts(estimator: SparseLinear, n_rows: int, n_features: int, *, sparse: bool = False) -> Facts:
    """What is public about data of this shape, as it was declared."""
    return estimator.request().facts(Shape(n_rows=n_rows, n_features=n_features, sparse=sparse))
