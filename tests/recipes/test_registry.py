"""Recipes join by being listed: ours, a user's own, and those of other packages; what is missing is named."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import ClassVar

import pytest

from dpsparse import recipes
from dpsparse.core import Budget
from dpsparse.core.facts import Facts, Target
from dpsparse.recipes import REGISTRY, Baseline, PrivateRecipe, Recipe, registry

DOCS = Path(__file__).parents[2] / "docs" / "guarantees"


@pytest.fixture(autouse=True)
def same_registry(monkeypatch):
    monkeypatch.setattr(registry, "REGISTRY", dict(REGISTRY))


@dataclass(frozen=True, kw_only=True)
class Mine(PrivateRecipe):
    """Words about mine."""

    name: ClassVar[str] = "mine"

    def solver(self, facts, budget):
        return recipes.DPIGHT().solver(facts, budget)


def test_a_registered_recipe_is_found_everywhere():
    assert recipes.register(Mine) is Mine
    assert recipes.register(Mine) is Mine, "once more is the same"
    assert recipes.get("mine") is Mine
    assert "mine" in recipes.names()
    assert recipes.describe("mine") == "Words about mine."
    assert recipes.make("mine") == Mine()
    assert recipes.settings(Mine()) == {"recipe": "mine"}


@pytest.mark.parametrize("name", ["dp_ight", "auto", "dp_gd_ht"])
def test_a_name_that_is_taken_is_refused(name):
    other = dataclass(frozen=True)(type("Other", (Mine,), {"name": name}))
    with pytest.raises(ValueError, match="there is a recipe"):
        recipes.register(other)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"name": None}, "it lacks name"),
        ({"name": 3}, "name is no str"),
        ({"private": None}, "it lacks private"),
        ({"penalties": "l2"}, "penalties is no tuple"),
        ({"needs": None}, "it lacks needs"),
        ({"solver": None}, "it lacks the method solver"),
        ({"view": None}, "it lacks the method view"),
        ({"assumptions": None}, "it lacks the method assumptions"),
        ({"resolve": None}, "it lacks the method resolve"),
    ],
)
def test_what_a_recipe_lacks_is_named(changes, what):
    broken = dataclass(frozen=True)(type("Broken", (Mine,), changes))
    with pytest.raises(TypeError, match=what):
        recipes.register(broken)
    with pytest.raises(TypeError, match=what):
        recipes.make(broken())


def test_a_class_without_a_loop_and_what_is_no_dataclass_are_refused():
    abstract = dataclass(frozen=True)(type("Abstract", (PrivateRecipe,), {"name": "abstract"}))
    with pytest.raises(TypeError, match="it lacks the method solver"):
        recipes.register(abstract)
    with pytest.raises(TypeError, match="it is no dataclass"):
        recipes.register(type("Plain", (), {}))
    with pytest.raises(TypeError, match=r"a name from recipes.names\(\)"):
        recipes.make(3)


def entry(name: str, value: str) -> EntryPoint:
    return EntryPoint(name=name, value=value, group="dpsparse.recipes")


def test_recipes_of_other_packages_are_listed_without_loading_and_loaded_by_name(monkeypatch):
    points = [entry("mine", f"{__name__}:Mine"), entry("broken", "no_such_package:Recipe")]
    monkeypatch.setattr(registry, "entry_points", lambda group: points)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert {"mine", "broken"} <= set(recipes.names())
        assert "mine" not in registry.REGISTRY
        assert recipes.get("mine") is Mine
        assert recipes.get("dp_ight") is recipes.DPIGHT
    with (
        pytest.warns(UserWarning, match=r"'broken' of the entry point 'no_such_package:Recipe' cannot be used: Module"),
        pytest.raises(ValueError, match="unknown recipe 'broken'"),
    ):
        recipes.get("broken")


def test_an_entry_point_that_is_no_recipe_or_has_another_name_is_skipped(monkeypatch):
    points = [entry("path", "pathlib:Path"), entry("other", f"{__name__}:Mine")]
    monkeypatch.setattr(registry, "entry_points", lambda group: points)
    for name, why in (("path", "is not complete"), ("other", "calls itself 'mine'")):
        with pytest.warns(UserWarning, match=why), pytest.raises(ValueError, match="unknown recipe"):
            recipes.get(name)


# ------------------------------------------------------------------------------------------------ ours


@pytest.mark.parametrize("name", sorted(n for n, cls in REGISTRY.items() if cls.private))
def test_every_private_recipe_has_a_page_about_its_guarantee(name):
    assert (DOCS / f"{name}.md").read_text().startswith("# ")


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_recipes_resolve_to_themselves_and_baselines_have_no_budget(name):
    recipe = recipes.make(name)
    assert isinstance(recipe, Recipe)
    assert recipe.private is not isinstance(recipe, Baseline)
    facts, budget = Facts(n_rows=500, n_features=20, intercept=1.0), Budget.approx(1.0, 1e-6)
    assert recipe.resolve(facts, budget) == (recipe, "")
    view = recipe.view(facts)
    assert recipe.solver(view, budget) if recipe.private else recipe.solver(view)


def test_auto_resolves_to_another_recipe_and_its_solver_is_that_ones():
    facts, budget = Facts(n_rows=2000, n_features=400, row_norm=20.0, sparsity=3), Budget.approx(1.0, 1e-6)
    found, reason = recipes.Auto().resolve(facts, budget)
    assert (found.name, reason[:26]) == ("select_polish", "auto picked select_polish:")
    assert repr(recipes.Auto().solver(facts, budget)) == repr(found.solver(found.view(facts), budget))
    counts, _ = recipes.Auto().resolve(facts.with_(target=Target(kind="counts"), loss="mine"), budget)
    assert counts.name == "dual_averaging"


def test_a_users_recipe_may_be_defined_again_and_ours_may_not():
    recipes.register(Mine)
    again = dataclass(frozen=True)(type("Mine", (Mine,), {"__module__": Mine.__module__, "__qualname__": "Mine"}))
    assert recipes.register(again) is again
    assert recipes.get("mine") is again
    copy = {"__module__": recipes.DPIGHT.__module__, "__qualname__": "DPIGHT"}
    with pytest.raises(ValueError, match="there is a recipe 'dp_ight' already"):
        recipes.register(dataclass(frozen=True)(type("DPIGHT", (recipes.DPIGHT,), copy)))
