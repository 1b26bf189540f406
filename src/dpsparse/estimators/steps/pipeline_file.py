"""Private pipelines as JSON files. Whatever of a step has no plain form is refused by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Any

import numpy as np
from sklearn import feature_extraction, preprocessing
from sklearn.base import BaseEstimator
from sklearn.feature_extraction import text

from ...core import DataError, Statement
from ...core.facts import Vector
from ...core.plain import Json
from ...io.dictionary import Dictionary, TableEncoder
from ...ledger import PAYING
from ..model_file import ModelContent, model_content, model_of, of_earlier_release, sealed_form
from .pipeline import PrivatePipeline
from .private_bounds import PrivateBounds
from .row_steps import Bounds, PublicScaler, RowNormalizer
from .scaler import NoisyCount, PrivateScaler

FORMAT, VERSION = "dpsparse-pipeline", 1

#: What a fitted step of ours holds beside its arguments, and of which types; others learn nothing.
LEARNED: dict[type, dict[str, type | UnionType]] = {
    RowNormalizer: {"bounds_": Bounds},
    PublicScaler: {"bounds_": Bounds},
    PrivateScaler: {"scale_": np.ndarray, "bounds_": Bounds, "_before": Bounds, "statement_": Statement},
    PrivateBounds: {
        "bounds_": Bounds,
        "target_bound_": float | None,
        "target_center_": float | None,
        "statement_": Statement,
    },
    NoisyCount: {"n_rows_": int, "statement_": Statement},
    TableEncoder: {"dictionary_": Dictionary},
}
#: Steps of scikit-learn that learn nothing, so that their arguments are all of them.
STATELESS: tuple[type, ...] = (
    text.HashingVectorizer,
    feature_extraction.FeatureHasher,
    preprocessing.Normalizer,
    preprocessing.Binarizer,
)
KNOWN = {kind.__name__: kind for kind in (*LEARNED, *STATELESS)}
#: What both kinds of estimators learn about their columns.
SEEN: dict[str, type | UnionType] = {"n_features_in_": int, "feature_names_in_": np.ndarray | list}
#: Arguments of a pipeline that are not stored: steps have a form of their own.
LEFT = ("steps", "memory", "verbose", "transform_input", "budget")


@dataclass(frozen=True)
class StoredStep:
    """A step before the model: its arguments that are not the defaults, and what it learned."""

    name: str
    class_: str | None
    params: dict[str, Any]
    learned: dict[str, Any]


@sealed_form(FORMAT, VERSION)
@dataclass(frozen=True, eq=False)
class PipelineContent:
    """All that the file of a fitted pipeline holds."""

    params: dict[str, Any]
    steps: tuple[StoredStep, ...]
    name: str
    model: ModelContent
    statement: Statement


def pipeline_content(pipeline: PrivatePipeline) -> PipelineContent:
    """All that a file of a fitted pipeline holds.

    Raises
    ------
    DataError
        If a step has no plain form: it is named.
    """
    *before, (name, model) = pipeline.steps
    steps = tuple(_step(step_name, step) for step_name, step in before)
    return PipelineContent(arguments(pipeline, LEFT), steps, name, model_content(model), pipeline.statement_)


def pipeline_of(content: PipelineContent) -> PrivatePipeline:
    """The pipeline of a content."""
    model = model_of(content.model)
    exact_labels = of_earlier_release(content.model)
    steps = [(step.name, _made(step, exact_labels)) for step in content.steps]
    pipeline = PrivatePipeline([*steps, (content.name, model)], **restored_value(content.params))
    pipeline.statement_ = model.statement_ = content.statement
    return pipeline


def _step(name: str, step: BaseEstimator) -> StoredStep:
    if step is None or isinstance(step, str):
        return StoredStep(name, None, {}, {})
    kind = type(step)
    if kind.__name__ not in KNOWN or KNOWN[kind.__name__] is not kind:
        raise DataError(
            f"step {name!r} ({kind.__name__}) has no plain form. Steps that can be saved are "
            f"{', '.join(sorted(KNOWN))}; save the model alone with pipeline[-1].save(path)."
        )
    held = (*LEARNED[kind], *SEEN) if kind in LEARNED else ()
    learned = {key: stored_value(vars(step)[key], f"{kind.__name__}.{key}") for key in held if key in vars(step)}
    return StoredStep(name, kind.__name__, arguments(step, ("dictionary",)), learned)


def _made(stored: StoredStep, exact_labels: bool) -> BaseEstimator | None:
    if stored.class_ is None:
        return None
    kind, params = KNOWN[stored.class_], restored_value(stored.params)
    learned = restored_value(stored.learned)
    names = np.asarray(learned.get("feature_names_in_", ["none"]))
    types = LEARNED.get(kind, {})
    if not types.keys() <= learned.keys() <= {*types, *SEEN}:
        raise ValueError
    if not all(isinstance(value, (types | SEEN)[name]) for name, value in learned.items()):
        raise ValueError
    if names.ndim != 1 or names.dtype.kind != "U":
        raise ValueError
    if kind is TableEncoder:
        params["dictionary"] = learned["dictionary_"] = learned["dictionary_"].as_fitted(exact_labels=exact_labels)
    step = kind(**params)
    for name, value in learned.items():
        setattr(step, name, np.asarray(value, dtype=object) if name == "feature_names_in_" else value)
    return step


# ------------------------------------------------------------------------------------------------ arguments

#: Records that are stored with the name of their kind.
RECORDS: dict[str, tuple[type, Callable[..., object], Callable[..., object]]] = {
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


def _numbers(value: Vector | float) -> Vector | float:
    return np.asarray(value, dtype=float) if isinstance(value, list) else float(value)
