"""Arguments and learned numbers of steps as JSON, and back. Whatever has no plain form is refused by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ...core import DataError, Statement
from ...core.plain import Json
from ...io.dictionary import Dictionary
from ...ledger import PAYING
from .row_steps import Bounds

#: Records that are stored with the name of their kind.
RECORDS: dict[str, tuple[type, Callable[[Any], Any], Callable[[Any], object]]] = {
    "tuple": (tuple, list, tuple),
    "array": (np.ndarray, lambda v: v.tolist(), np.asarray),
    "bounds": (
        Bounds,
        lambda v: [np.asarray(v.lower).tolist(), np.asarray(v.upper).tolist(), v.row_norm],
        lambda v: Bounds(_numbers(v[0]), _numbers(v[1]), float(v[2])),
    ),
    "statement": (Statement, lambda v: v.to_dict(), Statement.from_dict),
    "dictionary": (Dictionary, lambda v: v.to_dict(), Dictionary.from_dict),
}


def stored_value(value: object, what: str) -> Json:
    """A value as JSON; records are dictionaries with one key, the name of their kind in brackets.

    Examples
    --------
    >>> stored_value((1, 2), "ngram_range")
    {'<tuple>': [1, 2]}
    """
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and np.isfinite(value)):
        return value
    for name, (kind, write, _) in RECORDS.items():
        if type(value) is kind:
            return {f"<{name}>": _plain(write(value), what)}
    return _plain(value, what)


def _plain(value: object, what: str) -> Json:
    if isinstance(value, list):
        return [stored_value(entry, what) for entry in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: stored_value(entry, what) for key, entry in value.items()}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise DataError(f"{what} holds a {type(value).__name__}, which a file of plain values has no word for.")


def restored_value(value: object) -> Any:
    """The inverse of `stored_value`."""
    if isinstance(value, list):
        return [restored_value(entry) for entry in value]
    if isinstance(value, dict):
        if len(value) == 1:
            [(key, held)] = value.items()
            if key.startswith("<") and key[1:-1] in RECORDS:
                return RECORDS[key[1:-1]][2](restored_value(held))
        return {key: restored_value(entry) for key, entry in value.items()}
    return value


def arguments(step: BaseEstimator, leave: tuple[str, ...] = ()) -> dict[str, Json]:
    """The arguments of an estimator that are not as they are by default."""
    usual = _defaults(type(step))
    found = {}
    for name, value in step.get_params(deep=False).items():
        if name in PAYING or name in leave or (name in usual and _same(value, usual[name])):
            continue
        found[name] = stored_value(value, f"{type(step).__name__}({name}=...)")
    return found


def _defaults(kind: type) -> dict[str, object]:
    parameters = inspect.signature(kind).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}


def _same(one: object, two: object) -> bool:
    return one is two or (type(one) is type(two) and not isinstance(one, np.ndarray) and bool(one == two))


def _numbers(value: Any) -> Any:
    return np.asarray(value, dtype=float) if isinstance(value, list) else float(value)
