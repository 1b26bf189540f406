"""The public rule of the default recipe, at the shapes of data on which both algorithms were measured."""

import pytest

from dpsparse import SparseClassifier, SparseRegressor


def _picked(n, d, epsilon, *, sparsity=None, bounds=None, regression=False):
    options = {"epsilon": epsilon, "delta": 1e-5, "sparsity": sparsity, **(bounds or {"feature_bound": 1.0})}
    model = SparseRegressor(target_bound=1.0, **options) if regression else SparseClassifier(**options)
    return model.plan(n_rows=n, n_features=d).recipe


@pytest.mark.parametrize(
    ("n", "d", "epsilon"),
    [(32_561, 123, 0.1), (48_000, 54, 1.0), (12_000, 784, 0.5), (3300, 202, 0.5), (16_512, 8, 1.0), (100, 5, 0.1)],
)
def test_dense_rows_are_tables(n, d, epsilon):
    assert _picked(n, d, epsilon) == "tables"
    assert _picked(n, d, epsilon, regression=True) == "tables"


def test_more_features_than_a_table_has_are_read_by_whole_gradients_where_they_can_be_afforded():
    assert _picked(100_000, 2000, 1.0) == "dual_averaging"


@pytest.mark.parametrize(("n", "d", "epsilon"), [(5000, 2000, 4.0), (1000, 1000, 1.0), (5232, 784, 0.2)])
def test_without_sparsity_wide_dense_rows_are_selected_from(n, d, epsilon):
    assert _picked(n, d, epsilon) == "select_polish"
    assert _picked(n, d, epsilon, regression=True) == "select_polish"


def test_few_coefficients_that_were_asked_for_are_selected_whatever_the_number_of_rows():
    assert _picked(1_000_000, 2000, 4.0, sparsity=20) == "select_polish"
    assert _picked(1_000_000, 2000, 4.0, sparsity=800) == "dual_averaging"


def test_spiky_rows_are_never_selected_from():
    assert _picked(1000, 60_000, 1.0, sparsity=10, bounds={"row_norm": 1.0}) == "dual_averaging"


def test_the_reason_names_the_numbers_of_the_rule():
    plan = SparseClassifier(epsilon=1.0, delta=1e-5, feature_bound=1.0).plan(n_rows=100_000, n_features=2000)
    assert "no sparsity was asked for" in plan.reason
    assert "whole gradients stand 6.7 times above their noise" in plan.reason
    plan = SparseClassifier(epsilon=1.0, delta=1e-5, feature_bound=1.0).plan(n_rows=20_000, n_features=100)
    assert "few coefficients, or many, by paid answers" in plan.reason
