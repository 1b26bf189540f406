"""Private pipelines as JSON files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn import feature_extraction, preprocessing
from sklearn.base import BaseEstimator
from sklearn.feature_extraction import text

from ...core import DataError, Statement
from ...core.plain import Json
from ...core.regular_files import write_whole
from ...io.dictionary import Dictionary, TableEncoder
from ..linear import SparseLinear
from ..model_file import check_replaceable, model_content, model_of, of_earlier_release
from ..model_schema import check_model, model_digest
from .count import NoisyCount
from .pipeline import PrivatePipeline
from .private_bounds import PrivateBounds
from .row_steps import PublicScaler, RowNormalizer
from .scaler import PrivateScaler
from .values import arguments, restored_value, stored_value

FORMAT, VERSION = "dpsparse-pipeline", 1

#: What a fitted step of ours holds beside its arguments; others learn nothing.
LEARNED: dict[type, tuple[str, ...]] = {
    RowNormalizer: ("bounds_",),
    PublicScaler: ("bounds_",),
    PrivateScaler: ("scale_", "bounds_", "_before", "statement_"),
    PrivateBounds: ("bounds_", "target_bound_", "target_center_", "statement_"),
    NoisyCount: ("n_rows_", "statement_"),
    TableEncoder: ("dictionary_",),
}
#: Steps of scikit-learn that learn nothing, so that their arguments are all of them.
STATELESS: tuple[type, ...] = (
    text.HashingVectorizer,
    feature_extraction.FeatureHasher,
    preprocessing.Normalizer,
    preprocessing.Binarizer,
)
KNOWN = {kind.__name__: kind for kind in (*LEARNED, *STATELESS)}
#: What both kinds of estimators are told about their columns.
SEEN = ("n_features_in_", "feature_names_in_")
#: Arguments of a pipeline that are not stored: steps have a form of their own.
LEFT = ("steps", "memory", "verbose", "transform_input", "budget")


def save_pipeline(pipeline: PrivatePipeline, path: str | os.PathLike[str]) -> None:
    """Write a fitted pipeline; the file appears whole or not at all.

    Raises
    ------
    DataError
        If a step has no plain form: it is named.
    """
    *before, (name, model) = pipeline.steps
    content: dict[str, Json] = {
        "format": FORMAT,
        "version": VERSION,
        "params": arguments(pipeline, LEFT),
        "steps": [_step(step_name, step) for step_name, step in before],
        "name": name,
        "model": model_content(model),
        "statement": pipeline.statement_.to_dict(),
    }
    content["digest"] = model_digest(content)
    write_whole(path, json.dumps(content, indent=1, allow_nan=False), check_replaceable)


def pipeline_of(content: Mapping[str, Any]) -> PrivatePipeline:
    """The pipeline of a content whose digest was checked."""
    check_model(content["model"])
    model: SparseLinear = model_of(content["model"])
    exact_labels = of_earlier_release(content["model"])
    steps = [(str(stored["name"]), _made(stored, exact_labels)) for stored in content["steps"]]
    pipeline = PrivatePipeline([*steps, (str(content["name"]), model)], **restored_value(content["params"]))
    pipeline.statement_ = model.statement_ = Statement.from_dict(content["statement"])
    return pipeline


def _step(name: str, step: BaseEstimator) -> Json:
    if step is None or isinstance(step, str):
        return {"name": name, "class": None, "params": {}, "learned": {}}
    kind = type(step)
    if kind.__name__ not in KNOWN or KNOWN[kind.__name__] is not kind:
        raise DataError(
            f"step {name!r} ({kind.__name__}) has no plain form. Steps that can be saved are {', '.join(sorted(KNOWN))}; "
            "save the model alone with pipeline[-1].save(path)."
        )
    held = (*LEARNED.get(kind, ()), *SEEN) if kind in LEARNED else ()
    learned = {key: stored_value(vars(step)[key], f"{kind.__name__}.{key}") for key in held if key in vars(step)}
    params = arguments(step, ("dictionary",))
    return {"name": name, "class": kind.__name__, "params": params, "learned": learned}


def _made(content: Mapping[str, Any], exact_labels: bool) -> BaseEstimator | None:
    if content["class"] is None:
        return None
    kind, params = KNOWN[content["class"]], restored_value(content["params"])
    learned = restored_value(content["learned"])
    if not set(learned) <= {*LEARNED.get(kind, ()), *SEEN}:
        raise ValueError
    if kind is TableEncoder:
        if not isinstance(learned["dictionary_"], Dictionary):
            raise ValueError
        params["dictionary"] = learned["dictionary_"] = learned["dictionary_"].as_fitted(exact_labels=exact_labels)
    step = kind(**params)
    for name, value in learned.items():
        setattr(step, name, np.asarray(value, dtype=object) if name == "feature_names_in_" else value)
    return step
