"""Private searches as JSON files: the best model, and what was promised for the whole."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from sklearn.base import clone

from ... import recipes
from ...core import Statement
from ...core.codec import form
from ...core.plain import to_json
from ..model_file import model_content, model_of, write_sealed
from ..model_schema import ModelContent, seal, unseal
from ..steps.values import arguments, restored_value
from .search import PrivateSearch
from .space_file import restored_space, stored_space

FORMAT, VERSION = "dpsparse-search", 2
#: Arguments with a place of their own: the estimator is that of the best model.
LEFT = ("estimator", "param_distributions")


@form(out=partial(seal, FORMAT, VERSION), back=partial(unseal, FORMAT, (VERSION,)))
@dataclass(frozen=True, kw_only=True, eq=False)
class SearchContent:
    """All that the file of a fitted search holds."""

    params: dict[str, Any]
    space: Any
    best_params: dict[str, Any]
    best_score: float | None
    model: ModelContent
    statement: Statement


def save_search(search: PrivateSearch, path: str | os.PathLike[str]) -> None:
    """Write a fitted search; the file appears whole or not at all. A space with values that have no plain form is left out."""
    best = {
        name: recipes.settings(recipes.make(value)) if name == "recipe" and not isinstance(value, str | dict) else value
        for name, value in search.best_params_.items()
    }
    content = SearchContent(
        params=arguments(search, LEFT),
        space=stored_space(search.param_distributions),
        best_params=cast(Any, to_json(best)),
        best_score=cast(Any, to_json(search.best_score_)),
        model=model_content(search.best_estimator_),
        statement=search.statement_,
    )
    write_sealed(path, content)


def search_of(content: SearchContent) -> PrivateSearch:
    """The search of a content: it predicts as before, and can search again."""
    model = model_of(content.model)
    search = PrivateSearch(clone(model), restored_space(content.space), **restored_value(content.params))
    search.best_estimator_ = model
    search.best_params_ = content.best_params
    search.best_score_ = math.nan if content.best_score is None else float(content.best_score)
    search.statement_ = model.statement_ = content.statement
    search.n_features_in_ = model.n_features_in_
    if "feature_names_in_" in vars(model):
        search.feature_names_in_ = model.feature_names_in_
    return search
