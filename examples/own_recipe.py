"""An algorithm of one's own, from its equation to an audited model: python examples/own_recipe.py."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import dpsparse
from dpsparse import SparseRegressor, audit, recipes
from dpsparse.core import Ask, Noise, Plan
from dpsparse.core.facts import Clip
from dpsparse.ops import hard_threshold


@recipes.register
@dataclass(frozen=True, kw_only=True)
class NoisyDescent(recipes.PrivateRecipe):
    """Gradient descent with noise, and the largest entries of its end. Its loop is itself: a plan, and a run that uses it up."""

    name: ClassVar[str] = "noisy_descent"
    steps: int = 10

    def solver(self, facts, budget):
        return self

    def plan(self, facts, budget):
        return Plan(asks=(Ask(name="gradient", noise=Noise.GAUSSIAN, times=self.steps),))

    def run(self, oracle, path=None):
        facts, w = oracle.facts, oracle.facts.first()
        for _ in range(self.steps):
            w = w - facts.n_features / (2 * facts.norm_bound**2) * oracle.gradient(w, clip=Clip(facts.norm_bound))
        return hard_threshold(w, facts.cap, facts.free)


if __name__ == "__main__":
    X = np.random.default_rng(0).uniform(-1, 1, (4000, 8))
    model = SparseRegressor(recipe="noisy_descent", epsilon=3.0, sparsity=2, feature_bound=1.0, target_bound=2.0)
    model.fit(X, X[:, 0] - 0.8 * X[:, 1]).save("own.json")
    print(dpsparse.load("own.json").support_, model.statement_)
    audit.check_estimator_privacy(model, X[:200], X[:200, 0])  # the same answers on other rows must give the same model
