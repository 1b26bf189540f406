"""Pipelines that share one budget and one statement."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler
from sklearn.random_projection import GaussianRandomProjection

from dpsparse import (
    Budget,
    Ledger,
    NoisyCount,
    PrivateScaler,
    PublicScaler,
    RowNormalizer,
    SparseClassifier,
    SparseRegressor,
    audit,
    make_private_pipeline,
    recipes,
)
from dpsparse.core import (
    BudgetError,
    BudgetExceededError,
    MissingBoundError,
    MissingValueError,
    PrivacyError,
    PrivacyLeakError,
)
from dpsparse.core.curves import gaussian_epsilon
from dpsparse.fitting import with_oracles
from truth.recipes import Doubtful

RNG = np.random.default_rng(0)
SCALE = np.array([1.0, 1.0, 0.05, 0.05, 0.05])
X = RNG.uniform(-1, 1, (3000, 5)) * SCALE
Y = X[:, 0] + 20 * X[:, 2] + 0.1 * RNG.standard_normal(3000)
LABELS = (Y > 0).astype(int)
DENSE, PEEL = recipes.DPIGHT(mechanism="dense", steps=3), recipes.DPIGHT(mechanism="peel", steps=3)


def model(**options):
    return SparseRegressor(**{"sparsity": 2, "target_bound": 3.0, "recipe": DENSE, **options})


def pipeline(*before, final=None, **options):
    before = before or (PrivateScaler(feature_bound=1.0),)
    return make_private_pipeline(*before, final or model(), **{"epsilon": 2.0, "delta": 1e-6, **options})


UNPROVEN = model(recipe=Doubtful(), accept=("unproven",))
GUARD = {"ledger": "sqlite:///x.db", "dataset": "trial"}


def rho_of(asks):
    return sum(a.times * a.draws * a.cost**2 / (8 if a.noise == "gumbel" else 2) for a in asks)


# ------------------------------------------------------------------------------------------------ the promise


def test_gaussian_steps_spend_the_budget_exactly():
    fitted = pipeline().fit(X, Y)
    statement = fitted.statement_
    mu = math.sqrt(2 * rho_of(statement.asks))
    assert gaussian_epsilon(mu, 1e-6) == pytest.approx(2.0, rel=1e-6)
    assert gaussian_epsilon(mu, 1e-6) <= 2.0
    assert statement.epsilon == pytest.approx(2.0, rel=1e-6)
    assert statement.mu == pytest.approx(mu, rel=1e-6)
    assert audit.recomputed_epsilon(statement) == pytest.approx(2.0, rel=1e-3)


def test_steps_with_selections_share_in_zcdp():
    fitted = pipeline(final=model(recipe=PEEL)).fit(X, Y)
    spent = rho_of(fitted.statement_.asks)
    assert spent <= Budget.approx(2.0, 1e-6).as_rho() * (1 + 1e-3)
    assert spent == pytest.approx(fitted.plan_.bill.rho, rel=1e-6)
    assert fitted.statement_.epsilon <= 2.0
    assert "zCDP composition of 2 steps" in fitted.statement_.accountant
    assert math.isinf(fitted.plan_.bill.mu())


@pytest.mark.parametrize("final", [model(recipe="two_stage"), model(noise="exact")], ids=["objective", "exact"])
def test_models_that_are_not_gaussian_share_in_zcdp(final):
    fitted = pipeline(final=final).fit(X, Y)
    assert fitted.statement_.accountant == "zCDP composition of 2 steps"
    assert fitted.statement_.rho <= Budget.approx(2.0, 1e-6).as_rho() * (1 + 1e-3)


def test_a_local_model_behind_unforeseen_columns_is_refused_before_it_asks():
    steps = [PrivateScaler(feature_bound=1.0), PolynomialFeatures(2), model(recipe="ldp_iht", row_norm=1.0)]
    with pytest.raises(PrivacyError, match="randomises on devices"):
        make_private_pipeline(*steps, epsilon=2.0).fit(X, Y)


def test_a_sum_of_epsilons_would_be_worse():
    fitted = pipeline(shares={"privatescaler": 0.5}).fit(X, Y)
    parts = [b.as_mu() for b in fitted.plan_.budgets.values()]
    assert sum(gaussian_epsilon(mu, 1e-6) for mu in parts) > 1.3 * 2.0


@pytest.mark.parametrize(("shares", "expected"), [(None, 0.02), ({"privatescaler": 0.3}, 0.3)])
def test_shares_are_kept(shares, expected):
    fitted = pipeline(shares=shares).fit(X, Y)
    first, *rest = fitted.statement_.asks
    assert first.name == "privatescaler: squares"
    total = rho_of(fitted.statement_.asks)
    assert rho_of([first]) / total == pytest.approx(expected, rel=1e-6)
    assert rho_of(rest) / total == pytest.approx(1 - expected, rel=1e-6)


@pytest.mark.parametrize("budget", [Budget.zcdp(0.1), Budget.gdp(0.4)], ids=str)
def test_budgets_in_other_languages_are_kept(budget):
    statement = pipeline(budget=budget).fit(X, Y).statement_
    spent = rho_of(statement.asks)
    assert spent <= budget.as_rho()
    assert spent == pytest.approx(budget.as_rho(), rel=1e-6)


def test_a_model_alone_has_the_whole_budget_in_its_own_way():
    final = model(recipe=PEEL)
    fitted = pipeline(PublicScaler(feature_bound=SCALE), final=final).fit(X, Y)
    alone = clone(final).set_params(epsilon=2.0, delta=1e-6, feature_bound=1.0).fit(X / SCALE, Y)
    assert rho_of(fitted.statement_.asks) == pytest.approx(rho_of(alone.statement_.asks), rel=1e-9)
    assert fitted.statement_.accountant == alone.statement_.accountant


def test_one_statement_covers_all_steps():
    fitted = pipeline(RowNormalizer(), PrivateScaler()).fit(X, Y)
    assert fitted[-1].statement_ is fitted.statement_
    assert fitted.statement_.recipe == "pipeline of private column scales, dp_ight"
    assert any("rownormalizer depends on no other row" in a for a in fitted.statement_.assumptions)


def test_seeds_of_any_step_are_caveats():
    fitted = pipeline(PrivateScaler(feature_bound=1.0, random_state=0)).fit(X, Y)
    assert fitted.statement_.caveats == ("made with a fixed seed: not private",)


# ------------------------------------------------------------------------------------------------ bounds, counts


def test_bounds_are_passed_on_and_arguments_are_given_back():
    fitted = pipeline().fit(X, Y)
    assert fitted[-1].row_norm is None
    assert fitted[-1].feature_bound is None
    assert fitted[-1].budget is None
    assert fitted[0].budget is None
    scaled = fitted[0].bounds_
    gradient = next(a for a in fitted.statement_.asks if a.name == "gradient")
    budget = fitted.plan(*X.shape).budgets[fitted.steps[-1][0]]  # clips follow it too
    alone = model(row_norm=scaled.row_norm, feature_bound=scaled.feature_bound, budget=budget).fit(X, Y)
    assert gradient.sensitivity == pytest.approx(alone.statement_.asks[0].sensitivity)


def test_bounds_of_the_model_itself_win():
    fitted = pipeline(final=model(row_norm=0.5)).fit(X, Y)
    same = model(row_norm=0.5, budget=fitted.plan(*X.shape).budgets[fitted.steps[-1][0]]).fit(X, Y)
    gradient = next(a for a in fitted.statement_.asks if a.name == "gradient")
    assert gradient.sensitivity == pytest.approx(same.statement_.asks[0].sensitivity)


def test_arguments_are_given_back_after_a_failure():
    pipe = pipeline()
    with with_oracles(lambda *_: 1 / 0), pytest.raises(ZeroDivisionError):
        pipe.fit(X, Y)
    assert pipe[-1].budget is None


def test_scaling_helps_where_columns_differ():
    recipe = recipes.DPIGHT(mechanism="dense")
    scaled = pipeline(epsilon=8.0, final=model(recipe=recipe, random_state=0)).fit(X, Y).score(X, Y)
    plain = model(recipe=recipe, random_state=0, epsilon=8.0, delta=1e-6, feature_bound=1.0).fit(X, Y).score(X, Y)
    assert scaled > plain + 0.05


def test_rows_are_counted_once_under_add_remove():
    pipe = pipeline(NoisyCount(), PrivateScaler(feature_bound=1.0), adjacency="add-remove", shares={"noisycount": 0.05})
    fitted = pipe.fit(X, Y)
    names = [a.name for a in fitted.statement_.asks]
    assert names[:2] == ["noisycount: count", "privatescaler: squares"]
    assert fitted.statement_.n_rows == fitted[0].n_rows_
    assert fitted.statement_.adjacency == "add-remove"
    assert fitted.plan_.n_rows is None
    assert fitted.statement_.epsilon <= 2.0


def test_a_declared_number_of_rows_needs_no_count():
    fitted = pipeline(adjacency="add-remove", n_rows=2500).fit(X, Y)
    assert fitted.statement_.n_rows == 2500


# ------------------------------------------------------------------------------------------------ as an estimator


def test_it_is_a_pipeline_of_scikit_learn():
    pipe = pipeline()
    assert isinstance(pipe, Pipeline)
    assert pipe.get_params()["privatescaler__floor"] == 0.01
    assert clone(pipe.set_params(privatescaler__floor=0.2)).get_params()["privatescaler__floor"] == 0.2
    fitted = pipe.fit(pd.DataFrame(X, columns=list("abcde")), Y)
    again = pickle.loads(pickle.dumps(fitted))
    frame = pd.DataFrame(X[:7], columns=list("abcde"))
    np.testing.assert_array_equal(again.predict(frame), fitted.predict(frame))
    assert list(fitted.feature_names_in_) == list("abcde")
    assert fitted[:-1].transform(frame).shape == (7, 5)


def test_text_goes_through_per_record_steps():
    words = [("good film" if i % 2 else "bad plot") + f" {i % 7}" for i in range(1000)]
    labels = np.arange(1000) % 2
    fitted = pipeline(HashingVectorizer(n_features=32), RowNormalizer(), final=SparseClassifier(sparsity=4)).fit(
        words, labels
    )
    assert fitted.score(words, labels) > 0.9
    assert fitted.predict_proba(words[:3]).shape == (3, 2)


def test_sparse_rows_stay_sparse():
    fitted = pipeline(final=SparseClassifier(recipe=DENSE)).fit(sp.csr_matrix(X), LABELS)
    assert sp.issparse(fitted[:-1].transform(sp.csr_matrix(X)))
    assert fitted.score(sp.csr_matrix(X), LABELS) > 0.5


def test_frozen_steps_are_not_fitted_again():
    public = StandardScaler().fit(RNG.uniform(-1, 1, (50, 5)))
    before = public.mean_.copy()
    pipe = make_private_pipeline(FrozenEstimator(public), model(feature_bound=3.0), epsilon=1.0).fit(X, Y)
    np.testing.assert_array_equal(public.mean_, before)
    assert pipe.predict(X[:2]).shape == (2,)


def test_plans_say_how_the_budget_is_divided():
    plan = pipeline(RowNormalizer(), PrivateScaler()).plan(3000, 5)
    assert "privatescaler: 2 % of the budget" in str(plan)
    assert "rownormalizer: free" in str(plan)
    assert plan.to_dict()["steps"][0]["share"] == 0.02
    counted = pipeline(NoisyCount(), PrivateScaler(feature_bound=1.0), adjacency="add-remove").plan(3000, 5)
    assert "a noisy count of dense rows" in str(counted)


# ------------------------------------------------------------------------------------------------ ledger


@pytest.mark.parametrize("before", [PrivateScaler(feature_bound=1.0), PublicScaler(feature_bound=1.0)])
def test_the_whole_pipeline_is_reserved_once(tmp_path, before):
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.create("trial", epsilon=2.5, delta=1e-6)
    fitted = pipeline(before, ledger=ledger, dataset="trial").fit(X, Y)
    [entry] = ledger.entries("trial")
    assert fitted.statement_.ledger["entry"] == entry.number
    assert ledger.spent("trial").epsilon == pytest.approx(2.0, rel=1e-3)
    with pytest.raises(BudgetExceededError):
        pipeline(before, ledger=ledger, dataset="trial").fit(X, Y)
    assert ledger.entries("trial") == (entry,)


# ------------------------------------------------------------------------------------------------ messages


@pytest.mark.parametrize(
    ("steps", "options", "error", "message"),
    [
        ([StandardScaler(), model()], {}, PrivacyLeakError, "standardscaler .* learns the location and scale"),
        ([CountVectorizer(), model()], {}, PrivacyLeakError, "learns its vocabulary"),
        ([PrivateScaler()], {}, TypeError, "ends in a SparseRegressor or a SparseClassifier, got PrivateScaler"),
        ([NoisyCount(), model()], {}, PrivacyError, "under replace-one their number is public"),
        ([PrivateScaler(), model()], {"adjacency": "add-remove"}, PrivacyError, "put a NoisyCount before"),
        (
            [PrivateScaler(), NoisyCount(), model()],
            {"adjacency": "add-remove"},
            PrivacyError,
            "put a NoisyCount before",
        ),
        ([model()], {"adjacency": "friends"}, BudgetError, "adjacency must be one of"),
        (
            [model(**GUARD)],
            {},
            PrivacyError,
            "SparseRegressor has a ledger or dataset of its own, which would not be charged",
        ),
        ([PrivateScaler(**GUARD), model()], GUARD, PrivacyError, "PrivateScaler has a ledger or dataset of its own"),
    ],
)
def test_what_is_not_a_private_pipeline_is_refused_when_it_is_made(steps, options, error, message):
    with pytest.raises(error, match=message):
        make_private_pipeline(*steps, **options)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"shares": {"scaler": 0.1}}, BudgetError, "'scaler', which is not a priced step"),
        ({"shares": {"privatescaler": 1.0}}, BudgetError, "leave something for the model"),
        ({"shares": {"privatescaler": 0.0}}, BudgetError, "must be positive"),
        ({"epsilon": -1.0}, BudgetError, "epsilon must be a positive"),
        ({"budget": 3.0}, BudgetError, "Budget.zcdp"),
        ({"n_rows": 5}, PrivacyError, "another number of rows"),
        ({"ledger": "sqlite:///x.db"}, ValueError, "belong together"),
        (
            {"before": [PrivateScaler(feature_bound=1.0), PublicScaler(1.0)], "final": UNPROVEN, **GUARD},
            PrivacyError,
            "not proven",
        ),
        ({"final": model(recipe="ight")}, BudgetError, "baseline without privacy"),
        ({"final": model(recipe="ldp_iht")}, PrivacyError, "randomises on devices"),
        ({"final": model(recipe="dp_sgd_ht")}, BudgetError, "samples rows"),
        ({"final": model(target_bound=None)}, MissingBoundError, "no bound on the target"),
        ({"before": [PrivateScaler()]}, MissingBoundError, "no bound on the features"),
        ({"before": [FunctionTransformer(np.log1p)], "n_rows": None}, MissingBoundError, "no bound on the features"),
    ],
)
def test_bad_arguments_are_refused_before_the_budget_is_touched(monkeypatch, options, error, message):
    before = options.pop("before", [])
    monkeypatch.setattr("dpsparse.fitting.session.reserve", None)
    with pytest.raises(error, match=message):
        pipeline(*before, **options).fit(np.abs(X), Y)


def test_a_slice_is_not_fitted_past_the_ledger():
    part = pipeline()[:-1]
    with pytest.raises(TypeError, match="not fitted by itself"):
        part.fit_transform(X)
    assert pipeline().fit(X, Y)[:-1].transform(X[:2]).shape == (2, 5)


def test_exact_scales_are_priced_in_a_language_that_covers_them():
    scaler = PrivateScaler(feature_bound=1.0, noise="exact")
    assert not pipeline(scaler).plan(3000, 5).bill.gaussian
    with pytest.raises(BudgetError, match="not proven for the exact discrete Gaussian"):
        pipeline(scaler, budget=Budget.gdp(0.5)).plan(3000, 5)


def test_the_width_of_a_projection_must_not_tell_the_number_of_rows():
    with pytest.raises(PrivacyLeakError, match="from the number of rows"):
        pipeline(GaussianRandomProjection())
    assert pipeline(GaussianRandomProjection(n_components=3), RowNormalizer()).fit(X, Y).statement_.private


def test_sample_weights_are_refused_with_the_reason():
    with pytest.raises(TypeError, match="taken by fit of SparseRegressor and SparseClassifier alone"):
        pipeline().fit(X, Y, sample_weight=np.ones(3000))


def fussy(rows):
    """A step that fails on two numbers, each in a way of its own."""
    first = float(np.ravel(np.asarray(rows))[0])
    if first in (7.25, 7.5):
        raise (KeyError if first == 7.25 else ZeroDivisionError)(first)
    return rows


def test_how_a_step_fails_does_not_tell_a_value():
    said, coefficients = [], []
    for value in (7.25, 7.5, np.nan):
        rows = X.copy()
        rows[0, 0] = value
        step = FunctionTransformer(fussy)
        with pytest.raises(MissingValueError) as refused:  # as any other missing value: a named, public choice
            make_private_pipeline(step, model(feature_bound=1.0, row_norm=1.0), epsilon=1.0, delta=1e-6).fit(rows, Y)
        said.append(str(refused.value))
        final = model(feature_bound=1.0, row_norm=1.0, on_missing="empty", random_state=0)
        pipe = make_private_pipeline(step, final, epsilon=1.0, delta=1e-6).fit(rows, Y)
        coefficients.append(pipe.steps[-1][1].coef_.tobytes())
    assert said[0] == said[1] == said[2]
    assert coefficients[0] == coefficients[1] == coefficients[2]
