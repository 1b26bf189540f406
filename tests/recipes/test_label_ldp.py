"""Label privacy: hard thresholding and the lasso on randomised labels."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

import dpsparse
from builders import prepared_for
from dpsparse import SparseClassifier, SparseRegressor, audit
from dpsparse.core import Budget, BudgetError, PrivacyError
from dpsparse.core.facts import Facts, Target
from dpsparse.losses import Huber, KnownLink, Poisson
from dpsparse.recipes import LabelLDPIHT, LabelLDPLasso

BOTH = ["label_ldp_iht", "label_ldp_lasso"]


def data(n: int, p: int, s: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, p)) * 2.0 - 1
    truth = np.zeros(p)
    truth[rng.choice(p, s, replace=False)] = rng.uniform(0.5, 1, s) * rng.choice([-1, 1], s)
    return X, X @ truth + rng.uniform(-0.05, 0.05, n), truth


def regressor(recipe, epsilon=2.0, **options):
    fixed = {"feature_bound": 1.0, "target_bound": 4.0, "fit_intercept": False, "random_state": 0}
    return SparseRegressor(epsilon=epsilon, recipe=recipe, **{**fixed, **options})


def error(model, truth) -> float:
    return float(np.linalg.norm(np.ravel(model.coef_) - truth) / np.linalg.norm(truth))


# ------------------------------------------------------------------------------------------------ accuracy


@pytest.mark.parametrize("name", BOTH)
def test_few_people_and_many_features_are_enough(name):
    X, y, truth = data(10_000, 400, 3)
    model = regressor(name, sparsity=3).fit(X, y)
    assert set(model.support_) == set(np.flatnonzero(truth))
    assert error(model, truth) < 0.25


@pytest.mark.parametrize("name", BOTH)
def test_classes_get_randomised_response_and_an_intercept(name):
    X, _, truth = data(30_000, 30, 3)
    rng = np.random.default_rng(1)
    y = np.where(rng.random(30_000) < 1 / (1 + np.exp(-(2 * X @ truth + 0.5))), "yes", "no")
    model = SparseClassifier(epsilon=1.0, recipe=name, sparsity=3, feature_bound=1.0, random_state=0).fit(X, y)
    assert set(model.support_) == set(np.flatnonzero(truth))
    assert model.score(X, y) > 0.75
    assert model.intercept_[0] > 0


@pytest.mark.parametrize("mechanism", ["two-point", "piecewise"])
def test_a_randomiser_can_be_named(mechanism):
    X, y, truth = data(10_000, 20, 2)
    assert error(regressor(LabelLDPIHT(mechanism=mechanism), sparsity=2).fit(X, y), truth) < 0.15


def test_the_gaussian_mechanism_is_there_and_worse():
    X, y, truth = data(20_000, 20, 2)
    gaussian = regressor(LabelLDPIHT(mechanism="gaussian"), delta=1e-6, sparsity=2).fit(X, y)
    assert error(regressor(LabelLDPIHT(), sparsity=2).fit(X, y), truth) < error(gaussian, truth) < 0.6
    assert gaussian.statement_.delta == 1e-6


@pytest.mark.parametrize("loss", [KnownLink("tanh", target=4.0), Poisson(margin_bound=2.0)], ids=lambda loss: loss.name)
def test_links_work(loss):
    X, y, truth = data(40_000, 10, 2, seed=3)
    y = (
        np.random.default_rng(0).poisson(np.exp(0.5 * X @ truth)) * 1.0
        if loss.name == "poisson"
        else np.tanh(X @ truth)
    )
    model = regressor("label_ldp_iht", epsilon=3.0, sparsity=2, loss=loss).fit(X, y)
    assert set(model.support_) == set(np.flatnonzero(truth))


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_at_huge_epsilon_hard_thresholding_is_its_twin(task):
    X, y, truth = data(2_000, 20, 3)
    if task == "classification":
        y = (np.random.default_rng(0).random(2_000) < 1 / (1 + np.exp(-X @ truth))).astype(int)
    make = (
        regressor if task == "regression" else lambda r, e: SparseClassifier(e, recipe=r, feature_bound=1.0, sparsity=3)
    )
    options = {"sparsity": 3} if task == "regression" else {}
    twin, private = (make(r, 1e4, **options).fit(X, y) for r in ("ight", "label_ldp_iht"))
    assert np.linalg.norm(twin.coef_ - private.coef_) < 0.01 * np.linalg.norm(twin.coef_)


def test_at_huge_epsilon_the_lasso_is_its_twin():
    X, y, _ = data(2_000, 20, 3)
    twin, private = (
        regressor(r, 1e4, penalty="l1", alpha=0.1, sparsity=20).fit(X, y) for r in ("lasso", "label_ldp_lasso")
    )
    assert np.linalg.norm(twin.coef_ - private.coef_) < 1e-3


def test_error_hardly_grows_with_the_number_of_features():
    found = []
    for p in (50, 800):
        pairs = [data(4_000, p, 3, seed) for seed in range(3)]
        found.append(np.mean([error(regressor("label_ldp_iht", sparsity=3).fit(X, y), t) for X, y, t in pairs]))
    assert found[1] < 2 * found[0]


def test_sparse_and_integer_features_give_the_same_model():
    X, y, _ = data(3_000, 15, 2)
    X = np.where(np.arange(15) % 2, X, 0.0)
    dense, sparse, whole = (
        regressor("label_ldp_iht", sparsity=2).fit(A, y).coef_ for A in (X, sp.csr_matrix(X), X.astype(np.int8))
    )
    assert np.allclose(dense, sparse, atol=1e-3)
    assert np.allclose(dense, whole, atol=1e-3)


# ------------------------------------------------------------------------------------------------ rules and theory


def test_the_strength_of_the_lasso_has_the_order_of_the_paper_and_takes_a_constant():
    facts = Facts(n_rows=10_000, n_features=100, row_norm=10.0, target=Target(bound=4.0))
    recipe = LabelLDPLasso(constant=3.0)
    found = recipe.solver(facts, Budget.approx(0.5, 0.0)).loop.penalty.alpha
    assert found == pytest.approx(3 * math.sqrt(math.log(100) / (10_000 * 0.25)))
    own = SparseRegressor(recipe=recipe, penalty="l1", alpha=0.7, feature_bound=1.0, target_bound=1.0)
    assert prepared_for(own, 100, 5, sparse=False, models=1).solver.loop.penalty.alpha == 0.7


def test_theory_takes_the_choices_of_theorem_five():
    recipe = LabelLDPIHT.from_theory(n_rows=10**6, n_features=50, epsilon=1.0, true_sparsity=3, noise_bound=0.05)
    assert recipe.steps == math.ceil(math.log(1000 / (0.05 * math.sqrt(3 * math.log(50)))))
    assert (recipe.sparsity, recipe.radius, recipe.step_size) == (24, 1.0, 0.2)


def test_the_sign_of_the_update_is_corrected():
    """The printed rule runs to minus the truth."""
    X, y, truth = data(20_000, 10, 2)
    scale = np.linalg.norm(truth)
    recipe = LabelLDPIHT.from_theory(
        n_rows=20_000, n_features=10, epsilon=4.0, true_sparsity=1, noise_bound=0.05, steps_constant=3.0
    )
    model = regressor(recipe, epsilon=4.0).fit(X, y / scale)
    assert np.linalg.norm(model.coef_ - truth / scale) < 0.2


# ------------------------------------------------------------------------------------------------ statement


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("delta", [None, 0.0])
def test_the_statement_says_first_that_features_are_public(name, delta):
    X, y, _ = data(500, 5, 2)
    statement = regressor(name, delta=delta, random_state=None).fit(X, y).statement_
    assert str(statement).startswith("CAVEAT: features are treated as public: only labels are protected.")
    assert statement.caveats[0] == "features are treated as public: only labels are protected"
    assert statement.adjacency == "replace-one-label"
    assert statement.unit == "one person's label, one report (local model)"
    assert "replacing the label of any one person" in str(statement)
    assert (statement.epsilon, statement.delta) == (pytest.approx(2.0), 0.0)
    assert audit.recomputed_epsilon(statement) == pytest.approx(2.0)


def test_several_classes_cost_two_reports():
    X, _, _ = data(2_000, 5, 2)
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1], [-1, 0, 1])
    model = SparseClassifier(epsilon=2.0, recipe="label_ldp_iht", feature_bound=1.0, random_state=0).fit(X, y)
    assert model.statement_.epsilon == pytest.approx(2.0)
    assert {round(a.cost, 6) for a in model.statement_.asks} == {1.0}
    assert model.coef_.shape == (4, 5)


@pytest.mark.parametrize(("recipe", "epsilon"), [("label_ldp_lasso", 0.5), ("label_ldp_iht", 0.5), ("ldp_iht", 1 / 3)])
def test_defaults_for_several_classes_are_those_of_what_a_report_costs(recipe, epsilon):
    several = SparseClassifier(epsilon=1.0, recipe=recipe, feature_bound=1.0, classes=[0, 1, 2])
    one = SparseClassifier(epsilon=epsilon, recipe=recipe, feature_bound=1.0, classes=[0, 1])
    n, p = 20_000, 40
    found = prepared_for(several, n, p, sparse=False, models=3).solver
    wanted = prepared_for(one, n, p, sparse=False, models=1).solver
    found, wanted = (getattr(s, "loop", s) for s in (found, wanted))
    assert found.sparsity == wanted.sparsity
    if recipe == "label_ldp_lasso":
        assert found.penalty.alpha == pytest.approx(wanted.penalty.alpha, rel=1e-6)
    else:
        assert len(found.step_sizes) == len(wanted.step_sizes)


def test_the_statement_counts_the_reports_of_several_classes():
    X = np.random.default_rng(0).uniform(-1, 1, (300, 3))
    y = np.digitize(X[:, 0], [-0.3, 0.3])
    model = SparseClassifier(epsilon=1.0, recipe="label_ldp_iht", feature_bound=1.0, classes=[0, 1, 2]).fit(X, y)
    assert model.statement_.unit == "one person's label, 3 reports (local model)"
    assert any("moves two of the 3" in a for a in model.statement_.assumptions)
    assert not any("equal part" in a for a in model.statement_.assumptions)
    assert "all people each" in model.statement_.details()
    whole = model.set_params(recipe="ldp_iht").fit(X, y).statement_
    assert whole.unit == "one person, 3 reports (local model)"
    assert any("equal part" in a for a in whole.assumptions)


def test_records_of_no_class_report_like_zeros():
    X, y, _ = data(400, 5, 2)
    labels = np.where(y > 0, 1, 0)
    labels[:50] = 7
    model = SparseClassifier(epsilon=2.0, recipe="label_ldp_iht", feature_bound=1.0, classes=[0, 1]).fit(X, labels)
    assert np.all(np.isfinite(model.coef_))


def test_labels_alone_move_what_is_released_and_the_laws_know_it():
    X, y, _ = data(80, 5, 2)
    audit.check_estimator_privacy(regressor("label_ldp_iht", random_state=None), X, y)
    assert audit.sensitivity_trace(regressor("label_ldp_iht", random_state=None), X, y).largest <= 1


class LooksAtTheLabels(SparseRegressor):
    def fit(self, X, y):
        super().fit(X, y)
        self.intercept_ = float(np.mean(y))
        return self


def test_the_swap_law_still_sees_a_peek_at_labels():
    X, y, _ = data(80, 5, 2)
    with pytest.raises(audit.LawBroken, match="swap: intercept_"):
        audit.check_estimator_privacy(
            LooksAtTheLabels(recipe="label_ldp_iht", feature_bound=1.0, target_bound=4.0), X, y
        )


def test_models_are_saved_and_read_again(tmp_path):
    X, y, _ = data(500, 5, 2)
    model = regressor(LabelLDPLasso(constant=2.0)).fit(X, y)
    model.save(tmp_path / "model.json")
    again = dpsparse.load(tmp_path / "model.json")
    assert again.recipe == LabelLDPLasso(constant=2.0)
    assert again.statement_ == model.statement_ or str(again.statement_) == str(model.statement_)


# ------------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize("name", BOTH)
def test_losses_that_labels_cannot_answer_are_refused(name):
    X, y, _ = data(100, 5, 2)
    with pytest.raises(ValueError, match="linear in the target up to target_bound = 4, and that of 'huber' is not"):
        regressor(name, loss=Huber()).fit(X, y)
    with pytest.raises(PrivacyError, match="a link whose target reaches target_bound"):
        regressor(name, loss=KnownLink("tanh", target=1.0)).fit(X, y)


def test_add_remove_is_refused():
    X, y, _ = data(100, 5, 2)
    with pytest.raises(BudgetError, match="sees who reports"):
        regressor("label_ldp_iht", adjacency="add-remove", n_rows=100).fit(X, y)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: LabelLDPIHT(mechanism="loud"), "mechanism must be one of auto, two-point"),
        (lambda: LabelLDPIHT(steps=0), "steps must be"),
        (lambda: LabelLDPLasso(constant=0.0), "constant must be"),
        (lambda: LabelLDPLasso(mechanism="privunit"), "mechanism must be one of"),
        (lambda: regressor("label_ldp_iht", penalty="l1", alpha=0.1).plan(10, 3), "cannot take penalty 'l1'"),
        (lambda: regressor(LabelLDPIHT(mechanism="gaussian"), delta=0.0).plan(10, 3), "delta = 0"),
    ],
)
def test_bad_arguments_are_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_without_sparsity_no_more_is_kept_than_stands_clear_of_the_labels_noise():
    """Before the scout nearly all 100 features were kept, and the error was that of ridge regression."""
    rng = np.random.default_rng(3)
    X = rng.choice([-1.0, 1.0], (40_000, 100))
    truth = np.r_[np.full(5, 0.8), np.zeros(95)]
    y = X @ truth + rng.uniform(-0.05, 0.05, 40_000)
    model = SparseRegressor(
        epsilon=1.0, recipe="label_ldp_iht", feature_bound=1.0, target_bound=4.0, fit_intercept=False, random_state=0
    ).fit(X, y)
    assert set(model.support_) >= set(range(5))
    assert model.support_.size <= 8
    assert np.linalg.norm(model.coef_ - truth) < 0.1 * np.linalg.norm(truth)


@pytest.mark.parametrize("n", [2000, 5000])
def test_where_labels_say_nothing_the_defaults_are_about_as_good_as_zero(n):
    """Unshrunken they were at 3.7 and 1.5 times the norm of the truth; seeds are fixed, so nothing fails by chance."""
    errors = []
    for seed in range(4):
        rng = np.random.default_rng([seed, n])
        X, truth = rng.choice([-1.0, 1.0], (n, 200)), np.zeros(200)
        truth[:8] = rng.uniform(0, 1, 8)
        options = {"epsilon": 0.5, "sparsity": 8, "feature_bound": 1.0, "target_bound": 6.0, "fit_intercept": False}
        model = dpsparse.SparseRegressor(recipe="label_ldp_iht", random_state=seed, **options)
        found = model.fit(X, X @ truth + rng.uniform(-0.5, 0.5, n)).coef_
        errors.append(np.linalg.norm(found - truth) / np.linalg.norm(truth))
    assert np.mean(errors) < 1.1
