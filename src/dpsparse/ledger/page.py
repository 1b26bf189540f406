"""A ledger as a little HTML table: what each dataset has, has used and has left."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from ..core.errors import LedgerError

if TYPE_CHECKING:
    from .ledger import Ledger

HEAD = "".join(f"<th>{word}</th>" for word in ("dataset", "total", "used", "left", "entries"))


def ledger_content(ledger: Ledger) -> str:
    """All datasets of a ledger; where it cannot be read, its name and why. Addresses are shown without passwords."""
    name = html.escape(repr(ledger))
    try:
        rows = [
            (
                dataset,
                ledger.total(dataset),
                ledger.spent(dataset),
                ledger.remaining(dataset),
                len(ledger.entries(dataset)),
            )
            for dataset in ledger.datasets()
        ]
    except LedgerError as error:
        return f"<div><p>{name}</p><p>{html.escape(str(error))}</p></div>"
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<div><p>{name}</p><table><tr>{HEAD}</tr>{body}</table></div>"
