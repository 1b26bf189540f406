"""What a search may try, as JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, cast

from scipy import stats

from ... import recipes
from ...core import DataError
from ...core.plain import Json
from ..steps.values import restored_value, stored_value
from .space import listed

WHAT = "param_distributions"


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
