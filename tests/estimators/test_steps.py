"""Preparing steps: per-record maps are free, scales and counts are priced."""

import math
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from builders import Rows, measured
from dpsparse import Budget, Ledger, NoisyCount, PrivateScaler, PublicScaler, RowNormalizer
from dpsparse.core import Adjacency, BudgetError, MissingBoundError, PrivacyError
from dpsparse.estimators.steps import Bounds
from dpsparse.losses import Squared
from dpsparse.queries.kinds import MeanSquares

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (4000, 4)) * [1.0, 0.5, 0.1, 0.0]
BOTH = pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])


@parametrize_with_checks(
    [
        RowNormalizer(),
        PublicScaler(feature_bound=10.0),
        PrivateScaler(feature_bound=10.0, random_state=0),
        NoisyCount(random_state=0),
    ],
    expected_failed_checks=lambda step: (
        {"check_estimators_empty_data_messages": "no rows are counted as any number of them, which is private"}
        if isinstance(step, NoisyCount)
        else {}
    ),
)
def test_they_are_transformers_of_scikit_learn(estimator, check):
    check(estimator)


# ------------------------------------------------------------------------------------------------ per record


@BOTH
@pytest.mark.parametrize("norm", ["l2", "l1", "max"])
def test_rows_are_normalised_within_the_stated_bounds(storage, norm):
    step = RowNormalizer(norm=norm, length=3.0)
    out = step.fit_transform(storage(X))
    dense = out.toarray() if sp.issparse(out) else out
    norms = np.linalg.norm(dense, axis=1, ord={"l2": 2, "l1": 1, "max": np.inf}[norm])
    np.testing.assert_allclose(norms, 3.0)
    assert np.all(np.linalg.norm(dense, axis=1) <= step.bounds_.row_norm * (1 + 1e-12))
    assert np.abs(dense).max() <= step.bounds_.upper * (1 + 1e-12)
    assert sp.issparse(out) == (storage is sp.csr_matrix)


@pytest.mark.parametrize("step", [RowNormalizer(), PublicScaler(feature_bound=(-0.5, [1.0, 2.0, 3.0, 4.0]))])
def test_what_happens_to_a_row_depends_on_no_other(step):
    whole = clone(step).fit_transform(X)
    alone = np.vstack([clone(step).fit_transform(X[i : i + 1]) for i in range(20)])
    np.testing.assert_array_equal(whole[:20], alone)


def test_non_negative_rows_keep_their_lower_bound():
    before = Bounds(0.0, 5.0, 10.0)
    assert RowNormalizer().bounds_after(before, 4).lower == 0.0
    assert RowNormalizer().bounds_after(None, 4).lower == -1.0


@BOTH
def test_public_scaling_clips_and_maps_to_the_unit_box(storage):
    step = PublicScaler(feature_bound=(-0.2, [1.0, 0.1, 1.0, 1.0]))
    out = step.fit_transform(storage(X))
    dense = out.toarray() if sp.issparse(out) else out
    divisor = np.array([1.0, 0.2, 1.0, 1.0])
    np.testing.assert_allclose(dense, np.clip(X, -0.2, [1.0, 0.1, 1.0, 1.0]) / divisor)
    assert np.all(dense <= step.bounds_.upper)
    assert np.all(dense >= step.bounds_.lower)


def test_public_scaling_passes_a_row_norm_on():
    out = PublicScaler(feature_bound=2.0).bounds_after(Bounds(-2.0, 2.0, 1.0), 100)
    assert out.row_norm == 0.5
    assert PublicScaler(feature_bound=2.0).bounds_after(None, 100).row_norm == 10.0


# ------------------------------------------------------------------------------------------------ scales


@BOTH
def test_scales_are_near_the_root_mean_squares(storage):
    scaler = PrivateScaler(budget=Budget.gdp(1.0), feature_bound=1.0, row_norm=1.5, random_state=0).fit(storage(X))
    noise = scaler.statement_.asks[0].scale / 4000
    truth = np.mean(X**2, axis=0)
    known = truth > 3 * noise
    assert known[:3].all()
    assert np.all(np.abs(scaler.scale_[known] ** 2 - truth[known]) < 6 * noise)
    assert scaler.scale_[3] >= math.sqrt(noise) * (1 - 1e-12)  # a column of zeros is not blown up by its noise
    out = scaler.transform(storage(X))
    dense = out.toarray() if sp.issparse(out) else out
    np.testing.assert_allclose(dense, X / scaler.scale_)
    assert sp.issparse(out) == (storage is sp.csr_matrix)


def test_the_bounds_of_scaled_rows_are_public_and_of_the_right_size():
    scaler = PrivateScaler(budget=Budget.gdp(1.0), feature_bound=1.0, random_state=0).fit(X)
    out = scaler.transform(X)
    assert np.all(out <= scaler.bounds_.upper + 1e-12)
    assert np.all(out >= scaler.bounds_.lower - 1e-12)
    norms = np.linalg.norm(out, axis=1)
    assert np.mean(norms > scaler.bounds_.row_norm) < 0.1  # few rows are clipped to it
    assert scaler.bounds_.row_norm < 3 * np.sqrt(np.mean(norms**2))
    loose = PrivateScaler(budget=Budget.gdp(1.0), feature_bound=1.0, slack=1e9, random_state=0).fit(X).bounds_
    assert np.all(norms <= loose.row_norm * (1 + 1e-12))  # without the slack the bound is sure


