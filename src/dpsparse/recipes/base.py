"""What a recipe is, and the view of the data that recipes share."""

from __future__ import annotations

from typing import ClassVar, Protocol

import numpy as np

from ..facts import Facts
from ..oracle import Solver
from ..privacy.budget import Budget


class Recipe(Protocol):
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
    """

    name: ClassVar[str]
    private: ClassVar[bool]
    penalties: ClassVar[tuple[str, ...]]
    needs: ClassVar[tuple[str, ...]]

    def view(self, facts: Facts) -> Facts:
        """The facts as this recipe wants the rows shown: shifts and the height of the intercept column."""
        ...

    def solver(self, facts: Facts, budget: Budget | None) -> Solver:
        """The loop with every constant filled in, from public facts and the budget alone."""
        ...

    def assumptions(self, facts: Facts) -> tuple[str, ...]:
        """What the promise rests on, beyond the mechanisms."""
        ...

    # optional: def caveats(self, facts: Facts) -> tuple[str, ...]: what weakens or voids the promise; printed first


def caveats_of(recipe: Recipe, facts: Facts) -> tuple[str, ...]:
    """What a recipe says against itself; nothing, for those that have no `caveats`."""
    say = getattr(recipe, "caveats", None)
    return () if say is None else tuple(say(facts))


def unproven(recipe: Recipe) -> bool:
    """Whether a recipe says against itself that its promise is not kept: its price is then a claim, and pays for nothing."""
    return getattr(recipe, "caveats", None) is not None


def centred(facts: Facts, intercept: bool) -> Facts:
    r"""Dense columns measured from the midpoint of their bounds, and an intercept column of moderate height.

    The shift is public and free: with an intercept the model is the same, and entries in ``[lo, hi]`` become entries in
    ``[-(hi-lo)/2, (hi-lo)/2]``, which halves every sensitivity for one-signed features. Sparse columns stay unshifted,
    and so does everything when the user gave a `feature_center` of their own, or wants no intercept. The height
    :math:`\min(K_\infty, K_2/3)` adds at most 5.5 % to the norm of a row.
    """
    if not intercept:
        return facts
    if not facts.sparse and not np.any(facts.shift):
        facts = facts.with_(shift=(np.asarray(facts.lower) + np.asarray(facts.upper)) / 2 * np.ones(facts.n_features))
    return facts.with_(intercept=min(facts.feature_bound, facts.row_bound / 3))


def positive(value: float | None, what: str) -> None:
    """Refuse a hyper-parameter that is not a positive finite number (None is left to the rule)."""
    if value is not None and not (isinstance(value, int | float) and np.isfinite(value) and value > 0):
        raise ValueError(f"{what} must be a positive number or None, got {value!r}.")


def whole(value: int | None, what: str) -> None:
    """Refuse a hyper-parameter that is not a positive integer (None is left to the rule)."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1):
        raise ValueError(f"{what} must be a positive integer or None, got {value!r}.")
