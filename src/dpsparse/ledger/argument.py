"""The argument ``ledger`` of estimators.

An address is turned into a ledger at once, so that nobody prints or stores its password.
"""

from __future__ import annotations

from typing import Self, overload

from ..core.errors import LedgerError
from .address import Secret
from .ledger import Ledger


class LedgerArgument:
    """An attribute that holds a `Ledger` where an address is set.

    Nothing is refused when it is set, as scikit-learn wants it: what is neither is kept for
    `check_ledger` to refuse, and a text that is no address is kept as a secret, since it may be one
    with a slip in it.
    """

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
        vars(owner)[self._name] = _kept(value) if isinstance(value, str) else value


def _kept(text: str) -> Ledger | Secret:
    try:
        return Ledger(text)
    except LedgerError:
        return Secret(text)