def test_scales_never_leave_floor_and_bound():
    noisy = PrivateScaler(epsilon=0.001, feature_bound=[1.0, 2.0, 4.0, 1.0], floor=0.1, random_state=0).fit(X).scale_
    bounds = np.array([1.0, 2.0, 4.0, 1.0])
    assert np.all(noisy >= 0.1 * bounds)
    assert np.all(noisy <= bounds)


@pytest.mark.parametrize("relation", list(Adjacency), ids=str)
def test_squares_move_as_far_as_stated_and_half_of_it_would_be_too_little(relation):
    facts = Bounds.read(2.0, 2.0, 2).facts(3, 2, sparse=False)

    def squares(first):
        records = np.array([*first, [0.1, 0.2], [0.3, 0.4]])
        return measured(MeanSquares(), Rows(records, np.zeros(len(records)), facts), Squared())

    a, b = squares([[2.0, 0.0]]), squares([[0.0, 2.0]] if relation is Adjacency.REPLACE_ONE else [])
    moved = float(np.linalg.norm(a.values - b.values))
    stated = a.reach.l2(relation)
    assert 0.99 * stated < moved <= stated
    assert stated == pytest.approx(2.0 * 2.0 * (math.sqrt(2) if relation is Adjacency.REPLACE_ONE else 1), rel=1e-3)


def test_a_scaler_states_and_pays_for_itself(tmp_path):
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.create("trial", epsilon=1.0, delta=1e-6)
    scaler = PrivateScaler(epsilon=0.5, delta=1e-6, feature_bound=1.0, ledger=ledger, dataset="trial").fit(X)
    assert scaler.statement_.epsilon == pytest.approx(0.5, rel=1e-6)
    assert scaler.statement_.ledger == ledger.cite("trial", ledger.entries("trial")[0].number)
    assert ledger.spent("trial").epsilon == pytest.approx(0.5, rel=1e-3)
    assert "private column scales" in scaler.statement_.details()
    pickle.loads(pickle.dumps(scaler))


# ------------------------------------------------------------------------------------------------ counts


def test_a_count_is_near_the_truth_and_rows_pass_through():
    count = NoisyCount(budget=Budget.gdp(0.1), random_state=0).fit(X)
    assert count.statement_.asks[0].scale == pytest.approx(10.0, rel=1e-5)
    assert abs(count.n_rows_ - 4000) < 60
    np.testing.assert_array_equal(count.transform(X), X)
    assert count.statement_.adjacency == "add-remove"


def test_a_tiny_budget_still_gives_a_positive_count():
    assert min(NoisyCount(budget=Budget.gdp(1e-6), random_state=s).fit(X[:2]).n_rows_ for s in range(20)) == 1


def test_one_percent_of_the_budget_counts_well():
    """rho = 1 % of (1, 1e-6): standard deviation 45, as a rule of thumb says."""
    count = NoisyCount(budget=Budget.zcdp(0.01 * 0.0243559704)).fit(X)
    assert count.statement_.asks[0].scale == pytest.approx(45.3, rel=0.01)


@pytest.mark.parametrize("step", [PrivateScaler(feature_bound=1.0, noise="exact"), NoisyCount(noise="exact")])
def test_exact_noise_is_available(step):
    made = clone(step).fit(X[:200])
    assert made.statement_.asks[0].noise == "discrete-gaussian"
    assert math.isinf(made.statement_.mu)


@pytest.mark.parametrize(
    ("step", "error", "message"),
    [
        (PrivateScaler(), MissingBoundError, "no bound on the features"),
        (PrivateScaler(feature_bound=1.0, floor=0), ValueError, "floor must be one positive"),
        (PrivateScaler(feature_bound=1.0, slack=-1), ValueError, "slack must be one positive"),
        (PrivateScaler(feature_bound=1.0, epsilon=0), BudgetError, "epsilon must be a positive"),
        (PrivateScaler(feature_bound=1.0, delta=0.0), BudgetError, "delta"),
        (PrivateScaler(feature_bound=1.0, budget=3), PrivacyError, "Budget.zcdp"),
        (PrivateScaler(feature_bound=1.0, noise="loud"), ValueError, "'lattice' or 'exact'"),
        (PrivateScaler(feature_bound=1.0, noise="exact", random_state=0), ValueError, "cannot be seeded"),
        (PrivateScaler(feature_bound=1.0, adjacency="add-remove"), PrivacyError, "NoisyCount"),
        (PrivateScaler(feature_bound=1.0, n_rows=3), PrivacyError, "another number of rows"),
        (NoisyCount(adjacency="replace-one"), PrivacyError, "the number of rows is public"),
        (PublicScaler(), MissingBoundError, "no bound on the features"),
        (PublicScaler(feature_bound=0.0), MissingBoundError, "lo < hi"),
        (RowNormalizer(norm="l3"), ValueError, "norm must be one of 'l2', 'l1', 'max'"),
        (RowNormalizer(length=0.0), MissingBoundError, "positive finite number"),
    ],
)
def test_bad_arguments_are_refused(step, error, message):
    with pytest.raises(error, match=message):
        clone(step).fit(X)


def test_sparse_rows_are_not_centred():
    with pytest.raises(ValueError, match="would make sparse rows dense"):
        PublicScaler(feature_bound=1.0, center=True).fit(sp.csr_matrix(X)).transform(sp.csr_matrix(X))
