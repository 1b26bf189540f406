"""The entry that a model file names, and whether a ledger answers for it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .exits import NotVerified, Refusal

if TYPE_CHECKING:
    from ..ledger import Entry, Ledger
    from ..privacy import Statement

#: How far what is stated may be from what the entry's bill gives: other versions of numpy and scipy round differently.
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Cited:
    """What a model file says of its payment: the citation, and the promise that it states."""

    record: Mapping[str, object]
    statement: Statement

    def check(self, book: Ledger) -> Entry:
        """The entry, if the ledger has it and it paid for this promise."""
        from ..privacy.errors import LedgerTamperedError

        entry = book.verify_citation(self.record)
        epsilon, delta, mu = self.statement.epsilon, self.statement.delta, self.statement.mu
        if not math.isfinite(epsilon):
            raise Refusal("the model states no epsilon. Save it again from the original.")
        price = entry.epsilon(delta)
        certified = price <= epsilon * (1 + TOLERANCE) or entry.bill.delta(epsilon) <= delta * (1 + TOLERANCE)
        if not certified:
            raise LedgerTamperedError(
                f"the model states epsilon = {epsilon:.6g} at delta = {delta:.3g}, and entry {entry.number} paid for {price:.6g}."
            )
        if math.isfinite(mu) and not math.isclose(entry.bill.mu(), mu, rel_tol=TOLERANCE):
            raise LedgerTamperedError(
                f"the model states mu = {mu:.6g}, and entry {entry.number} paid for {entry.bill.mu():.6g}: it is not the entry of this model."
            )
        return entry


def citation_in(path: Path) -> Cited:
    """The record in the statement of a model file whose digest fits."""
    from .. import load
    from ..privacy.errors import ModelEditedError

    try:
        statement = load(path).statement_
    except ModelEditedError as error:
        raise NotVerified(str(error)) from None
    if statement.ledger is None:
        raise Refusal(f"{path} names no entry of a ledger: it was fitted without one.")
    return Cited(statement.ledger, statement)
