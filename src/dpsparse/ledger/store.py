"""Where a chain lives: what SQLite and PostgreSQL have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from .chain import Chain

T = TypeVar("T")


class Store(Protocol):
    """Where a chain lives."""

    def read(self, action: Callable[[Chain], T]) -> T:
        """Run an action on a consistent view. A ledger that is missing is an error."""
        ...

    def write(self, action: Callable[[Chain], T]) -> T:
        """Run an action in an exclusive transaction: durable when this returns, undone if an exception leaves it.

        The action may be run again where a transaction failed and is known to have left nothing.
        """
        ...

    def found(self) -> None:
        """Make an empty ledger if it does not exist; never touches one that is there."""
        ...

    def damage(self) -> list[str]:
        """What is wrong with the tables themselves."""
        ...
