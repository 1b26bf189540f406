r"""Whose rows are whose: ids, the units of privacy that they name, and the weight of each row.

A unit is all rows with the same id: a patient, a household, a firm. What neighbours differ in is
then one unit, with any number of rows.

Guarantee
---------
*Ids.* An id becomes a text, and the text a digest of 16 bytes, which stands for it from here on.
Two ids that could be one are one: text is stripped, and 7, 7.0, "7" and "7.0 " are the same. Two
persons under one id are protected as one; one person under two ids is not protected as one. A row
without an id is no part of the data and is ignored.

*Rows of a unit.* The first `MOST_ROWS` rows of an id count, the others are no part of the data. A
unit stands in one block of one part, and never crosses into another. Units are ordered by digest, so
that neither their numbers nor the bytes of a fit depend on the order in which rows came.

*Weights.* With k rows that are present, each has the weight :math:`W/2^{20}` for
:math:`W = \lfloor 2^{20}/k\rfloor`: those of a unit sum to at most 1, and k is a function of the unit
alone. (Rounded to the nearest, they would sum to up to 1.0023.)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b
from itertools import pairwise
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from ..core.errors import DataError
from ..core.facts import Vector

Indices = NDArray[np.intp]
#: Rows of one id that count: as many as a block holds.
MOST_ROWS = 2**16
#: Weights are whole numbers of one over this.
WEIGHTS = 2**20
#: Whole numbers, as floats or tables write them.
_WHOLE = re.compile(r"([+-]?\d+)\.0*")


class Units:
    """The unit of each row: **private**, but for their number under replace-one.

    Parameters
    ----------
    digests : array of uint64 of shape (rows, 2)
    known : array of bool of shape (rows,)
        Whether the row has an id.
    """

    def __init__(self, digests: NDArray[np.uint64], known: NDArray[np.bool_]) -> None:
        self.digests, self.known = digests, known
        order = np.lexsort((digests[:, 1], digests[:, 0]))  # stable: rows of a unit stay in their order
        order = order[known[order]]
        there = digests[order]
        starts = np.flatnonzero(np.r_[True, np.any(there[1:] != there[:-1], axis=1)][: order.size])
        place = np.arange(order.size) - np.repeat(starts, lengths_of(starts, order.size))
        self.order: Indices = order[place < MOST_ROWS]
        kept = np.minimum(lengths_of(starts, order.size), MOST_ROWS)
        self.starts: Indices = (np.cumsum(kept) - kept).astype(np.intp)

    @property
    def count(self) -> int:
        """How many units there are."""
        return self.starts.size

    @property
    def names(self) -> list[bytes]:
        """The digest of each unit, in their order."""
        return [row.tobytes() for row in self.digests[self.order[self.starts]]]

    def of_units(self, values: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """A truth of each unit, for each row as it came; False for rows that are no part of the data."""
        found = np.zeros(self.known.size, dtype=bool)
        found[self.order] = np.repeat(values, lengths_of(self.starts, self.order.size))
        return found

    def take(self, which: Indices | slice | NDArray[np.bool_]) -> Units:
        """The units of some of the rows."""
        return Units(self.digests[which], self.known[which])

    def __repr__(self) -> str:
        return "Units()"

    def __reduce__(self) -> NoReturn:
        raise TypeError("private ids are not copied or stored.")


def read_units(given: object, n_rows: int, *, some: bool = True) -> Units:
    """The unit of each row, from one id for each; refuses another number of them, and data without any.

    Parameters
    ----------
    given : array-like of text or whole numbers
    n_rows : int
    some : bool
        False for a part of the rows, which may hold none with an id.
    """
    try:
        ids = np.asarray(given, dtype=object)
    except Exception:  # whatever a user's object raises could hold a value
        ids = np.empty((), dtype=object)
    if ids.shape != (n_rows,):
        raise DataError("units must hold one id for each row: a column of text or whole numbers, as long as y.")
    digests, known = np.zeros((n_rows, 2), dtype=np.uint64), np.zeros(n_rows, dtype=bool)
    seen: dict[str, NDArray[np.uint64]] = {}
    for row, cell in enumerate(ids.tolist()):
        text = id_text(cell)
        if text:
            if text not in seen:
                word = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
                seen[text] = np.frombuffer(word, dtype=np.uint64)
            digests[row], known[row] = seen[text], True
    if some and not seen:
        raise DataError("units must hold an id for at least one row.")
    return Units(digests, known)


def id_text(cell: object) -> str:
    """An id as text; empty for a gap, NaN, a text of blanks.

    Examples
    --------
    >>> [id_text(cell) for cell in (7, 7.0, "7 ", "7.0", "A7", None, float("nan"), "")]
    ['7', '7', '7', '7', 'A7', '', '', '']
    """
    try:
        if cell is None or cell != cell:  # noqa: PLR0124  NaN and the like are unlike themselves
            return ""
        if isinstance(cell, float) and cell.is_integer():
            return str(int(cell))
        text = str(cell).strip()
        whole = _WHOLE.fullmatch(text)
        return whole[1] if whole else "" if text in ("nan", "NaN", "NaT", "<NA>", "None") else text
    except Exception:  # a whole number of more than 4300 digits has no text, and pandas.NA no truth
        return ""


def lengths_of(starts: Indices, rows: int) -> Indices:
    """How many rows each unit has."""
    return np.asarray(np.diff(np.r_[starts, rows]), dtype=np.intp)


def weights_of(starts: Indices, counts: Vector) -> Vector:
    """The weight of each row: one over the rows of its unit that count, rounded down; 0 where it does not count."""
    if not starts.size:
        return np.zeros(counts.size)
    rows = np.add.reduceat(counts, starts)
    weight = np.floor(WEIGHTS / np.maximum(rows, 1.0)) / WEIGHTS
    return np.asarray(np.repeat(weight, lengths_of(starts, counts.size)) * counts)


def cut_at(starts: Indices, rows: int, edges: Sequence[int]) -> list[int]:
    """Edges between rows, each moved on to the next first row of a unit; every one once."""
    ends = np.r_[starts, rows]
    return sorted({int(ends[np.searchsorted(ends, edge)]) for edge in edges})


def pieces_of(starts: Indices, rows: int, most: int) -> list[tuple[int, int]]:
    """Ranges of rows that hold whole units, of about `most` rows, or one unit."""
    return list(pairwise(cut_at(starts, rows, [*range(0, rows, max(1, most)), rows])))
