"""Models as safe, versioned JSON files."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import Any, ClassVar, NoReturn

import numpy as np

from .. import recipes
from ..core import Budget, DataError, Statement
from ..core.errors import ModelEditedError, PrivacyError
from ..core.facts import Facts, Vector
from ..core.plain import Json, to_json
from ..core.regular_files import open_regular, parse_json, read_bytes, write_whole
from ..io.dictionary import Dictionary
from ..queries import losses
from ..queries.kinds import Solver
from ..recipes.base import PrivateRecipe, Recipe
from ..rows.row_bounds import RowBounds
from .intervals import Intervals, all_finite_intervals
from .linear import SparseLinear
from .model_schema import SchemaError, check_model, model_digest

FORMAT = "dpsparse-model"
VERSION = 2
#: Files beyond are not read unless the caller says so: about eight million coefficients.
LARGEST_BYTES = 2**28
#: A file that is to be replaced may have any size; only its first bytes are looked at.
LARGEST_HEAD_OF, HEAD = 2**62, 200
STARTS = re.compile(rb'\s*\{\s*"format"\s*:\s*"dpsparse-(model|pipeline|search)"')
#: Arguments that say how a fit is paid for: they belong to the session, and the entry that paid is in the statement.
PAYING = ("ledger", "dataset", "label", "run_id")
#: What the statement of a model begins with whose digest does not fit.
EDITED = "the model file was edited after it was saved, or has no digest: nothing in it, this statement included, can be relied on"


#: What content that is no model may raise when something is made of it.
DAMAGED = (KeyError, TypeError, ValueError, IndexError, OverflowError, AttributeError, RecursionError)


def save(model: SparseLinear, path: str | os.PathLike[str]) -> None:
    """Write a fitted model; the file appears whole or not at all.

    Raises
    ------
    DataError
        If there is another file that is no model, or a coefficient is not finite, which JSON has no word for.
    """
    write_whole(path, json.dumps(model_content(model), indent=1, allow_nan=False), check_replaceable)


def model_content(model: SparseLinear) -> dict[str, Json]:
    """All that a file of a fitted model holds, with its digest."""
    coef = np.atleast_2d(model.coef_)
    if not (np.all(np.isfinite(coef)) and np.all(np.isfinite(model.intercept_))):
        raise DataError("the model has coefficients that are not finite, and a model file holds finite numbers only.")
    row, column = np.nonzero(coef)
    content: dict[str, Json] = {
        "format": FORMAT,
        "version": VERSION,
        "class": type(model).__name__,
        "params": _params(model),
        "n_features_in": int(model.n_features_in_),
        "feature_names_in": [str(n) for n in model.feature_names_in_] if hasattr(model, "feature_names_in_") else None,
        "classes": to_json(model.classes_) if hasattr(model, "classes_") else None,
        "coef": {
            "shape": list(model.coef_.shape),
            "row": to_json(row),
            "column": to_json(column),
            "value": coef[row, column].tolist(),
        },
        "intercept": np.asarray(model.intercept_).tolist(),
        "statement": model.statement_.to_dict(),
        "dictionary": to_json(model.dictionary_.to_dict()) if "dictionary_" in vars(model) else None,
        "multinomial": vars(model).get("multinomial_"),
        "intervals": _intervals(model),
        "sparse_rows": model.fitted_sparse,
        "bounds": to_json(model.fitted_bounds),
    }
    content["digest"] = model_digest(content)
    return content


def _intervals(model: SparseLinear) -> Json:
    if "intervals_" not in vars(model):
        return None
    if not all_finite_intervals(model.intervals_):
        raise DataError("the model has intervals that are not finite, and a model file holds finite numbers only.")
    return model.intervals_.to_dict()


def check_replaceable(path: FilePath) -> None:
    """Refuse to replace anything but a model: not data, not a ledger, not a file of somebody else."""
    if not os.path.lexists(path):
        return
    with open_regular(path, LARGEST_HEAD_OF, "a dpsparse model that may be replaced") as file:
        head = file.read(HEAD)
    if head and not STARTS.match(head):
        raise DataError(
            f"{path} exists and is not a dpsparse model, so it is not replaced. Choose another name, or remove the file first."
        )


def load(path: str | os.PathLike[str], *, edited: bool = False, largest: int = LARGEST_BYTES) -> SparseLinear:
    """Read a model that `save` wrote.

    The file ends with a digest over all that it holds. A file whose digest does not fit was changed after it was saved, or
    damaged: it is refused. The digest finds changes; whoever can write the file can also make a new digest, so it proves nothing about
    who made the model. A ledger does: see the statement's `ledger`.

    Parameters
    ----------
    path : str or Path
    edited : bool
        Load a file whose digest does not fit, or which has none (version 1), all the same; its statement then says so first.
    largest : int
        Files of more bytes are not read.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ModelEditedError
        If the digest does not fit.
    DataError
        If the file is not a model of a version this release reads.
    """
    content = _parts(path, largest)
    sealed = content.get("digest") == model_digest(content)
    if not (sealed or edited):
        raise ModelEditedError(
            f"{path} was edited after it was saved, or is damaged: its digest does not fit. Nothing in it can be relied on. "
            "Get the original; dpsparse.load(path, edited=True) reads it all the same."
        )
    try:
        model = model_of(content)
    except DAMAGED as error:
        raise DataError(
            f"{path} is a damaged dpsparse model ({type(error).__name__}). Save it again from the original."
        ) from None
    if not sealed:
        model.statement_ = replace(model.statement_, private=False, caveats=(EDITED, *model.statement_.caveats))
    return model


def _parts(path: str | os.PathLike[str], largest: int) -> dict[str, Any]:
    """The content of a file whose form is right."""
    text = read_bytes(path, largest, "a dpsparse model")
    try:
        content = parse_json(text.decode("utf-8"))
    except ValueError:  # also bytes that are no text
        raise DataError(
            f"{path} is not a dpsparse model: it is not valid JSON. Save models with model.save(path)."
        ) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DataError(f"{path} is not a dpsparse model. Save models with model.save(path).")
    version = content.get("version")
    if isinstance(version, bool) or version not in (1, VERSION):
        raise DataError(
            f"{path} has another format version; this release reads versions 1 and {VERSION}. Update dpsparse."
        )
    try:
        check_model(content)
    except SchemaError as error:
        raise DataError(
            f"{path} is a damaged dpsparse model: {error} is not as it was saved. Save it again from the original."
        ) from None
    return content


def model_of(content: Mapping[str, Any]) -> SparseLinear:
    """The model of a checked content."""
    from .classifier import SparseClassifier
    from .regressor import SparseRegressor

    known = {"SparseClassifier": SparseClassifier, "SparseRegressor": SparseRegressor}
    params = {name: value for name, value in content["params"].items() if name not in PAYING}
    if isinstance(params.get("recipe"), dict):
        params["recipe"] = _recipe(params["recipe"])
    if isinstance(params.get("loss"), dict):
        params["loss"] = losses.restored_loss(params["loss"])
    if isinstance(params.get("budget"), dict):
        params["budget"] = Budget(**params["budget"])
    for name in ("feature_bound", "accept"):
        if isinstance(params.get(name), list):
            params[name] = tuple(params[name])
    model: SparseLinear = known[content["class"]](**params)
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
        model.multinomial_ = bool(content.get("multinomial"))
    model.statement_ = Statement.from_dict(content["statement"])
    model._sparse_rows = bool(content.get("sparse_rows"))
    if content.get("bounds") is not None:
        stored_bounds = content["bounds"]
        lower, upper, scale = (_column_numbers(stored_bounds[k]) for k in ("lower", "upper", "scale"))
        model._fitted_bounds = RowBounds(lower, upper, stored_bounds["row_norm"], scale)
    if content.get("intervals") is not None:
        model.intervals_ = Intervals.from_dict(content["intervals"])
        model.covariance_ = model.intervals_.covariance
        if not all(0 <= j < model.n_features_in_ for j in model.intervals_.columns):
            raise ValueError
    if content.get("dictionary") is not None:
        model.dictionary_ = Dictionary.from_dict(content["dictionary"]).as_fitted(
            exact_labels=of_earlier_release(content)
        )
        if model.dictionary_.output_bounds().lower.size != model.n_features_in_:
            raise ValueError
    return model


def of_earlier_release(content: Mapping[str, Json]) -> bool:
    """Whether a model was saved by a release whose models did not keep their bounds."""
    return "bounds" not in content


def _column_numbers(stored: float | list[float]) -> float | Vector:
    return np.asarray(stored, dtype=float) if isinstance(stored, list) else float(stored)


def _recipe(stored: dict[str, Json]) -> recipes.Recipe:
    """The recipe with its settings, or a stand-in where this installation has none that takes them."""
    settings: dict[str, Any] = dict(stored)
    try:
        return recipes.get(settings.pop("recipe"))(**settings)
    except (KeyError, TypeError, ValueError):
        return UnknownRecipe(stored=stored)


def _params(model: SparseLinear) -> dict[str, Json]:
    params: dict[str, Json] = {}
    for name, value in {**model.get_params(deep=False), **model.plain_bounds()}.items():
        if name in PAYING:
            continue
        if name == "loss" and value is not None:
            value = losses.stored_loss(value)
        if name == "recipe" and not isinstance(value, str):
            value = value.stored if isinstance(value, UnknownRecipe) else recipes.settings(value)
        if isinstance(value, Budget):
            value = {k: getattr(value, k) for k in ("epsilon", "delta", "rho", "mu")}
        params[name] = to_json(value)
    return params


@dataclass(frozen=True, kw_only=True)
class UnknownRecipe(PrivateRecipe):
    """Stands in a loaded model for the recipe that fitted it.

    Parameters
    ----------
    stored : dict
        The recipe's name and settings, as the file has them; they are written again when the model is saved.
    """

    name: ClassVar[str] = "unknown"

    stored: dict[str, Json] = field(default_factory=dict)

    def resolve(self, facts: Facts, budget: Budget) -> tuple[Recipe, str]:
        """Refuses."""
        self._refuse()

    def view(self, facts: Facts) -> Facts:
        """Refuses."""
        self._refuse()

    def solver(self, facts: Facts, budget: Budget) -> Solver:
        """Refuses."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise PrivacyError(
            f"this model was fitted by the recipe {self.stored.get('recipe')!r}, which is not installed here with these settings: it "
            "predicts, and cannot be fitted again. Set recipe= to one of dpsparse.recipes.names(), or to the recipe itself."
        )
