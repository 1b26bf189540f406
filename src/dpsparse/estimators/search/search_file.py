"""Private searches as JSON files: the best model, and what was promised for the whole."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from typing import Any

from sklearn.base import clone

from ... import recipes
from ...core import Statement
from ...core.plain import Json, to_json
from ...core.regular_files import write_whole
from ..linear import SparseLinear
from ..model_file import check_replaceable, model_content, model_of
from ..model_schema import check_model, model_digest
from ..steps.values import arguments, restored_value
from .search import PrivateSearch
from .space_file import restored_space, stored_space

FORMAT, VERSION = "dpsparse-search", 2
#: Arguments with a place of their own: the estimator is that of the best model.
LEFT = ("estimator", "param_distributions")


def save_search(search: PrivateSearch, path: str | os.PathLike[str]) -> None:
    """Write a fitted search; the file appears whole or not at all. A space with values that have no plain form is left out."""
    best = {
        name: recipes.settings(recipes.make(value)) if name == "recipe" and not isinstance(value, str) else value
        for name, value in search.best_params_.items()
    }
    content: dict[str, Json] = {
        "format": FORMAT,
        "version": VERSION,
        "params": arguments(search, LEFT),
        "space": stored_space(search.param_distributions),
        "best_params": to_json(best),
        "best_score": to_json(search.best_score_),
        "model": model_content(search.best_estimator_),
        "statement": search.statement_.to_dict(),
    }
    content["digest"] = model_digest(content)
    write_whole(path, json.dumps(content, indent=1, allow_nan=False), check_replaceable)


def search_of(content: Mapping[str, Any]) -> PrivateSearch:
    """The search of a content whose digest was checked: it predicts as before, and can search again."""
    check_model(content["model"])
    model: SparseLinear = model_of(content["model"])
    search = PrivateSearch(clone(model), restored_space(content["space"]), **restored_value(content["params"]))
    search.best_estimator_ = model
    search.best_params_ = dict(content["best_params"])
    search.best_score_ = math.nan if content["best_score"] is None else float(content["best_score"])
    search.statement_ = model.statement_ = Statement.from_dict(content["statement"])
    search.n_features_in_ = model.n_features_in_
    if "feature_names_in_" in vars(model):
        search.feature_names_in_ = model.feature_names_in_
    return search
