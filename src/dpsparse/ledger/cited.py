"""The entry that a statement cites, and whether a ledger answers for it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ..core import DataError, Statement
from ..core.errors import LedgerTamperedError
from .entries import Entry
from .ledger import Ledger
from .names import is_seeded

#: How far what is stated may be from what the entry's bill gives: other versions of numpy and scipy round differently.
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Cited:
    """What a model file says of its payment: the citation, and the guarantee that it states."""

    record: Mapping[str, object]
    statement: Statement

    def check(self, book: Ledger) -> Entry:
        """The entry that is cited.

        Refuses a ledger that does not hold it, and an entry that paid for another guarantee or for noise from a seed.
        """
        entry = book.verify_citation(self.record)
        epsilon, delta, mu = self.statement.epsilon, self.statement.delta, self.statement.mu
        if not math.isfinite(epsilon):
            raise DataError("the model states no epsilon. Save it again from the original.")
        price = entry.epsilon(delta)
        certified = price <= epsilon * (1 + TOLERANCE) or entry.bill.delta(epsilon) <= delta * (1 + TOLERANCE)
        if not certified:
            raise LedgerTamperedError(
                f"the model states epsilon = {epsilon:.6g} at delta = {delta:.3g}, and entry "
                f"{entry.number} paid for {price:.6g}."
            )
        if math.isfinite(mu) and not math.isclose(entry.bill.mu(), mu, rel_tol=TOLERANCE):
            raise LedgerTamperedError(
                f"the model states mu = {mu:.6g}, and entry {entry.number} paid for "
                f"{entry.bill.mu():.6g}: it is not the entry of this model."
            )
        if self.statement.private and is_seeded(entry.label):
            raise LedgerTamperedError(
                f"entry {entry.number} paid for noise that came from a seed, and the model claims to be private."
            )
        return entry
