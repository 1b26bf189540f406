"""Black-box attacks on every recipe, ask by ask and as a whole, at length; and with half of all noise, which must be caught.

The quick forms are in tests/audit/test_attack.py. A right mechanism is accused with probability 5e-7 by each attack.
"""

from __future__ import annotations

import pytest

from dpsparse import SparseClassifier, SparseRegressor, audit, recipes
from dpsparse.oracles import central
from dpsparse.oracles.local import LocalNoise

PRIVATE = sorted(n for n, cls in recipes.REGISTRY.items() if cls.private)
LOCAL = [n for n in PRIVATE if "ldp" in n]


def estimator(name: str, task: str, adjacency: str = "replace-one"):
    options = {
        "feature_bound": 1.0,
        "recipe": name,
        "accept": recipes.get(name).needs,
        "adjacency": adjacency,
    }
    return SparseClassifier(**options) if task == "classification" else SparseRegressor(target_bound=1.0, **options)


@pytest.mark.slow
@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_no_violation_is_found(name, task):
    found = audit.attack(estimator(name, task), runs=3000, fits=200, seed=1)
    assert not found.violated, str(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in PRIVATE if n not in LOCAL])
def test_no_violation_is_found_under_add_remove(name):
    found = audit.attack(estimator(name, "regression", "add-remove"), runs=3000, fits=0, seed=2)
    assert not found.violated, str(found)


def thinned(monkeypatch) -> None:
    """Two fifths of every noise of a trusted curator."""
    for mechanism, place in (
        ("lattice_gaussian", 1),
        ("lattice_laplace", 1),
        ("gaussian_tilt", 1),
        ("gumbel_top_k", 2),
        ("permute_and_flip", 1),
    ):
        ordinary = getattr(central, mechanism)

        def wrong(*arguments, ordinary=ordinary, place=place):
            changed = list(arguments)
            changed[place] = changed[place] * 0.4
            return ordinary(*changed)

        monkeypatch.setattr(central, mechanism, wrong)


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in PRIVATE if n not in LOCAL])
def test_control_two_fifths_of_the_noise_is_caught_in_every_recipe(name, monkeypatch):
    thinned(monkeypatch)
    found = audit.attack(estimator(name, "regression"), runs=2000, fits=0, seed=3)
    assert found.violated, str(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", LOCAL)
def test_control_reports_at_twice_their_price_are_caught(name, monkeypatch):
    ordinary = LocalNoise.randomiser

    def wrong(self, question, ask, turn=0):
        from dataclasses import replace

        return ordinary(
            replace(self, priced=replace(self.priced, rho_scale=4 * self.priced.rho_scale)), question, ask, turn
        )

    monkeypatch.setattr(LocalNoise, "randomiser", wrong)
    found = audit.attack(estimator(name, "regression"), runs=3000, fits=0, seed=4)
    assert found.violated, str(found)
