"""The methods by name. A plug-in is a function of a table, epsilon, delta and a generator that returns a `Linear`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.tables import peers, reference
from benchmarks.tables.scores import Linear
from benchmarks.tables.sets import Table

Fit = Callable[[Table, float, float, np.random.Generator], Linear]


@dataclass(frozen=True)
class Method:
    """A fit; `private` ones are run for every epsilon; some know regression only."""

    fit: Fit
    private: bool = True
    classes: bool = True


def product(recipe: str) -> Fit:
    """An estimator of dpsparse with the declared bounds and nothing else."""

    def fit(table: Table, epsilon: float, delta: float, rng: np.random.Generator) -> Linear:
        from dpsparse import SparseClassifier, SparseRegressor

        known: dict[str, Any] = {
            "feature_bound": (table.lower, table.upper),
            "sparsity": table.sparsity,
            "recipe": recipe,
        }
        if table.kind == "regression":
            known |= {"target_center": table.center, "target_bound": table.bound}
            model = SparseRegressor(epsilon=epsilon, delta=delta, **known).fit(table.X, table.y)
        else:
            model = SparseClassifier(epsilon=epsilon, delta=delta, classes=[0, 1], **known)
            model.fit(table.X, table.y.astype(int))
        coef = np.ravel(model.coef_)
        note = f"{np.count_nonzero(coef)} of {coef.size}"
        return Linear(coef, float(np.ravel(model.intercept_)[0]), note)

    return fit


METHODS: dict[str, Method] = {
    "constant": Method(peers.constant, private=False),
    "nonprivate": Method(peers.nonprivate, private=False),
    "auto": Method(product("auto")),
    "dual_averaging": Method(product("dual_averaging")),
    "select_polish": Method(product("select_polish")),
    "tables": Method(product("tables")),
    "reference": Method(reference.fit),
    "dpgd": Method(peers.dpgd),
    "adassp": Method(peers.adassp, classes=False),
    "boosted_adassp": Method(peers.boosted_adassp, classes=False),
}
