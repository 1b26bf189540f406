"""Which datasets count as neighbours."""

from __future__ import annotations

from enum import StrEnum

from .errors import BudgetError


class Adjacency(StrEnum):
    r"""The relation that the guarantee protects.

    ``replace-one``: one person's record is exchanged for any other; the number of rows is public.
    ``add-remove``: one person's record is present or absent; the number of rows is private.

    Guarantee
    ---------
    If every record contributes a vector of norm at most :math:`C` to a sum, then the sums of neighbouring datasets
    differ by at most :math:`\kappa C`, with :math:`\kappa = 2` for replace-one (one leaves, one comes, and they may
    point in opposite directions) and :math:`\kappa = 1` for add-remove.
    """

    REPLACE_ONE = "replace-one"
    ADD_REMOVE = "add-remove"

    @property
    def kappa(self) -> int:
        """Records' worth of movement between neighbours."""
        return 2 if self is Adjacency.REPLACE_ONE else 1

    @classmethod
    def named(cls, name: str) -> Adjacency:
        """Look up by name, with a message that lists the names."""
        try:
            return cls(name)
        except ValueError:
            raise BudgetError(
                f"adjacency must be one of {', '.join(repr(str(a)) for a in cls)}, got {name!r}. "
                "Use 'replace-one' unless the number of rows itself must stay secret."
            ) from None
