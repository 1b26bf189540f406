"""NAME@paper: the settings of theorems, from public facts and what a user sets."""

import pickle

import numpy as np
import pytest

import dpsparse
from dpsparse import SparseClassifier, SparseRegressor, recipes
from dpsparse.core import Budget
from dpsparse.core.facts import Facts, Target
from dpsparse.oracles import GuardedOracle
from dpsparse.recipes.printed import AsPrinted, as_printed, constants_of

THEORY = [name for name, kind in recipes.REGISTRY.items() if hasattr(kind, "from_theory")]
FACTS = Facts(
    n_rows=5000, n_features=20, target=Target(bound=3.0), row_norm=4.0, slope_bound=6.0, sparsity=3, loss="squared"
)
BUDGET = Budget.approx(2.0, 1e-6)
rng = np.random.default_rng(3)
X = rng.uniform(-1, 1, (3000, 12))
Y = np.clip(X[:, 0] - 0.8 * X[:, 1] + 0.2 * rng.standard_normal(3000), -3, 3)


@pytest.mark.parametrize("name", THEORY)
@pytest.mark.parametrize("classes", [False, True])
def test_every_recipe_with_a_theorem_fits_as_printed_without_a_setting(name, classes):
    kind, terms = (SparseClassifier, {}) if classes else (SparseRegressor, {"target_bound": 3.0})
    model = kind(
        recipe=f"{name}@paper", epsilon=2.0, delta=1e-6, sparsity=3, feature_bound=1.0, random_state=0, **terms
    ).fit(X, Y > 0 if classes else Y)
    assert np.all(np.isfinite(model.coef_))
    assert model.statement_.recipe == name
    assert any(f"{name}@paper is {name} with the settings of its theorem" in note for note in model.statement_.notes)


@pytest.mark.parametrize("name", sorted(set(THEORY) - {"two_stage", "dpsl_kt", "dp_frank_wolfe"}))
def test_the_loop_takes_equal_steps_of_one_size(name):
    made, _ = recipes.make(f"{name}@paper").resolve(FACTS, BUDGET)
    assert made.step_size is not None
    solver = made.solver(made.view(FACTS), BUDGET)
    sizes = getattr(getattr(solver, "loop", solver), "step_sizes", (1.0,))
    assert len(set(sizes)) == 1


def test_settings_are_those_of_the_theorem():
    made, _ = recipes.get("dp_ight@paper")(smoothness=2.0, strong_convexity=1.0, signal_norm=1.0).resolve(FACTS, BUDGET)
    wanted = recipes.DPIGHT.from_theory(
        smoothness=2.0,
        strong_convexity=1.0,
        signal_norm=1.0,
        true_sparsity=3,
        n_rows=5000,
        n_features=20,
        gradient_norm=4.0 * 3.0,
        epsilon=2.0,
        delta=1e-6,
    )
    assert made == wanted
    assert made.step_size == pytest.approx(1 / 3)


def test_fields_that_a_user_sets_replace_those_of_the_theorem():
    made, why = recipes.get("dp_ight@paper")(steps=7, smoothness=2.0).resolve(FACTS, BUDGET)
    assert made.steps == 7
    assert "smoothness = 2" in why


def test_columns_that_nobody_described_are_uncorrelated_and_fill_their_bounds():
    """The mean square of an entry is then K^2/d, which is the curvature of squared loss in every direction."""
    _, why = recipes.make("dp_ight@paper").resolve(FACTS, BUDGET)
    assert "smoothness = 0.8, strong_convexity = 0.8" in why


def test_what_the_theorem_says_beyond_its_range_is_told():
    _, why = recipes.make("dp_sgd_ht@paper").resolve(FACTS, BUDGET)
    assert "the theorem asks for k" in why


def test_a_budget_in_rho_is_given_as_such():
    made, _ = recipes.make("dp_ight@paper").resolve(FACTS, Budget.zcdp(0.2))
    again, _ = recipes.make("dp_ight@paper").resolve(FACTS, Budget.approx(2.0, 1e-6))
    assert made.step_size == again.step_size


def test_they_are_copied_kept_and_loaded(tmp_path):
    recipe = recipes.get("dp_ight@paper")(steps=4, step_size=0.5)
    assert pickle.loads(pickle.dumps(recipe)) == recipe
    model = SparseRegressor(recipe=recipe, epsilon=2.0, delta=1e-6, feature_bound=1.0, target_bound=3.0, random_state=0)
    model.fit(X, Y).save(tmp_path / "m.json")
    assert dpsparse.load(tmp_path / "m.json").recipe == recipe


def test_a_recipe_without_a_theorem_has_no_printed_form():
    with pytest.raises(ValueError, match="no printed settings"):
        recipes.get("tables@paper")
    with pytest.raises(ValueError, match="unknown recipe"):
        recipes.get("dp_igth@paper")


@pytest.mark.parametrize("name", THEORY)
def test_every_constant_of_a_theorem_is_known(name):
    assert "n_rows" in constants_of(recipes.get(name))


def test_a_recipe_of_ones_own_that_derives_from_a_printed_one_gets_a_guarded_oracle():
    given = []

    class Own(as_printed(recipes.DPIGHT)):
        def resolve(self, facts, budget):
            return self, ""

        def solver(self, facts, budget):
            loop = super().resolve(facts, budget)[0].solver(facts, budget)

            class Loop:
                def plan(self, facts, budget):
                    return loop.plan(facts, budget)

                def run(self, oracle, path=None):
                    given.append(type(oracle))
                    return loop.run(oracle, path)

            return Loop()

    assert recipes.built_in(as_printed(recipes.DPIGHT)())
    assert not recipes.built_in(Own())
    assert not recipes.built_in(type("Bare", (AsPrinted,), {"of": recipes.DPIGHT})())
    model = SparseRegressor(recipe=Own(), epsilon=2.0, delta=1e-6, sparsity=3, feature_bound=1.0, target_bound=3.0)
    model.fit(X, Y)
    assert given
    assert set(given) == {GuardedOracle}
    assert any("is not one of dpsparse" in said for said in model.statement_.assumptions)
