r"""How columns become numbers, from public constants alone.

Numbers and dates are clipped to their bounds and mapped to :math:`[-1, 1]`; a category is one of
its indicators, or none; a truth value is 0 or 1. A gap takes the declared value, or zero, and one
more indicator where that is asked for.

Guarantee
---------
What comes out of a cell depends on that cell and on the dictionary. Everything is exactly rounded
arithmetic on single entries, so a row has the same bytes alone and beside any other rows. A
row has at most `row_norm` as its l2 norm: squares of columns add up, and one column has at most 1,
or the square of its filled value plus 1 for the indicator of a gap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...rows.cells import CategoryMatcher, parse_number
from ...rows.declared import ColumnBounds
from ...rows.shapes import NumberColumn
from ...rows.unread import CheckedColumns
from .column import GAP_LEVEL, Column
from .dictionary import Dictionary
from .frames import Table
from .rules import CellReader, Cells, Flags


@dataclass(frozen=True)
class Code:
    """The code of one column.

    Attributes
    ----------
    column : Column
    middle, half : float
        Numbers x become ``(x - middle) / half``. (0, 1) for what is not scaled.
    """

    column: Column
    middle: float = 0.0
    half: float = 1.0

    @classmethod
    def of(cls, column: Column) -> Code:
        """The code that a complete description implies."""
        return cls(column, *column.middle_and_half) if column.scaled else cls(column)

    @property
    def levels(self) -> tuple[str, ...]:
        """One for each output column: categories, or the empty text for the column itself; then that of a gap."""
        own = self.column.labels if self.category else ("",)
        return (*own, GAP_LEVEL) if self.column.gap_is_feature else own

    @property
    def category(self) -> bool:
        """Whether each label has a column of its own."""
        return self.column.kind == "category"

    @property
    def filled(self) -> float:
        """What a gap becomes: an encoded number, or the place of a category (`CategoryMatcher.GAP` for none)."""
        fill = self.column.fill
        if self.category:
            return CategoryMatcher.GAP if fill is None else self.column.labels.index(str(fill))
        value = 0.0 if fill is None else self.column.value(fill)
        return float(self._scale(np.array([value]))[0]) if self.column.scaled and fill is not None else value

    @property
    def unread(self) -> list[float]:
        """What each output column holds where the cell was not understood.

        A gap, or a label outside the categories.
        """
        levels = [0.0] * len(self.levels)
        if not self.category:
            levels[0] = self.filled
            levels[-1] = 1.0 if self.column.gap_is_feature else levels[-1]
        return levels

    @property
    def square(self) -> float:
        """The largest sum of squares of its output columns."""
        if not self.column.gap_is_feature:
            return 1.0
        full = float(self.filled >= 0) if self.category else self.filled**2
        return max(1.0, full + 1.0)

    @property
    def bounds(self) -> tuple[list[float], list[float]]:
        """Lowest and highest value of each output column."""
        size = len(self.levels)
        lower = [-1.0 if self.column.scaled else 0.0] * size
        if self.column.gap_is_feature:
            lower[-1] = 0.0
        return lower, [1.0] * size

    def _scale(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        scaled = (np.clip(values, self.middle - self.half, self.middle + self.half) - self.middle) / self.half
        return np.clip(scaled, -1.0, 1.0)

    def entries(self, cells: Cells) -> tuple[NDArray[np.intp], NDArray[np.float64], Flags, Flags]:
        """For each row: output column, entry, whether it is a gap, whether it is not understood.

        The output column is the one in which the row has an entry; -1: none.
        """
        reader = CellReader(self.column)
        if self.category:
            places, unread = reader.places(cells)
            gaps = places == CategoryMatcher.GAP
            places = np.where(gaps, np.intp(self.filled), places)
            return np.where(places < 0, -1, places), np.ones(places.size), gaps, unread
        values, unread = reader.values(cells)
        gaps = np.isnan(values)
        encoded = np.where(gaps, self.filled, self._scale(values) if self.column.scaled else values)
        return np.zeros(values.size, dtype=np.intp), encoded + 0.0, gaps, unread


class Codes:
    """The codes of all features of a dictionary, side by side.

    Parameters
    ----------
    dictionary : Dictionary
        A complete one.
    """

    def __init__(self, dictionary: Dictionary) -> None:
        self.codes = tuple(Code.of(column) for column in dictionary.features)
        sizes = [len(code.levels) for code in self.codes]
        self.starts = tuple(int(start) for start in np.concatenate([[0], np.cumsum(sizes)[:-1]]))
        self.width = int(sum(sizes))
        rate = None if dictionary.target is None else dictionary.target.base_rate
        self.base_rate = rate if isinstance(rate, float) else None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all output columns."""
        return tuple(name for code in self.codes for name in code.column.outputs)

    @property
    def density(self) -> float:
        """At most this part of the entries is not zero; from the dictionary alone."""
        entries = sum(1 + bool(code.column.gap_is_feature) for code in self.codes)
        return entries / self.width

    @property
    def checked(self) -> CheckedColumns:
        """The columns of the table, and which output columns come from each."""
        sizes = [len(code.levels) for code in self.codes]
        names = tuple(code.column.name for code in self.codes)
        filled = np.array([value for code in self.codes for value in code.unread])
        return CheckedColumns(names, np.repeat(np.arange(len(sizes)), sizes), filled)

    def entries(
        self, table: Table
    ) -> tuple[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]], list[Flags]]:
        """Row, column and value of all entries that may not be zero, and the cells of each column not understood."""
        rows, columns, values, unread = [], [], [], []
        for code, start in zip(self.codes, self.starts, strict=True):
            place, found, gaps, foreign = code.entries(table.cells(code.column.name))
            unread.append(foreign)
            used = np.flatnonzero((place >= 0) & (found != 0))
            rows.append(used)
            columns.append(start + place[used])
            values.append(found[used])
            if code.column.gap_is_feature:
                rows.append(np.flatnonzero(gaps))
                columns.append(np.full(rows[-1].size, start + len(code.levels) - 1))
                values.append(np.ones(rows[-1].size))
        return (np.concatenate(rows), np.concatenate(columns), np.concatenate(values)), unread

    def output_bounds(self) -> ColumnBounds:
        """Bounds of the output columns and of the norm of a row, and what else is declared about them."""
        pairs = [code.bounds for code in self.codes]
        lower = np.array([value for low, _ in pairs for value in low])
        upper = np.array([value for _, high in pairs for value in high])
        norm = math.sqrt(math.fsum(code.square for code in self.codes))
        return ColumnBounds(lower, upper, norm, self.numbers, self.groups, self.base_rate)

    @property
    def numbers(self) -> tuple[NumberColumn, ...]:
        """The output columns that hold numbers or dates, in the units of the table."""
        found = []
        for code, start in zip(self.codes, self.starts, strict=True):
            column = code.column
            if not column.scaled:
                continue
            low, high = column.limits
            found.append(
                NumberColumn(
                    start,
                    column.name,
                    low,
                    high,
                    unit=column.unit or ("days since 1970-01-01" if column.kind == "date" else ""),
                    shape=column.shape,
                    gap=start + 1 if column.gap_is_feature else None,
                    reference=None if column.reference is None else parse_number(column.reference),
                )
            )
        return tuple(found)

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Output columns that are kept and dropped together, where the dictionary declares groups."""
        found: dict[str, list[int]] = {}
        for code, start in zip(self.codes, self.starts, strict=True):
            if code.column.group is not None:
                found.setdefault(code.column.group, []).extend(range(start, start + len(code.levels)))
        return tuple(tuple(places) for places in found.values())

    @property
    def bends(self) -> bool:
        """Whether a column is declared to be something else than a line."""
        return any(code.column.shape not in (None, "line") for code in self.codes)
