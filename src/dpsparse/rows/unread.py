"""Which cells of a table were not understood: kept beside encoded rows, for a priced count.

Guarantee
---------
A row has one bit for each declared column. Anyone who encodes a row sets them from that row and public
rules alone; whatever they hold, a record adds zeros and ones to the count (`queries.tallies`). They
are not printed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.facts import Vector

Bits = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class CheckedColumns:
    """The columns of a table whose cells are checked: public.

    Attributes
    ----------
    names : tuple of str
    owners : array of int of shape (n_features,)
        The number of the column that each encoded feature comes from.
    filled : array of shape (n_features,)
        What each encoded feature holds where the cell of its column was not understood.
    """

    names: tuple[str, ...]
    owners: NDArray[np.intp]
    filled: Vector


class UnreadCells:
    """For each row and each checked column whether the cell was not understood: **private**.

    Parameters
    ----------
    columns : CheckedColumns
    bits : array of uint8 of shape (rows, bytes)
        Eight columns to a byte, as `numpy.packbits` has them.
    """

    def __init__(self, columns: CheckedColumns, bits: Bits) -> None:
        self.columns = columns
        self.bits = bits

    @classmethod
    def of(cls, columns: CheckedColumns, flags: Sequence[NDArray[np.bool_]]) -> UnreadCells:
        """From one array of flags for each column."""
        return cls(columns, np.packbits(np.column_stack(flags), axis=1))

    def take(self, which: Any) -> UnreadCells:
        """Those of some rows, by a slice or by their numbers."""
        return UnreadCells(self.columns, self.bits[which])

    def with_column(self, name: str, flags: NDArray[np.bool_]) -> UnreadCells:
        """With those of one more column, which is no feature."""
        found = self.columns
        more = CheckedColumns((*found.names, name), found.owners, found.filled)
        return UnreadCells(more, np.packbits(np.column_stack([self._flags(), flags]), axis=1))

    def _flags(self) -> Bits:
        return np.unpackbits(self.bits, axis=1, count=len(self.columns.names))

    @classmethod
    def below(cls, parts: Sequence[UnreadCells]) -> UnreadCells:
        """Those of the rows of several tables with the same columns, one below the other."""
        return cls(parts[0].columns, np.concatenate([part.bits for part in parts]))

    @classmethod
    def beside(cls, parts: Sequence[UnreadCells]) -> UnreadCells:
        """Those of the same rows in several tables, side by side."""
        before = np.cumsum([0, *(len(part.columns.names) for part in parts)])
        columns = CheckedColumns(
            tuple(name for part in parts for name in part.columns.names),
            np.concatenate([part.columns.owners + start for part, start in zip(parts, before, strict=False)]),
            np.concatenate([part.columns.filled for part in parts]),
        )
        return cls(columns, np.packbits(np.column_stack([part._flags() for part in parts]), axis=1))

    def __repr__(self) -> str:
        return f"UnreadCells({len(self.columns.names)} columns)"

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """Stored and copied rows forget it: it is private."""
        return type(None), ()


def unread_of(X: object, rows: int) -> UnreadCells | None:
    """What rows say about their cells; None for rows that say nothing, or that are of another number."""
    found = getattr(X, "unread_cells", None)
    return found if isinstance(found, UnreadCells) and found.bits.shape[0] == rows else None
