"""The examples of docs/extend do what the pages say: fitted, checked, saved and loaded."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import dpsparse
from dpsparse import SparseClassifier, SparseRegressor, audit, recipes
from dpsparse.recipes import registry

RNG = np.random.default_rng(3)
X = RNG.uniform(-1, 1, (2000, 8))
Y = X @ np.r_[1.0, -0.8, np.zeros(6)] + 0.1 * RNG.standard_normal(2000)
PAGES = Path(__file__).parents[2] / "docs" / "extend"
BOUNDS = {"feature_bound": 1.0, "epsilon": 3.0, "delta": 1e-6, "sparsity": 2}


@pytest.fixture
def own(monkeypatch):
    """The modules that the pages include, as if they had been imported."""
    monkeypatch.setattr(registry, "REGISTRY", dict(recipes.REGISTRY))
    found = {}
    for name in ("own_recipe", "own_loss"):
        spec = importlib.util.spec_from_file_location(name, PAGES / f"{name}.py")
        found[name] = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, found[name])
        spec.loader.exec_module(found[name])
    return found


@pytest.mark.parametrize("form", ["name", "object"])
def test_an_own_recipe_is_found_fitted_saved_and_loaded(form, own, tmp_path):
    given = "plain_descent" if form == "name" else own["own_recipe"].PlainDescent(steps=12)
    model = SparseRegressor(target_bound=2.5, recipe=given, **BOUNDS).fit(X, Y)
    assert set(model.support_) == {0, 1}
    assert model.statement_.recipe == "plain_descent"
    assert model.statement_.private
    assert model.statement_.caveats == ()
    model.save(tmp_path / "m.json")
    again = dpsparse.load(tmp_path / "m.json")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert recipes.make(again.recipe) == recipes.make(given)


def test_an_own_recipe_keeps_the_laws(own):
    audit.check_estimator_privacy(SparseRegressor(target_bound=2.5, recipe="plain_descent", **BOUNDS), X[:200], Y[:200])
    model = SparseClassifier(recipe="plain_descent", **BOUNDS).fit(X, (Y > 0).astype(int))
    assert set(model.support_) == {0, 1}


def test_an_own_loss_is_checked_and_fitted(own):
    log_cosh = own["own_loss"].log_cosh
    audit.check_loss(log_cosh)
    model = SparseRegressor(target_bound=2.5, loss=log_cosh, recipe="dp_ight", **BOUNDS).fit(X, Y)
    assert set(model.support_) == {0, 1}


def test_the_example_of_a_recipe_is_short():
    code = [line for line in (PAGES / "own_recipe.py").read_text().splitlines() if line.strip()]
    assert len(code) < 40
