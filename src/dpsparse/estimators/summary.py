"""A fitted model as plain values, and in the units of its table."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.errors import DataError
from ..core.facts import Vector
from ..core.plain import to_json
from .effects import Effects, effects_of
from .linear import SparseLinear
from .shape_functions import names_or_none

WITHIN_BOUNDS = (
    "Coefficients hold for values within the declared bounds; values outside are clipped to them, "
    "in the fit and in every prediction."
)
NO_BOUNDS = (
    "This model does not keep the bounds of its fit (it was saved by an earlier release): the fit "
    "clipped values to them, and predictions take "
    "values as they come. Predictions for values outside the bounds are extrapolations; fit again "
    "to have such values clipped."
)


def linear_of(model: object) -> SparseLinear:
    """The linear model inside: that of a search, the last step of a pipeline, or itself."""
    found = getattr(model, "best_estimator_", model)
    found = found.steps[-1][1] if hasattr(found, "steps") else getattr(found, "model_", found)
    if not isinstance(found, SparseLinear):
        raise DataError(f"a model of dpsparse is needed, and this is a {type(found).__name__}.")
    return found


def summary(model: SparseLinear) -> dict[str, Any]:
    """A fitted model as plain values."""
    coef = np.atleast_2d(model.coef_)
    names = names_or_none(model)
    classes = vars(model).get("classes_")
    selected = []
    for j in model.support_:
        values = coef[:, j].tolist()
        selected.append(
            {
                "feature": int(j) if names is None else str(names[j]),
                "index": int(j),
                "coefficient": values[0] if len(values) == 1 else values,
                **({"hazard_ratio": float(np.exp(values[0]))} if survives(model) else {}),
            }
        )
    return {
        "recipe": model.statement_.recipe,
        "n_features": int(model.n_features_in_),
        "classes": None if classes is None else classes.tolist(),
        "intercept": _scalar(np.asarray(model.intercept_).ravel().tolist()),
        "selected": selected,
        "bounds": to_json(model.fitted_bounds),
        "statement": model.statement_.to_dict(),
        **({"intervals": model.intervals_.records()} if has_intervals(model) else {}),
        **({"baseline": to_json(vars(model.baseline_))} if survives(model) else {}),
        **({"shapes": [to_json(shape) for shape in model.shapes_]} if model.basis_ is not None else {}),
        **({"in_units": in_units(model).records()} if keeps_dictionary(model) else {}),
    }


def about_bounds(model: SparseLinear) -> str:
    """For which rows the coefficients hold, in a sentence or two."""
    if model.fitted_bounds is None:
        return NO_BOUNDS
    regression = (
        ""
        if "classes_" in vars(model) or survives(model)
        else " Predictions stay within the declared range of the target."
    )
    return WITHIN_BOUNDS + regression


def _scalar(values: list[float]) -> float | list[float]:
    return values[0] if len(values) == 1 else values


def keeps_dictionary(model: SparseLinear) -> bool:
    """Whether a model knows the units of the table that it was fitted on."""
    return "dictionary_" in vars(model)


def survives(model: SparseLinear) -> bool:
    """Whether it is a survival model: coefficients are log hazard ratios."""
    return "baseline_" in vars(model)


def has_intervals(model: SparseLinear) -> bool:
    """Whether a model was fitted with intervals."""
    return "intervals_" in vars(model)


def line_coefficients(model: SparseLinear, coef: Vector) -> Vector:
    """Coefficients by column, zero for columns that are curves."""
    basis = model.basis_
    if basis is None:
        return coef
    found = np.zeros((*coef.shape[:-1], basis.n_features))
    found[..., basis.lines] = coef[..., basis.starts[basis.lines]]
    return found


def in_units(model: SparseLinear, level: float = 0.95) -> Effects:
    """Results of a model in the units of its dictionary; those that are zero are left out."""
    return effects_of(model, level)
