"""Survival models as JSON files."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core import Statement
from ...core.codec import FormError
from ...core.facts import Vector
from ..model_file import ModelContent, model_content, model_of, sealed_form
from ..regressor import SparseRegressor
from .life_table import LifeTable
from .survival import SHARED, SparseSurvival

FORMAT, VERSION = "dpsparse-survival", 1


def _check(content: SurvivalContent) -> SurvivalContent:
    increases = content.times.ndim == 1 and content.times.size >= 3 and bool(np.all(np.diff(content.times) > 0))
    if not increases or content.times[0] != 0 or content.hazard.shape != (content.times.size - 1,):
        raise FormError("the life table is not as it was saved.")
    if not np.all(content.hazard > 0) or content.model.class_ != "SparseRegressor":
        raise FormError("the life table or the model is not as it was saved.")
    return content


@sealed_form(FORMAT, VERSION, made=_check)
@dataclass(frozen=True, eq=False)
class SurvivalContent:
    """All that the file of a fitted survival model holds: its life table, and the model of the hazard ratios."""

    times: Vector
    hazard: Vector
    epsilon: float
    model: ModelContent
    statement: Statement


def survival_content(model: SparseSurvival) -> SurvivalContent:
    """All that a file of a fitted survival model holds."""
    table = model.baseline_
    linear = model.model_
    if "dictionary_" in vars(model):
        linear.dictionary_ = model.dictionary_
    return SurvivalContent(table.times, table.hazard, float(model.epsilon), model_content(linear), model.statement_)


def survival_of(content: SurvivalContent) -> SparseSurvival:
    """The survival model of a content."""
    linear = model_of(content.model)
    assert isinstance(linear, SparseRegressor)
    horizon, intervals = float(content.times[-1]), int(content.hazard.size)
    given = {name: getattr(linear, name) for name in (*SHARED, "on_missing")}
    made = SparseSurvival(content.epsilon, linear.delta, horizon=horizon, intervals=intervals, **given)
    made.baseline_ = LifeTable(content.times, content.hazard)
    made.n_features_in_ = linear.n_features_in_
    for name in ("feature_names_in_", "dictionary_"):
        if name in vars(linear):
            setattr(made, name, vars(linear)[name])
    return made._keep(linear, content.statement)
