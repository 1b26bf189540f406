"""Prescriptions of theorems: one way to say the budget, warnings at caps, and recipes that only Frank-Wolfe and its rivals had not."""

import math

import pytest

from dpsparse.core import Budget
from dpsparse.recipes import DPCD, DPIGHT, DPSGD, DPFrankWolfe, TwoStage
from dpsparse.recipes.defaults.theory import budget_of, prescribed


def test_a_budget_is_given_once():
    assert budget_of(None, 1e-6, 0.1)[1] == 0.1
    assert budget_of(1.0, 1e-6, None) == (1.0, Budget.approx(1.0, 1e-6).as_rho())
    for both in ((None, 1e-6, None), (1.0, 1e-6, 0.1)):
        with pytest.raises(ValueError, match="give the budget once"):
            budget_of(*both)


def test_a_prescription_that_leaves_its_range_is_told():
    assert prescribed(2.1, "T") == 3
    with pytest.warns(UserWarning, match="more than the 10"):
        assert prescribed(11.0, "s", most=10) == 10
    with pytest.warns(UserWarning, match="below its noise"):
        assert prescribed(-3.0, "T") == 1


def test_the_first_paper_takes_epsilon_or_rho():
    public = {
        "smoothness": 2.0,
        "strong_convexity": 1.0,
        "true_sparsity": 3,
        "n_rows": 10_000,
        "n_features": 100,
        "gradient_norm": 4.0,
        "signal_norm": 1.0,
    }
    rho = Budget.approx(2.0, 1e-5).as_rho()
    assert DPIGHT.from_theory(**public, epsilon=2.0, delta=1e-5) == DPIGHT.from_theory(**public, rho=rho)


def test_frank_wolfe():
    made = DPFrankWolfe.from_theory(n_rows=1000, delta=1e-6, epsilon=2.0, radius=5.0, lipschitz=0.5, curvature=1.0)
    assert (made.steps, made.radius, made.entry_clip) == (math.ceil(800 ** (2 / 3)), 5.0, 0.5)


def test_two_stage():
    made = TwoStage.from_theory(
        n_rows=1000, delta=1e-6, epsilon=2.0, true_sparsity=10, curvature=0.25, row_norm=2.0, lipschitz=3.0
    )
    assert (made.ridge, made.clip, made.row_clip, made.selection) == (10 / 2 / 1000, 3.0, 2.0, 0.5)


def test_rivals_of_greedy_descent():
    public = {"n_rows": 1000, "n_features": 100, "delta": 1e-6, "lipschitz": 2.0, "radius": 3.0}
    sgd = DPSGD.from_theory(**public, epsilon=0.2)
    balanced = 200**2 / (100 * math.log(1e6))
    steps = math.ceil(balanced)
    assert (sgd.steps, sgd.clip) == (steps, 2.0)
    assert sgd.step_size == pytest.approx(1.5 / math.sqrt(steps * (1 + steps / balanced)))
    with pytest.warns(UserWarning, match="more than the 1000"):
        quiet = DPSGD.from_theory(**public, epsilon=100.0)
    assert (quiet.steps, quiet.step_size) == (
        1000,
        pytest.approx(1.5 / math.sqrt(1000), rel=1e-4),
    )  # noise is no concern
    longer = DPSGD.from_theory(**public, epsilon=0.2, constant=4.0)
    assert longer.step_size < 0.4 * sgd.step_size  # more than balanced steps: noise, not length, bounds them
    cd = DPCD.from_theory(**public, epsilon=0.2)
    assert (cd.steps, cd.curvature, cd.order) == (
        math.ceil(10 * 200 * 1.5 / math.sqrt(math.log(1e6))),
        "bounds",
        "uniform",
    )
