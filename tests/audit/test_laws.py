"""The laws catch what they are there to catch."""

from dataclasses import dataclass

import numpy as np
import pytest

from dpsparse import SparseClassifier, SparseRegressor, audit, recipes
from dpsparse.core import Ask, Noise, Plan
from dpsparse.core.facts import Clip, Facts, Target
from dpsparse.losses import Squared

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (80, 6))
y = X[:, 0] + 0.1 * rng.standard_normal(80)
FACTS = Facts(n_rows=80, n_features=6, row_norm=6**0.5, target=Target(bound=2.0))


@dataclass(frozen=True)
class Steps:
    """An honest solver; the others differ in one line."""

    times: int = 4

    def plan(self, facts, budget):
        return Plan(asks=(Ask(name="gradient", noise=Noise.GAUSSIAN, times=self.times),))

    def run(self, oracle, path=None):
        w = oracle.facts.first()
        for _ in range(self.times):
            w = w - 0.5 * oracle.gradient(w, clip=Clip(1.0))
        return w


class Peeks(Steps):
    def run(self, oracle, path=None):
        w = super().run(oracle)
        rows = getattr(oracle, "_host", None) or getattr(getattr(oracle, "inner", None), "_host", None)
        return w if rows is None else w + 1e-6 * rows.shards[0].blocks[0].y.mean()


class StopsOnTheLoss(Steps):
    def run(self, oracle, path=None):
        w = oracle.facts.first()
        while np.mean((X @ w - y) ** 2) > 1e-3:
            w = w - 0.5 * oracle.gradient(w, clip=Clip(1.0))
        return w


class AsksLess(Steps):
    def run(self, oracle, path=None):
        return -oracle.gradient(oracle.facts.first(), clip=Clip(1.0))


class AsksForSomethingElse(Steps):
    def run(self, oracle, path=None):
        return oracle.gradient(oracle.facts.first(), clip=Clip(1.0), ask="hessian")


class PlansFromAStopwatch(Steps):
    def plan(self, facts, budget):
        return Plan(asks=(Ask(name="gradient", noise=Noise.GAUSSIAN, times=int(rng.integers(1, 1000))),))


def test_an_honest_solver_passes():
    w = audit.check_solver(Steps(), FACTS, Squared(), X, y)
    assert w.shape == (6,)


@pytest.mark.parametrize(
    ("solver", "law"),
    [
        (Peeks(), "violations: the solver reads oracle._host"),
        (StopsOnTheLoss(), "asks = plan"),
        (AsksLess(), "asks = plan"),
        (AsksForSomethingElse(), "asks = plan"),
        (PlansFromAStopwatch(), "plan"),
    ],
)
def test_a_leaky_solver_is_caught_by_the_name_of_the_law(solver, law):
    with pytest.raises(audit.LawBroken, match=f"^{law}"):
        audit.check_solver(solver, FACTS, Squared(), X, y)


class InterceptFromTheData(SparseRegressor):
    def fit(self, X, y):
        super().fit(X, y)
        self.intercept_ = float(np.mean(y))
        return self


class ScaleFromTheData(SparseRegressor):
    def fit(self, X, y):
        super().fit(X, y)
        self.scale_ = np.abs(X).max(axis=0)
        return self


class StepFromTheData(SparseRegressor):
    def fit(self, X, y):
        self.recipe = recipes.DPIGHT(step_size=float(1 / np.mean(np.asarray(X) ** 2)), steps=3)
        return super().fit(X, y)


@pytest.mark.parametrize(
    ("leaky", "what"), [(InterceptFromTheData, "intercept_"), (ScaleFromTheData, "scale_"), (StepFromTheData, "coef_")]
)
def test_a_leaky_estimator_is_caught_and_the_attribute_named(leaky, what):
    with pytest.raises(audit.LawBroken, match=f"swap: {what}"):
        audit.check_estimator_privacy(leaky(feature_bound=1.0, target_bound=2.0, sparsity=2), X, y)


def test_honest_estimators_pass_for_many_classes_and_frames():
    pd = pytest.importorskip("pandas")
    labels = np.digitize(y, [-0.3, 0.3])
    audit.check_estimator_privacy(SparseClassifier(feature_bound=1.0, sparsity=2), X, labels)
    audit.check_estimator_privacy(
        SparseClassifier(feature_bound=1.0, sparsity=2), pd.DataFrame(X, columns=list("abcdef")), labels
    )


@dataclass(frozen=True)
class WrongSlope(Squared):
    def slope(self, margin, y):
        return 2 * (margin - y)


@dataclass(frozen=True)
class WrongBound(Squared):
    slope_bound: float = 1.0


@dataclass(frozen=True)
class WrongCurvature(Squared):
    curvature: float = 0.5


@pytest.mark.parametrize(
    ("loss", "what"), [(WrongSlope(), "derivative"), (WrongBound(), "slope_bound"), (WrongCurvature(), "curvature")]
)
def test_a_wrong_loss_is_caught(loss, what):
    with pytest.raises(audit.LawBroken, match=what):
        audit.check_loss(loss)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_a_second_opinion_agrees_on_gaussian_statements(adjacency):
    recipe = recipes.DPIGHT(mechanism="dense", steps=5)
    model = SparseRegressor(
        epsilon=1.0, delta=1e-5, feature_bound=1.0, target_bound=2.0, recipe=recipe, adjacency=adjacency, n_rows=80
    )
    statement = model.fit(X, y).statement_
    assert audit.recomputed_epsilon(statement) == pytest.approx(statement.epsilon, rel=1e-3)


def test_a_second_opinion_bounds_statements_with_selections():
    model = SparseRegressor(
        epsilon=1.0,
        delta=1e-5,
        feature_bound=1.0,
        target_bound=2.0,
        sparsity=2,
        recipe=recipes.DPIGHT(mechanism="peel"),
    )
    statement = model.fit(X, y).statement_
    assert statement.epsilon <= audit.recomputed_epsilon(statement) <= 1.25 * statement.epsilon
