"""What these models refuse: arguments of ``fit`` that other libraries have, and fits whose price pays for nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..privacy.errors import LedgerError
from ..recipes.base import Recipe, unproven


def refuse_fit_arguments(given: Mapping[str, Any]) -> None:
    """Refuse what `fit` was given beyond X and y, and say why.

    Examples
    --------
    >>> refuse_fit_arguments({})
    >>> refuse_fit_arguments({"sample_weight": [1, 2]})
    Traceback (most recent call last):
    TypeError: sample_weight is not supported: a weight multiplies what one record may contribute, ...
    """
    if "sample_weight" in given:
        raise TypeError(
            "sample_weight is not supported: a weight multiplies what one record may contribute, so the noise would not cover "
            "it, and weights that were computed from the data tell about it. Leave rows out by a public rule instead."
        )
    if given:
        raise TypeError(f"fit takes X and y only, got {', '.join(sorted(given))}. Give options to the constructor.")


def refuse_unguarded(recipe: Recipe, *, labels_only: bool = False) -> None:
    """Refuse to charge a ledger for what its promise would not cover."""
    if labels_only:
        raise LedgerError(
            f"recipe {recipe.name!r} protects labels only, and a ledger guards whole rows. Leave ledger=None for it."
        )
    if unproven(recipe):
        raise LedgerError(
            f"the privacy of recipe {recipe.name!r} is not proven, so no price covers it: it must not touch data that a ledger "
            "guards. Leave ledger=None for it."
        )
