"""The argument ``ledger`` of estimators: an address is turned into a ledger at once, so that nobody prints or stores its password."""

from __future__ import annotations

from typing import Self, overload

from .ledger import Ledger


class LedgerArgument:
    """An attribute that holds a `Ledger` where an address is set. What is neither is kept, for `check_ledger` to refuse."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, owner: None, kind: type) -> Self: ...

    @overload
    def __get__(self, owner: object, kind: type) -> Ledger | None: ...

    def __get__(self, owner: object | None, kind: type) -> Self | Ledger | None:
        if owner is None:
            return self
        try:
            found: Ledger | None = vars(owner)[self._name]
        except KeyError:
            raise AttributeError(self._name) from None
        return found

    def __set__(self, owner: object, value: Ledger | str | None) -> None:
        vars(owner)[self._name] = Ledger(value) if isinstance(value, str) else value
