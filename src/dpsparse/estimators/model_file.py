"""Models as safe, versioned JSON files."""

from __future__ import annotations

import json
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from .. import losses, recipes
from ..privacy import Budget, DataError, Statement
from ..whole_file import write_whole

FORMAT = "dpsparse-model"
VERSION = 1


def save(model: Any, path: Any) -> None:
    """Write a fitted model; the file appears whole or not at all."""
    coef = np.atleast_2d(model.coef_)
    row, column = np.nonzero(coef)
    content = {
        "format": FORMAT,
        "version": VERSION,
        "class": type(model).__name__,
        "params": _params(model),
        "n_features_in": int(model.n_features_in_),
        "feature_names_in": [str(n) for n in model.feature_names_in_] if hasattr(model, "feature_names_in_") else None,
        "classes": _plain(model.classes_) if hasattr(model, "classes_") else None,
        "coef": {
            "shape": list(model.coef_.shape),
            "row": row.tolist(),
            "column": column.tolist(),
            "value": coef[row, column].tolist(),
        },
        "intercept": np.asarray(model.intercept_).tolist(),
        "statement": model.statement_.to_dict(),
    }
    write_whole(FilePath(path), json.dumps(content, indent=1, allow_nan=False))


def load(path: Any) -> Any:
    """Read a model that `save` wrote.

    Raises
    ------
    DataError
        If the file is not a model of a version this release reads.
    """
    from .classifier import SparseClassifier
    from .regressor import SparseRegressor

    try:
        content = json.loads(FilePath(path).read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise DataError(
            f"{path} is not a dpsparse model: it is not valid JSON. Save models with model.save(path)."
        ) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DataError(f"{path} is not a dpsparse model. Save models with model.save(path).")
    if content.get("version") != VERSION:
        raise DataError(
            f"{path} has format version {content.get('version')!r}; this release reads version {VERSION}. Update dpsparse."
        )
    known = {"SparseClassifier": SparseClassifier, "SparseRegressor": SparseRegressor}
    try:
        params = dict(content["params"])
        if isinstance(params.get("recipe"), dict):
            fields = dict(params["recipe"])
            params["recipe"] = recipes.get(fields.pop("recipe"))(**fields)
        if isinstance(params.get("loss"), dict):
            params["loss"] = losses.restored(params["loss"])
        if isinstance(params.get("budget"), dict):
            params["budget"] = Budget(**params["budget"])
        for name in ("feature_bound", "accept"):
            if isinstance(params.get(name), list):
                params[name] = tuple(params[name])
        model = known[content["class"]](**params)
        stored = content["coef"]
        shape = tuple(stored["shape"])
        coef = np.zeros(shape if len(shape) == 2 else (1, *shape))
        coef[stored["row"], stored["column"]] = stored["value"]
        model.coef_ = coef.reshape(shape)
        intercept = np.asarray(content["intercept"], dtype=float)
        model.intercept_ = intercept if intercept.ndim else float(intercept)
        model.support_ = np.flatnonzero(np.any(np.atleast_2d(model.coef_) != 0, axis=0))
        model.n_features_in_ = int(content["n_features_in"])
        if content["feature_names_in"] is not None:
            model.feature_names_in_ = np.asarray(content["feature_names_in"], dtype=object)
        if content["classes"] is not None:
            model.classes_ = np.asarray(content["classes"])
        model.statement_ = Statement.from_dict(content["statement"])
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise DataError(
            f"{path} is a damaged dpsparse model ({type(error).__name__}). Save it again from the original."
        ) from None
    return model


def _params(model: Any) -> dict[str, Any]:
    params = {}
    for name, value in model.get_params(deep=False).items():
        if name == "ledger":
            continue  # an object of the session
        if name == "loss" and value is not None:
            value = losses.stored(value)
        if name == "recipe" and not isinstance(value, str):
            value = recipes.settings(value)
        if isinstance(value, Budget):
            value = {k: getattr(value, k) for k in ("epsilon", "delta", "rho", "mu")}
        params[name] = _plain(value)
    return params


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)
