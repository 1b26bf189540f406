"""The sensitivity trace catches what it is there for; that all recipes pass it is tested among the laws.

Adversarial records: values of 1e6, features of 1e-8 with a target of 1e12, NaN, infinity, zeros. Each control
leaves out one step of the bounding of records.
"""

from __future__ import annotations

import numpy as np
import pytest

from dpsparse import SparseRegressor, audit, recipes
from dpsparse.audit import responses
from dpsparse.queries import gradient as gradient_module
from dpsparse.queries import scores as scores_module
from dpsparse.queries.sensitivity import Sensitivity

X = np.random.default_rng(0).uniform(-1, 1, (40, 4))
Y = np.random.default_rng(1).uniform(-1, 1, 40)


def trace(mechanism: str = "dense", **options) -> float:
    recipe = recipes.DPIGHT(mechanism=mechanism, steps=2, clip=0.1)
    model = SparseRegressor(
        epsilon=2.0, delta=1e-5, sparsity=2, feature_bound=1.0, target_bound=1.0, recipe=recipe, **options
    )
    return audit.sensitivity_trace(model, X, Y).largest


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("mechanism", ["dense", "peel"])
def test_a_right_fit_uses_all_of_its_sensitivity_and_no_more(mechanism, relation):
    assert 0.9 < trace(mechanism, adjacency=relation, n_rows=40) <= 1.0


def test_control_a_forgotten_clip_is_caught(monkeypatch):
    monkeypatch.setattr(gradient_module, "factor_cap", lambda block, lattice, clip: np.full(block.y.size, 2.0**50))
    with pytest.raises(audit.LawBroken, match="Gradient moved"):
        trace()


def test_control_a_clip_twice_as_wide_is_caught(monkeypatch):
    ordinary = gradient_module.factor_cap
    monkeypatch.setattr(gradient_module, "factor_cap", lambda *given: 2 * ordinary(*given))
    with pytest.raises(audit.LawBroken, match="moved"):
        trace()


def test_control_half_of_the_sensitivity_is_caught(monkeypatch):
    """Kappa forgotten: what adding a record moves is taken for what exchanging one does."""
    monkeypatch.setattr(Sensitivity, "l2", lambda self, relation: self.norm)
    with pytest.raises(audit.LawBroken, match="Gradient moved 1"):
        trace()


def test_control_half_of_the_range_of_scores_is_caught(monkeypatch):
    ordinary = scores_module.score_sensitivity
    monkeypatch.setattr(responses, "score_sensitivity", lambda *arguments: ordinary(*arguments) / 2)
    with pytest.raises(audit.LawBroken, match="Select moved"):
        trace("peel")


def test_control_entries_twice_as_large_as_stated_are_caught(monkeypatch):
    ordinary = gradient_module.gradient_reach

    def smaller(clip, rows, support=None):
        found = ordinary(clip, rows, support)
        return Sensitivity(found.norm, found.entry / 2)

    monkeypatch.setattr(gradient_module, "gradient_reach", smaller)
    with pytest.raises(audit.LawBroken, match="moved"):
        trace("peel")


@pytest.mark.parametrize(
    ("wrong", "far"), [(lambda own: 2 * own, r"\d"), (lambda own: own + own.sum(axis=0), "inf.*another person")]
)
def test_control_a_report_that_is_too_long_or_depends_on_others_is_caught(monkeypatch, wrong, far):
    """Of the local model: what a person would randomise is doubled, or holds the rows of the others."""
    model = SparseRegressor(epsilon=2.0, feature_bound=1.0, target_bound=1.0, recipe=recipes.LDPIHT(steps=2))
    assert audit.sensitivity_trace(model, X, Y).largest <= 1.0
    ordinary = responses.contributions
    monkeypatch.setattr(responses, "contributions", lambda *given: list(wrong(np.vstack(list(ordinary(*given))))))
    with pytest.raises(audit.LawBroken, match=f"Gradient of one person moved {far}"):
        audit.sensitivity_trace(model, X, Y)
