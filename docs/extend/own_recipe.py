"""A complete recipe of one's own: noisy gradient descent with equal steps, and the s largest entries of its end."""

from dataclasses import dataclass
from typing import ClassVar

from dpsparse import recipes
from dpsparse.core import Ask, Noise, Plan
from dpsparse.core.facts import Clip
from dpsparse.ops import hard_threshold


@dataclass(frozen=True)
class Descent:
    """The loop: a plan, and a run that uses it up."""

    steps: int
    step_size: float
    clip: Clip
    sparsity: int

    def plan(self, facts, budget):
        return Plan(asks=(Ask(name="gradient", noise=Noise.GAUSSIAN, times=self.steps),))

    def run(self, oracle, path=None):
        w = oracle.facts.first()
        for _ in range(self.steps):
            w = w - self.step_size * oracle.gradient(w, clip=self.clip)
        return hard_threshold(w, self.sparsity, oracle.facts.free)


@recipes.register
@dataclass(frozen=True, kw_only=True)
class PlainDescent(recipes.PrivateRecipe):
    """Noisy gradient descent with equal steps. Guarantee: `steps` Gaussian releases, each row's gradient within the clip."""

    name: ClassVar[str] = "plain_descent"
    steps: int = 10

    def solver(self, facts, budget):
        slope = min(facts.target.spread, facts.slope_bound)
        size = facts.n_features / (facts.curvature * facts.norm_bound**2)
        return Descent(self.steps, size / 2, Clip(slope * facts.norm_bound), facts.cap)
