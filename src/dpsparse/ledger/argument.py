"""The argument ``ledger`` of estimators: an address is turned into a ledger at once, so that nobody prints or stores its password."""

from __future__ import annotations

from typing import Any

from .ledger import Ledger


class LedgerArgument:
    """An attribute that holds a `Ledger` where an address is set. What is neither is kept, for `check_ledger` to refuse."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        if owner is None:
            return self
        try:
            return owner.__dict__[self._name]
        except KeyError:
            raise AttributeError(self._name) from None

    def __set__(self, owner: Any, value: Any) -> None:
        owner.__dict__[self._name] = Ledger(value) if isinstance(value, str) else value
