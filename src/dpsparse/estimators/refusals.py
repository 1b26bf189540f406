"""What these models refuse: arguments of ``fit`` that other libraries have, and fits whose price pays for nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..privacy.errors import AssumptionError, LedgerError
from ..privacy.plan import Plan

#: By which a user accepts a plan without a proof.
UNPROVEN = "unproven"


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


def refuse_unaccepted(plan: Plan, recipe: str, accept: tuple[str, ...]) -> None:
    """Refuse to fit by an unproven plan that was not accepted by name."""
    if plan.unproven and UNPROVEN not in accept:
        raise AssumptionError(
            f"the privacy of recipe {recipe!r} is not proven: {plan.unproven}. To fit it nevertheless, accept that by name: "
            f"accept=({UNPROVEN!r},). The statement will say first that there is no promise."
        )


def refuse_unguarded(plan: Plan, recipe: str) -> None:
    """Refuse to charge a ledger for what its promise would not cover."""
    if plan.labels_only:
        raise LedgerError(
            f"recipe {recipe!r} protects labels only, and a ledger guards whole rows. Leave ledger=None for it."
        )
    if plan.unproven:
        raise LedgerError(
            f"the privacy of recipe {recipe!r} is not proven, so no price covers it: it must not touch data that a ledger "
            "guards. Leave ledger=None for it."
        )


def refuse_doubtful(accept: tuple[str, ...]) -> None:
    """Refuse to charge a ledger for a model that may be fitted by an unproven plan."""
    if UNPROVEN in accept:
        raise LedgerError(
            f"the model accepts plans whose privacy is not proven (accept names {UNPROVEN!r}), so no price covers it: it must not "
            "touch data that a ledger guards. Leave ledger=None for it."
        )
