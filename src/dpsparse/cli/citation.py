"""The entry that a model file names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .exits import NotVerified, Refusal

if TYPE_CHECKING:
    from ..ledger.cited import Cited


def citation_in(path: Path) -> Cited:
    """The record in the statement of a model file whose checksum matches."""
    from .. import load
    from ..core.errors import ModelEditedError
    from ..ledger.cited import Cited

    try:
        statement = load(path).statement_
    except ModelEditedError as error:
        raise NotVerified(str(error)) from None
    if statement.ledger is None:
        raise Refusal(f"{path} names no entry of a ledger: it was fitted without one.")
    return Cited(statement.ledger, statement)
