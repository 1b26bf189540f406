"""Rules ask what the targets are, never what the loss is called."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

import dpsparse
from dpsparse import SparseClassifier, SparseRegressor
from dpsparse.core.facts import Target
from dpsparse.losses import Custom, Huber, KnownLink, Logistic, Poisson, Squared, proven, target_of
from dpsparse.report.planner import Forecast  # noqa: F401  the planner's rules are among those that are searched below

SOURCE = Path(dpsparse.__file__).parent
RNG = np.random.default_rng(5)
X = RNG.uniform(-1, 1, (3000, 60))
SCORE = X @ np.r_[3.0, -3.0, 2.0, np.zeros(57)]
CLASSES = (SCORE + RNG.logistic(size=3000) > 0).astype(int)
NUMBERS = np.clip(SCORE / 3 + 0.1 * RNG.standard_normal(3000), -2, 2)


def same_as(loss, **options) -> Custom:
    """The same loss, as a user would give it."""
    return Custom(
        derivative=loss.slope,
        integral=loss.value,
        curvature=loss.curvature,
        slope_bound=loss.slope_bound,
        classes=loss.classes,
        **{"name": "mine", **options},
    )


def equal(one, other):
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.intercept_, other.intercept_)
    assert one.statement_.recipe == other.statement_.recipe
    assert one.statement_.asks == other.statement_.asks
    assert one.statement_.epsilon == other.statement_.epsilon


@pytest.mark.filterwarnings("ignore:random_state was given")
@pytest.mark.parametrize("sparsity", [3, None])
@pytest.mark.parametrize(
    "recipe", ["auto", "dp_ight", "dp_sgd", "dp_gcd", "dual_averaging", "select_polish", "dp_frank_wolfe", "ldp_iht"]
)
def test_a_users_logistic_loss_is_treated_as_ours(recipe, sparsity):
    options = {"feature_bound": 1.0, "recipe": recipe, "sparsity": sparsity, "random_state": 0}
    mine = Custom(derivative=lambda m, y: expit(m) - y, curvature=0.25, slope_bound=1.0, classes=True, name="mine")
    equal(*(SparseClassifier(loss=loss, **options).fit(X, CLASSES) for loss in (None, mine)))


@pytest.mark.filterwarnings("ignore:random_state was given")
@pytest.mark.parametrize("loss", [Squared(), Huber(threshold=0.5)], ids=lambda loss: loss.name)
@pytest.mark.parametrize("recipe", ["auto", "dp_ight", "dual_averaging", "select_polish"])
def test_a_users_loss_of_residuals_is_treated_as_ours(recipe, loss):
    """Also where the user calls it logistic: the name is for printing."""
    options = {"feature_bound": 1.0, "target_bound": 2.0, "recipe": recipe, "sparsity": 3, "random_state": 0}
    pair = (loss, same_as(loss, name="logistic"))
    equal(*(SparseRegressor(loss=one, **options).fit(X, NUMBERS) for one in pair))


def test_what_losses_say_about_their_targets():
    assert target_of(Logistic(), 1.0) == Target(kind="classes")
    assert target_of(same_as(Logistic()), 1.0) == Target(kind="classes")
    assert target_of(Huber(), 3.0) == Target(bound=3.0)
    assert target_of(same_as(Squared(), name="logistic"), 3.0) == Target(bound=3.0)
    assert target_of(Poisson(), 9.0) == Target(kind="counts", bound=9.0)
    assert target_of(KnownLink("tanh"), 2.0) == Target(bound=2.0, linked=True)
    with pytest.raises(ValueError, match="one of numbers, classes, counts"):
        Target(kind="logistic")


def test_only_our_own_types_are_proven():
    class Mine(Squared):
        pass

    assert all(proven(loss) for loss in (Squared(), Huber(), Logistic(), Poisson()))
    assert not any(proven(loss) for loss in (Mine(), same_as(Squared(), name="squared"), KnownLink("tanh")))
    with pytest.raises(ValueError, match="stability proof"):
        SparseRegressor(feature_bound=1.0, target_bound=2.0, recipe="two_stage", loss=same_as(Squared())).fit(
            X, NUMBERS
        )


def test_no_rule_compares_the_name_of_a_loss():
    """Neither ``facts.loss == "..."`` nor ``loss.name in (...)`` anywhere."""

    def compares(path: Path) -> bool:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Compare):
                for side in (node.left, *node.comparators):
                    text = ast.unparse(side)
                    if text.endswith(("facts.loss", "loss.name")):
                        return True
        return False

    assert [str(f) for f in SOURCE.rglob("*.py") if compares(f)] == []
