"""A page about a ledger: what was guaranteed about each dataset, what is left, and whether the book is in order."""

from __future__ import annotations

from typing import Any

from ..core.errors import LedgerTamperedError
from ..ledger import Ledger
from .page import render


def ledger_page(ledger: Ledger) -> str:
    """Every dataset with its total, what was spent, what is left, and its entries.

    Whether all of it verifies comes first.
    """
    try:
        verified, problem = ledger.verify(), ""
    except LedgerTamperedError as error:
        return render("ledger.html", {"verified": None, "problem": str(error), "identity": "", "datasets": []})
    datasets: list[dict[str, Any]] = []
    for name in ledger.datasets():
        entries = [
            {
                "number": entry.number,
                "label": entry.label,
                "time": entry.time,
                "status": entry.status,
                "run": entry.run_id,
                "epsilon": entry.epsilon(max(ledger.total(name).delta, 0.0)),
            }
            for entry in ledger.entries(name)
        ]
        total, spent = ledger.total(name), ledger.spent(name)
        datasets.append(
            {
                "name": name,
                "adjacency": str(ledger.describe(name).adjacency),
                "total": total,
                "spent": spent,
                "remaining": ledger.remaining(name),
                "part": min(1.0, spent.epsilon / total.epsilon) if total.epsilon else 1.0,
                "entries": entries,
            }
        )
    values = {"verified": verified, "problem": problem, "identity": ledger.identity(), "datasets": datasets}
    return render("ledger.html", values)
