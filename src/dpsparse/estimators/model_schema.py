"""What a model file may hold: names, types, shapes and finite numbers, checked before anything is made of them."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeAlias, TypeGuard

from ..core.statement import AskSummary, Statement

#: Coefficients beyond this many would fill the memory of a usual machine: 2^27 floats are one gigabyte.
LARGEST_COEFFICIENTS = 2**27
#: Dictionaries and lists inside each other; the deepest that is ever written has six.
LARGEST_DEPTH = 16

#: The names of a file of this version, in the order in which they are written.
NAMES = (
    "format",
    "version",
    "class",
    "params",
    "n_features_in",
    "feature_names_in",
    "classes",
    "coef",
    "intercept",
    "statement",
)
#: Names that a file may lack: those that came later.
LATER = ("digest", "dictionary", "multinomial", "intervals", "sparse_rows", "bounds")


#: Whether a part of a file may be what it is.
Test: TypeAlias = Callable[[object], bool]


class SchemaError(ValueError):
    """A model file that is none. The text says which part, and quotes nothing."""


def model_digest(content: Mapping[str, object]) -> str:
    """A digest of everything in a file but the digest itself, whatever its spaces and the order of its names."""
    held = {k: v for k, v in content.items() if k != "digest"}
    text = json.dumps(held, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def check_model(content: Any) -> None:
    """Refuse, with `SchemaError`, what `save` would not have written."""
    _need(isinstance(content, dict), "the file")
    _need(set(content) - set(LATER) == set(NAMES), "the list of its parts")
    _need(_optional(_text)(content.get("digest")), "digest")
    _need(_optional(_mapping)(content.get("dictionary")), "dictionary")
    _need(_optional(_truth)(content.get("multinomial")), "multinomial")
    _need(_optional(_are_intervals)(content.get("intervals")), "intervals")
    _need(_optional(_truth)(content.get("sparse_rows")), "sparse_rows")
    _need(_depth(content) <= LARGEST_DEPTH, "the depth of its parts")
    _need(isinstance(content["params"], dict), "params")
    d, names = content["n_features_in"], content["feature_names_in"]
    _need(_whole(d, 1, LARGEST_COEFFICIENTS), "n_features_in")
    _need(_optional(lambda v: _are_bounds(v, d))(content.get("bounds")), "bounds")
    _need(names is None or (_texts(names) and len(names) == d), "feature_names_in")
    rows = _check_coef(content["coef"], d)
    classes, intercept = content["classes"], content["intercept"]
    if content["class"] == "SparseClassifier":
        _need(isinstance(classes, list) and len(classes) >= 2 and _labels(classes), "classes")
        _need(rows == (1 if len(classes) == 2 else len(classes)), "coef")
        _need(isinstance(intercept, list) and len(intercept) == rows and all(map(_number, intercept)), "intercept")
    else:
        _need(content["class"] == "SparseRegressor", "class")
        _need(classes is None, "classes")
        _need(rows is None, "coef")
        _need(_number(intercept), "intercept")
    _check_statement(content["statement"])


def _check_coef(coef: Any, d: int) -> int | None:
    """The number of models, None for a vector."""
    _need(isinstance(coef, dict) and set(coef) == {"shape", "row", "column", "value"}, "coef")
    shape, row, column, value = (coef[k] for k in ("shape", "row", "column", "value"))
    _need(isinstance(shape, list) and len(shape) in (1, 2) and shape[-1] == d, "coef")
    _need(all(_whole(s, 1, LARGEST_COEFFICIENTS) for s in shape) and math.prod(shape) <= LARGEST_COEFFICIENTS, "coef")
    rows = 1 if len(shape) == 1 else shape[0]
    _need(all(isinstance(v, list) for v in (row, column, value)) and len(row) == len(column) == len(value), "coef")
    _need(all(_whole(i, 0, rows - 1) for i in row) and all(_whole(j, 0, d - 1) for j in column), "coef")
    places = [i * d + j for i, j in zip(row, column, strict=True)]
    _need(all(a < b for a, b in itertools.pairwise(places)), "coef")
    _need(all(_number(v) for v in value), "coef")
    return None if len(shape) == 1 else rows


def _optional(test: Test) -> Test:
    return lambda value: value is None or test(value)


def _text(value: object) -> TypeGuard[str]:
    return isinstance(value, str)


def _truth(value: object) -> TypeGuard[bool]:
    return isinstance(value, bool)


def _texts(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(map(_text, value))


def _mapping(value: object) -> TypeGuard[dict[str, object]]:
    return isinstance(value, dict)


def _number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and _finite(value)


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond floats
        return False


def _whole(value: object, least: int, most: int) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _count(value: object) -> TypeGuard[int]:
    return _whole(value, 0, 2**62)


def _labels(values: list[Any]) -> bool:
    """Different labels of one kind, in order: text, truth values or finite numbers."""
    kinds = {bool if isinstance(v, bool) else str if isinstance(v, str) else float for v in values}
    known = all(isinstance(v, bool | str) or _number(v) for v in values)
    return known and len(kinds) == 1 and all(a < b for a, b in itertools.pairwise(values))


#: Tests of the fields of a statement, by name; infinite numbers are written as null.
STATEMENT: dict[str, Test] = {
    "private": lambda v: isinstance(v, bool),
    "priced": lambda v: isinstance(v, bool),
    "epsilon": _optional(lambda v: _number(v) and v >= 0),
    "delta": lambda v: _number(v) and 0 <= v <= 1,
    "rho": _optional(lambda v: _number(v) and v >= 0),
    "mu": _optional(lambda v: _number(v) and v >= 0),
    "n_rows": _count,
    "asks": lambda v: isinstance(v, list) and all(map(_is_ask, v)),
    "assumptions": _texts,
    "caveats": _texts,
    "notes": _texts,
    "versions": lambda v: _mapping(v) and all(map(_text, v.values())),
    "ledger": _optional(_mapping),
    "adjacency": _text,
    "unit": _text,
    "recipe": _text,
    "loss": _text,
    "accountant": _text,
}
#: The same for one ask.
ASK: dict[str, Test] = {
    "name": _text,
    "noise": _text,
    "cost_name": _text,
    "part": _text,
    "times": _count,
    "draws": _count,
    "cost": _optional(_number),
}


def _numbers(value: object) -> bool:
    return isinstance(value, list) and all(map(_number, value))


#: Tests of the fields of intervals.
INTERVALS: dict[str, Test] = {
    "features": lambda v: isinstance(v, list) and all(_text(name) or _count(name) for name in v),
    "estimate": _numbers,
    "covariance": lambda v: isinstance(v, list) and all(map(_numbers, v)),
    "flag": lambda v: v in ("good", "clipped", "wide", "too many"),
    "target": lambda v: v in ("mean", "robust"),
    "clip": lambda v: _number(v) and v >= 0,
    "kept": lambda v: _number(v) and 0 <= v <= 1,
    "beyond": lambda v: _number(v) and 0 <= v <= 1,
    "n_rows": _count,
    "classes": _truth,
    "columns": lambda v: isinstance(v, list) and all(map(_count, v)),
    "asked": _optional(_count),
    "level": lambda v: _number(v) and 0 < v < 1,
    "critical": _optional(lambda v: _number(v) and v > 0),
}


def _are_intervals(value: object) -> bool:
    if not (isinstance(value, dict) and INTERVALS.keys() - {"beyond"} <= value.keys() <= INTERVALS.keys()):
        return False
    size = len(value["features"]) if isinstance(value["features"], list) else -1
    fits = all(INTERVALS[name](given) for name, given in value.items())
    return fits and len(value["estimate"]) == size and [len(row) for row in value["covariance"]] == [size] * size


def _are_bounds(value: object, d: int) -> bool:
    """Whether rows of d columns can be clipped to them."""
    if not (isinstance(value, dict) and value.keys() == {"lower", "upper", "row_norm", "scale"}):
        return False
    lower, upper, scale = (
        [v] if _number(v) else v if _numbers(v) and len(v) == d else None
        for v in (value["lower"], value["upper"], value["scale"])
    )
    norm = value["row_norm"]
    if lower is None or upper is None or scale is None or not (norm is None or (_number(norm) and norm > 0)):
        return False
    pairs = itertools.product(lower, upper) if 1 in (len(lower), len(upper)) else zip(lower, upper, strict=True)
    return all(low < high for low, high in pairs) and min(scale) > 0


def _is_ask(value: object) -> bool:
    return _fits(value, AskSummary, ASK, _number)


def _fits(value: object, kind: type[AskSummary] | type[Statement], tests: Mapping[str, Test], other: Test) -> bool:
    """Whether a dictionary has the fields of a dataclass (those with a default may be missing), each as its test wants it."""
    known = {f.name: f for f in fields(kind)}
    if not (isinstance(value, dict) and value.keys() <= known.keys()):
        return False
    missing = known.keys() - value.keys()
    return all(known[n].default is not known[n].default_factory for n in missing) and all(
        tests.get(n, other)(v) for n, v in value.items()
    )


def _check_statement(statement: object) -> None:
    _need(_fits(statement, Statement, STATEMENT, lambda _: True), "statement")


def _depth(value: object) -> int:
    deepest, left = 0, [(value, 1)]
    while left:
        part, depth = left.pop()
        deepest = max(deepest, depth)
        if depth > LARGEST_DEPTH:
            return depth
        if isinstance(part, dict):
            left.extend((v, depth + 1) for v in part.values() if isinstance(v, dict | list))
        elif isinstance(part, list):
            left.extend((v, depth + 1) for v in part if isinstance(v, dict | list))
    return deepest


def _need(holds: bool, part: str) -> None:
    if not holds:
        raise SchemaError(part)
