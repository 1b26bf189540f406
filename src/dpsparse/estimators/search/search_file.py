"""Private searches as JSON files: the best model, the space that was searched, and the guarantee of the whole."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, cast

from scipy import stats
from sklearn.base import clone

from ... import recipes
from ...core import DataError, Statement
from ...core.plain import Json, to_json
from ..model_file import ModelContent, model_content, model_of, sealed_form
from ..steps.pipeline_file import arguments, restored_value, stored_value
from .search import PrivateSearch
from .space import listed

FORMAT, VERSION = "dpsparse-search", 2
#: Arguments with a place of their own: the estimator is that of the best model.
LEFT = ("estimator", "param_distributions")
WHAT = "param_distributions"


@sealed_form(FORMAT, VERSION)
@dataclass(frozen=True, kw_only=True, eq=False)
class SearchContent:
    """All that the file of a fitted search holds."""

    params: dict[str, Any]
    space: Any
    best_params: dict[str, Any]
    best_score: float | None
    model: ModelContent
    statement: Statement


def search_content(search: PrivateSearch) -> SearchContent:
    """All that a file of a fitted search holds.

    A space with values that have no plain form is left out.
    """
    best = {
        name: recipes.settings(recipes.make(value)) if name == "recipe" and not isinstance(value, str | dict) else value
        for name, value in search.best_params_.items()
    }
    return SearchContent(
        params=arguments(search, LEFT),
        space=stored_space(search.param_distributions),
        best_params=cast("dict[str, Json]", to_json(best)),
        best_score=cast("float | None", to_json(search.best_score_)),
        model=model_content(search.best_estimator_),
        statement=search.statement_,
    )


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


def stored_space(given: object) -> Json:
    """Dictionaries of lists and of scipy's distributions as plain values; None where a value has no plain form.

    Examples
    --------
    >>> from scipy import stats
    >>> stored_space({"sparsity": [5, 10], "alpha": stats.loguniform(0.1, 1)})
    {'sparsity': [5, 10], 'alpha': {'distribution': 'loguniform', 'args': [0.1, 1], 'kwds': {}}}
    """
    if given is None:
        return None
    try:
        if isinstance(given, Mapping):
            return {name: _values(values) for name, values in given.items()}
        return [{name: _values(values) for name, values in part.items()} for part in cast(Any, given)]
    except DataError:
        return None


def restored_space(held: Any) -> Any:
    """The inverse of `stored_space`. Distributions are looked up among those of scipy by name; nothing is run."""
    if isinstance(held, list):
        return [restored_space(part) for part in held]
    return None if held is None else {name: _restored(values) for name, values in held.items()}


def stored_candidate(parameters: Mapping[str, object]) -> str | None:
    """A candidate as JSON, with its recipes; None where a value has no plain form."""
    try:
        return json.dumps({name: _entry(value) for name, value in parameters.items()}, allow_nan=False)
    except (DataError, ValueError):
        return None


def restored_candidate(text: str) -> dict[str, object]:
    """The inverse of `stored_candidate`."""
    return {name: _restored([value])[0] for name, value in json.loads(text).items()}


def _values(values: object) -> Json:
    if listed(values):
        return [_entry(value) for value in values]
    name = getattr(getattr(values, "dist", None), "name", None)
    if not isinstance(name, str) or not isinstance(getattr(stats, name, None), stats.rv_continuous | stats.rv_discrete):
        raise DataError(f"{WHAT} holds a {type(values).__name__}, which a file of plain values has no word for.")
    frozen = cast(Any, values)
    return {
        "distribution": name,
        "args": stored_value(list(frozen.args), WHAT),
        "kwds": stored_value(dict(frozen.kwds), WHAT),
    }


def _entry(value: object) -> Json:
    if isinstance(value, type) or not hasattr(value, "__dataclass_fields__"):
        return stored_value(value, WHAT)
    held = {field.name: stored_value(getattr(value, field.name), WHAT) for field in fields(cast(Any, value))}
    return {"<recipe>": recipes.make(value).name, "fields": held}


def _restored(values: Any) -> Any:
    if isinstance(values, list):
        return [
            _recipe(value) if isinstance(value, dict) and "<recipe>" in value else restored_value(value)
            for value in values
        ]
    found = getattr(stats, values["distribution"], None)
    if not isinstance(found, stats.rv_continuous | stats.rv_discrete):
        raise ValueError("no such distribution")
    return found(*restored_value(values["args"]), **restored_value(values["kwds"]))


def _recipe(value: Mapping[str, Any]) -> recipes.Recipe:
    return recipes.get(value["<recipe>"])(**restored_value(value["fields"]))
