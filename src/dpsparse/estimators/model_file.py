"""Models as safe, versioned JSON files."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any, ClassVar, NoReturn, cast

import numpy as np

from .. import recipes
from ..core import Budget, DataError
from ..core.codec import FormError, read, write
from ..core.errors import PrivacyError
from ..core.facts import Facts
from ..core.plain import Json, to_json
from ..core.regular_files import open_regular, write_whole
from ..fitting.request import read_loss
from ..io.dictionary import Dictionary
from ..ledger import PAYING
from ..queries import losses
from ..queries.kinds import Solver
from ..recipes.base import PrivateRecipe, Recipe
from .linear import SparseLinear
from .model_schema import Coefficients, ModelContent

#: Arguments by class, and those that files of earlier releases do not have: written where they are given.
CLASS_TERMS = ("class_weight", "class_shares")
LATER = {**dict.fromkeys(("weight_bound", "offset_bound", "unit", "groups", *CLASS_TERMS)), "shapes": "line"}

#: Files beyond are not read unless the caller says so: about eight million coefficients.
LARGEST_BYTES = 2**28
#: A file that is to be replaced may have any size; only its first bytes are looked at.
LARGEST_HEAD_OF, HEAD = 2**62, 200
STARTS = re.compile(rb'\s*\{\s*"format"\s*:\s*"dpsparse-(model|pipeline|search|survival)"')
#: What the statement of a model begins with whose digest does not fit.
EDITED = (
    "the model file was edited after it was saved, or has no digest: nothing in it, this statement "
    "included, can be relied on"
)


#: What content that is no model may raise when something is made of it.
DAMAGED = (KeyError, TypeError, ValueError, IndexError, OverflowError, AttributeError, RecursionError)


def save_model(model: SparseLinear, path: str | os.PathLike[str]) -> None:
    """Write a fitted model; the file appears whole or not at all.

    Raises
    ------
    DataError
        If there is another file that is no model, or a coefficient is not finite, which JSON has no word for.
    """
    write_sealed(path, model_content(model))


def model_content(model: SparseLinear) -> ModelContent:
    """All that a file of a fitted model holds."""
    held = vars(model)
    if not (np.all(np.isfinite(model.coef_)) and np.all(np.isfinite(model.intercept_))):
        raise DataError("the model has coefficients that are not finite, and a model file holds finite numbers only.")
    return ModelContent(
        class_=cast(Any, type(model).__name__),
        params=_params(model),
        n_features_in=int(model.n_features_in_),
        feature_names_in=tuple(map(str, model.feature_names_in_)) if "feature_names_in_" in held else None,
        classes=tuple(np.asarray(model.classes_).tolist()) if "classes_" in held else None,
        coef=Coefficients.of(model.coef_),
        intercept=np.asarray(model.intercept_).tolist(),
        statement=model.statement_,
        dictionary=cast(Any, to_json(model.dictionary_.to_dict())) if "dictionary_" in held else None,
        multinomial=held.get("multinomial_"),
        intervals=held.get("intervals_"),
        sparse_rows=model.fitted_sparse,
        bounds=model.fitted_bounds,
        basis=model.basis_,
    )


def write_sealed(path: str | os.PathLike[str], content: object) -> None:
    """Write a file that appears whole or not at all, if the path is free or its file may be replaced."""
    try:
        held = write(content)
    except FormError as error:
        raise DataError(f"the model cannot be saved: {error} A model file holds finite numbers only.") from None
    write_whole(path, json.dumps(held, indent=1, allow_nan=False), check_replaceable)


def check_replaceable(path: FilePath) -> None:
    """Refuse to replace anything but a model: not data, not a ledger, not a file of somebody else."""
    if not os.path.lexists(path):
        return
    with open_regular(path, LARGEST_HEAD_OF, "a dpsparse model that may be replaced") as file:
        head = file.read(HEAD)
    if head and not STARTS.match(head):
        raise DataError(
            f"{path} exists and is not a dpsparse model, so it is not replaced. Choose another "
            "name, or remove the file first."
        )


def model_of(content: ModelContent) -> SparseLinear:
    """The model of a content."""
    from .classifier import SparseClassifier
    from .regressor import SparseRegressor

    known: dict[str, type[SparseLinear]] = {"SparseClassifier": SparseClassifier, "SparseRegressor": SparseRegressor}
    params = {name: value for name, value in content.params.items() if name not in PAYING}
    if isinstance(params.get("recipe"), dict):
        params["recipe"] = _recipe(params["recipe"])
    if isinstance(params.get("loss"), dict):
        params["loss"] = losses.restored_loss(params["loss"])
    read_loss(params.get("loss"), classes=content.class_ == "SparseClassifier")
    if isinstance(params.get("budget"), dict):
        params["budget"] = read(Budget, params["budget"], "the budget")
    for name in CLASS_TERMS:
        if isinstance(params.get(name), list):
            params[name] = dict(params[name])
    for name in ("feature_bound", "accept", "offset_bound"):
        if isinstance(params.get(name), list):
            params[name] = tuple(params[name])
    model: SparseLinear = known[content.class_](**params)
    model.coef_ = content.coef.dense()
    intercept = np.asarray(content.intercept, dtype=float)
    model.intercept_ = intercept if intercept.ndim else float(intercept)
    model.support_ = np.flatnonzero(np.any(np.atleast_2d(model.coef_) != 0, axis=0))
    model.n_features_in_ = content.n_features_in
    if content.feature_names_in is not None:
        model.feature_names_in_ = np.asarray(content.feature_names_in, dtype=object)
    if content.classes is not None:
        model.classes_ = np.asarray(content.classes)
        model.multinomial_ = bool(content.multinomial)
    model.statement_ = content.statement
    model._sparse_rows = bool(content.sparse_rows)
    if content.bounds is not None:
        model._fitted_bounds = content.bounds
    model._basis = content.basis
    if content.intervals is not None:
        model.intervals_ = content.intervals
        model.covariance_ = content.intervals.covariance
        if not all(0 <= j < model.coef_.shape[-1] for j in content.intervals.columns):
            raise ValueError
    if content.dictionary is not None:
        model.dictionary_ = Dictionary.from_dict(content.dictionary).as_fitted(exact_labels=of_earlier_release(content))
        if model.dictionary_.output_bounds().lower.size != content.n_features_in:
            raise ValueError
    return model


def of_earlier_release(content: ModelContent) -> bool:
    """Whether a model was saved by a release whose models did not keep their bounds."""
    return content.bounds is None


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
        if name in PAYING or (name in LATER and value == LATER[name]):
            continue
        if name == "loss" and value is not None and not isinstance(value, str):
            value = losses.stored_loss(value)
        if name == "recipe" and not isinstance(value, str):
            value = value.stored if isinstance(value, UnknownRecipe) else recipes.settings(value)
        if name in CLASS_TERMS and isinstance(value, Mapping):  # names in JSON are text, and labels need not be
            value = [[label, number] for label, number in value.items()]
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
            f"this model was fitted by the recipe {self.stored.get('recipe')!r}, which is not installed here with "
            "these settings: it predicts, and cannot be fitted again. Set recipe= to one of dpsparse.recipes.names(), "
            "or to the recipe itself."
        )
