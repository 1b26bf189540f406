"""Budgets: three languages, one at a time, and refusals that say why."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpsparse.core import Adjacency, Budget, BudgetError, PrivacyError
from truth import curves as truth


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, -math.inf, None, "much", [1.0]])
def test_epsilon_is_a_positive_finite_number(epsilon):
    with pytest.raises(BudgetError, match="epsilon"):
        Budget.approx(epsilon, 1e-6)


@pytest.mark.parametrize("delta", [-1e-9, 1, 2, math.nan, math.inf, None, "tiny"])
def test_delta_lies_in_zero_to_one(delta):
    with pytest.raises(BudgetError, match="delta"):
        Budget.approx(1.0, delta)


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, None])
def test_rho_and_mu_are_positive_finite_numbers(value):
    with pytest.raises(BudgetError, match="rho"):
        Budget.zcdp(value)
    with pytest.raises(BudgetError, match="mu"):
        Budget.gdp(value)


def test_refusals_are_value_errors_for_code_that_knows_only_scikit_learn():
    assert issubclass(BudgetError, PrivacyError)
    assert issubclass(PrivacyError, ValueError)


def test_delta_zero_is_allowed():
    assert Budget.approx(1.0, 0).delta == 0.0


def test_a_budget_speaks_one_language():
    for budget, spoken in (
        (Budget.approx(1.0, 1e-6), {"epsilon", "delta"}),
        (Budget.zcdp(0.1), {"rho"}),
        (Budget.gdp(0.5), {"mu"}),
    ):
        assert {k for k in ("epsilon", "delta", "rho", "mu") if getattr(budget, k) is not None} == spoken


def test_numpy_numbers_become_plain_ones():
    budget = Budget.approx(np.float32(1.0), np.float64(1e-6))
    assert type(budget.epsilon) is float
    assert type(budget.delta) is float


@pytest.mark.parametrize(("name", "kappa"), [("replace-one", 2), ("add-remove", 1)])
def test_adjacency_is_named_and_sets_kappa(name, kappa):
    budget = Budget.approx(1.0, 1e-6, name)
    assert budget.kappa == kappa
    assert budget.relation is Adjacency.named(name)
    assert name in repr(budget)


def test_without_a_word_the_adjacency_is_replace_one():
    assert Budget.approx(1.0, 1e-6).adjacency is None
    assert Budget.approx(1.0, 1e-6).kappa == 2
    assert Budget.zcdp(1.0).relation is Adjacency.REPLACE_ONE


def test_an_unknown_adjacency_lists_the_known_ones():
    with pytest.raises(BudgetError, match=r"replace-one.*add-remove"):
        Budget.approx(1.0, 1e-6, "swap")


def test_an_adjacency_is_set_once():
    free = Budget.gdp(1.0)
    bound = free.under("add-remove")
    assert bound.kappa == 1
    assert free.adjacency is None, "budgets are frozen"
    assert bound.under("add-remove") == bound
    with pytest.raises(BudgetError, match="adjacency"):
        bound.under("replace-one")


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-5), (8.0, 1e-5), (2.0, 0.01)])
def test_the_planning_mu_is_exact_and_the_planning_rho_implies_the_budget(epsilon, delta):
    budget = Budget.approx(epsilon, delta)
    assert truth.gaussian_epsilon(budget.as_mu(), delta) == pytest.approx(epsilon, rel=1e-9)
    implied = truth.renyi_epsilon(lambda a: a * budget.as_rho(), delta)
    assert 0.999 * epsilon <= implied <= epsilon * (1 + 1e-9)


def test_the_planning_numbers_of_other_languages():
    assert Budget.zcdp(0.3).as_rho() == 0.3
    assert Budget.zcdp(0.5).as_mu() == 1.0
    assert Budget.gdp(0.6).as_mu() == 0.6
    assert Budget.gdp(1.0).as_rho() == 0.5
    assert Budget.approx(1.0, 0.0).as_rho() == 0.5, "a pure answer is epsilon^2/2-zCDP"


def test_a_budget_prints_itself():
    assert repr(Budget.approx(1.0, 1e-6)) == "Budget(epsilon=1, delta=1e-06)"
    assert repr(Budget.zcdp(0.25, "add-remove")) == "Budget(rho=0.25, adjacency='add-remove')"
