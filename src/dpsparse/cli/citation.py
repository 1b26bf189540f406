"""The entry that a model file names, and whether a ledger answers for it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .exits import Refusal

#: Bytes of the largest model file that is read: 1 GiB holds more than ten million coefficients.
LARGEST = 1 << 30
#: How far what is stated may be from what the entry's bill gives: other versions of numpy and scipy round differently.
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Cited:
    """What a model file says of its payment: the citation, and the promise that it states."""

    record: Mapping[str, Any]
    statement: Mapping[str, Any]

    def check(self, book: Any) -> Any:
        """The entry, if the ledger has it and it paid for this promise."""
        from ..privacy.errors import LedgerTamperedError

        entry = book.verify_citation(self.record)
        epsilon, delta, mu = (self._number(name) for name in ("epsilon", "delta", "mu"))
        if epsilon is None or delta is None:
            raise Refusal("the model states no epsilon and delta. Save it again from the original.")
        price = entry.epsilon(delta)
        certified = price <= epsilon * (1 + TOLERANCE) or entry.bill.delta(epsilon) <= delta * (1 + TOLERANCE)
        if not certified:
            raise LedgerTamperedError(
                f"the model states epsilon = {epsilon:.6g} at delta = {delta:.3g}, and entry {entry.number} paid for {price:.6g}."
            )
        if mu is not None and not math.isclose(entry.bill.mu(), mu, rel_tol=TOLERANCE):
            raise LedgerTamperedError(
                f"the model states mu = {mu:.6g}, and entry {entry.number} paid for {entry.bill.mu():.6g}: it is not the entry of this model."
            )
        return entry

    def _number(self, name: str) -> float | None:
        value = self.statement.get(name)
        return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def citation_in(path: Path) -> Cited:
    """Read the record of a model file, as its own field or in its statement."""
    content = _json(path)
    statement = content.get("statement")
    stated: dict[str, Any] = statement if isinstance(statement, dict) else {}
    record = content.get("ledger") or stated.get("ledger")
    if not isinstance(record, dict):
        raise Refusal(f"{path} names no entry of a ledger: it was fitted without one, or is not a model.")
    return Cited(record, stated)


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise Refusal(f"{path} is not an ordinary file. Name a model that was saved.")
    if path.stat().st_size > LARGEST:
        raise Refusal(f"{path} is too large for a model.")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise Refusal(f"{path} is not a dpsparse model.")
    return content
