"""Solvers and estimators that leak, as a user might write them; each is caught, and the message names the leak.

The examples are shown in docs/extend/leaks.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from dpsparse import SparseRegressor, audit, recipes
from dpsparse.core import Ask, Noise, Plan
from dpsparse.core.facts import Clip, Facts, Target
from dpsparse.losses import Squared

rng = np.random.default_rng(0)
table = rng.uniform(-1, 1, (60, 4))
outcome = table[:, 0] + 0.1 * rng.standard_normal(60)
FACTS = Facts(n_rows=60, n_features=4, row_norm=2.0, target=Target(bound=2.0))


@dataclass(frozen=True)
class Descent:
    """Gradient steps, and nothing else: keeps the laws."""

    steps: int = 4

    def plan(self, facts, budget):
        """As many gradients as steps."""
        return Plan(asks=(Ask(name="gradient", noise=Noise.GAUSSIAN, times=self.steps),))

    def run(self, oracle, path=None):
        """Post-processing of noisy answers."""
        w = oracle.facts.first()
        for _ in range(self.steps):
            w = w - 0.5 * oracle.gradient(w, clip=Clip(1.0))
        return w


class PeeksAtRows(Descent):
    """Takes its step size from the rows, through the inside of its oracle."""

    def run(self, oracle, path=None):
        """Reads what only noisy answers may tell."""
        largest = max(np.abs(block.x).max() for block in oracle._host.shards[0].blocks)
        return super().run(oracle) / largest


class StopsOnTheLoss(Descent):
    """Stops as soon as the exact loss is small."""

    def run(self, oracle, path=None):
        """The number of steps tells how well the rows are fitted."""
        w = oracle.facts.first()
        for _ in range(self.steps):
            w = w - 0.5 * oracle.gradient(w, clip=Clip(1.0))
            if np.mean((table @ w - outcome) ** 2) < 1e9:
                break
        return w


def with_scales_of(X):
    """A solver that scales its result by what it learned from X, before there was an oracle."""

    class Scaled(Descent):
        def run(self, oracle, path=None):
            return super().run(oracle) / np.abs(X).max(axis=0)

    return Scaled()


class AsksOnceMore(Descent):
    """Goes on until the answer looks good, beyond what was paid."""

    def run(self, oracle, path=None):
        """One question too many."""
        w = super().run(oracle)
        return w - 0.5 * oracle.gradient(w, clip=Clip(1.0))


class LearnsTheIntercept(SparseRegressor):
    """Takes its intercept from the outcome."""

    def fit(self, X, y):
        """The mean of y was not paid for."""
        super().fit(X, y)
        self.intercept_ = float(np.mean(y))
        return self


class LearnsTheStep(SparseRegressor):
    """Tunes its recipe on the rows."""

    def fit(self, X, y):
        """A plan made from data."""
        self.recipe = recipes.DPIGHT(step_size=float(1 / np.mean(np.asarray(X) ** 2)), steps=3)
        return super().fit(X, y)


CAUGHT = {
    "violations": (PeeksAtRows(), r"^violations: the solver reads oracle\._host"),
    "stops": (StopsOnTheLoss(), r"^asks = plan: priced and never asked: \{'gradient': 3\}\. A loop that stops"),
    "closes over": (with_scales_of(table), r"^brings rows: variable 'X' of run\(\) holds X itself"),
    "asks more": (AsksOnceMore(), r"^asks = plan: the oracle refused.*all are used"),
}


@pytest.mark.parametrize("name", CAUGHT)
def test_a_leaky_solver_is_caught_by_name(name):
    solver, message = CAUGHT[name]
    with pytest.raises(audit.LawBroken, match=message):
        audit.check_solver(solver, FACTS, Squared(), table, outcome)


@pytest.mark.parametrize(
    ("leaky", "message"),
    [
        (LearnsTheIntercept, r"^swap: intercept_ differs although every answer was the same"),
        (LearnsTheStep, r"^swap: coef_ differs although every answer was the same"),
    ],
    ids=["intercept", "step"],
)
def test_a_leaky_estimator_is_caught_and_what_leaked_is_named(leaky, message):
    with pytest.raises(audit.LawBroken, match=message):
        audit.check_estimator_privacy(leaky(feature_bound=1.0, target_bound=2.0), table, outcome)


@dataclass(frozen=True, kw_only=True)
class PeekingRecipe(recipes.DPIGHT):
    """A recipe whose solver peeks."""

    def solver(self, facts, budget):
        """The leaky one."""
        return PeeksAtRows()


def test_a_leaky_solver_is_caught_inside_an_estimator_too():
    model = SparseRegressor(feature_bound=1.0, target_bound=2.0, recipe=PeekingRecipe())
    with pytest.raises(audit.LawBroken, match=r"^violations: the solver reads oracle\._host"):
        audit.check_estimator_privacy(model, table, outcome)


def test_an_honest_solver_passes():
    assert audit.check_solver(Descent(), FACTS, Squared(), table, outcome).shape == (4,)


def test_a_global_of_the_same_name_as_an_attribute_is_no_leak():
    """`oracle.facts.table` would not be the global `table`; only globals that are looked up count."""

    class Innocent(Descent):
        def run(self, oracle, path=None):
            assert not getattr(oracle.facts, "table", None)
            return super().run(oracle)

    audit.check_solver(Innocent(), FACTS, Squared(), table, outcome)


def test_a_field_that_holds_the_targets_is_named():
    @dataclass(frozen=True)
    class Holds(Descent):
        labels: object = None

    with pytest.raises(audit.LawBroken, match="field 'labels' holds y itself"):
        audit.check_solver(Holds(labels=outcome.copy()), FACTS, Squared(), table, outcome)
