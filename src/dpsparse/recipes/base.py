"""What a recipe is: two small bases with the defaults that most recipes share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import Field
from typing import Any, ClassVar, Self, TypeGuard

import numpy as np

from ..core.budget import Budget
from ..core.facts import Facts
from ..queries.kinds import Solver
from .defaults.views import centre


class Recipe(ABC):
    """One algorithm of a paper: which loop, which noise, which constants. Fields left None come from public facts.

    Attributes
    ----------
    name : str
        By which users ask for it.
    private : bool
        False for the baselines without privacy.
    penalties : tuple of str
        Kinds of penalty that it can take.
    needs : tuple of str
        Assumptions that the user must accept by name.
    zero_is_absence : bool
        Whether zero at an end of a column's bounds is taken for absence, and the column measured
        from zero.
    local : bool
        Whether people's devices randomise, so that nobody can be asked anything else about the
        rows.
    joint : bool
        Whether it makes one model of many classes (``facts.target.joint``); otherwise each class
        has a model against the rest.
    """

    #: Recipes are dataclasses, whose fields are their settings.
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    name: ClassVar[str]
    private: ClassVar[bool]
    penalties: ClassVar[tuple[str, ...]] = ("l2",)
    needs: ClassVar[tuple[str, ...]] = ()
    zero_is_absence: ClassVar[bool] = False
    local: ClassVar[bool] = False
    joint: ClassVar[bool] = False

    def resolve(self, facts: Facts, budget: Budget) -> tuple[Recipe, str]:
        """The recipe that runs, and the reason in words where it is another one. Facts are those that were declared."""
        return self, ""

    def view(self, facts: Facts) -> Facts:
        """The facts as this recipe wants the rows shown.

        Here: columns from the midpoint of their bounds, and an intercept column.
        """
        return centre(facts, facts.intercept > 0)

    def assumptions(self, facts: Facts) -> tuple[str, ...]:
        """What the guarantee depends on, beyond the mechanisms. Here: nothing."""
        return ()


class PrivateRecipe(Recipe):
    """A recipe with a budget."""

    private: ClassVar[bool] = True

    @abstractmethod
    def solver(self, facts: Facts, budget: Budget) -> Solver:
        """The loop with every constant filled in, from the facts of `view` and the budget alone."""


class Baseline(Recipe):
    """A recipe without privacy, to compare with: it has no budget."""

    private: ClassVar[bool] = False

    @abstractmethod
    def solver(self, facts: Facts) -> Solver:
        """The loop with every constant filled in, from the facts of `view` alone."""

    def resolve(self, facts: Facts, budget: Budget) -> tuple[Self, str]:
        """A baseline runs as it is."""
        return self, ""


def has_budget(recipe: Recipe) -> TypeGuard[PrivateRecipe]:
    """Whether a recipe spends a budget, and so takes one for its solver."""
    return recipe.private


def has_none(recipe: Recipe) -> TypeGuard[Baseline]:
    """Whether a recipe is a baseline."""
    return not recipe.private


def check_positive(value: float | None, what: str) -> None:
    """Refuse a hyper-parameter that is not a positive finite number."""
    if value is not None and not (isinstance(value, int | float) and np.isfinite(value) and value > 0):
        raise ValueError(f"{what} must be a positive number or None, got {value!r}.")


def check_whole(value: int | None, what: str) -> None:
    """Refuse a hyper-parameter that is not a positive integer."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1):
        raise ValueError(f"{what} must be a positive integer or None, got {value!r}.")
