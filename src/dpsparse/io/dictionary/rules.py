"""How the cells of one column are read, by the rules that its dictionary declares.

Guarantee
---------
Each cell is read by itself and by public constants; no function here raises, warns or prints
because of what a cell holds. What is read of a cell, and whether it was understood, is a function
of that cell and of the column's description.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...rows.cells import GAPS, CategoryMatcher, exact, parse_bool, parse_date, parse_label, parse_number, text_of
from ..labels import Texts

if TYPE_CHECKING:
    from .column import Column

#: Cells of one column: floats where it is stored as numbers, otherwise any values.
Cells = Sequence[object] | NDArray[np.float64]
Flags = NDArray[np.bool_]

DECIMALS = (".", ",")
#: What may stand between groups of three digits, by the name that a dictionary gives it.
THOUSANDS = {",": ",", ".": r"\.", "'": "['\u2019]", "space": "[ \u00a0\u2009\u202f]"}
#: What becomes of ``<0.5`` and of ``>100``.
BELOW, ABOVE = ("limit", "half", "missing"), ("limit", "missing")
_CENSORED = re.compile(r"(<=|<|\u2264|>=|>|\u2265)\s*")
#: Friendly parts of a date format, the longer ones first, and what `datetime.strptime` calls them.
_FRIENDLY = (
    ("YYYY", "%Y"),
    ("YY", "%y"),
    ("MM", "%m"),
    ("DD", "%d"),
    ("HH", "%H"),
    ("hh", "%H"),
    ("mm", "%M"),
    ("ss", "%S"),
)
#: Directives that mean the same on every machine: no names of months, which follow the locale.
_DIRECTIVES = frozenset("YymdHMSfj%")
ISO = "ISO"
#: Different texts of dates that are remembered; reading one takes 50 times as long as finding it again.
_REMEMBERED = 4096


# ------------------------------------------------------------------------------------------------ dates


def strptime_format(form: str) -> str | None:
    """A declared date format as `datetime.strptime` takes it; None for one that is not supported.

    Examples
    --------
    >>> strptime_format("DD.MM.YYYY"), strptime_format("%d/%m/%y"), strptime_format("DD. MMM"), strptime_format("%b %Y")
    ('%d.%m.%Y', '%d/%m/%y', None, None)
    """
    found = form
    if "%" not in form:
        for friendly, directive in _FRIENDLY:
            found = found.replace(friendly, directive)
    directives = re.findall(r"%(.?)", found, re.DOTALL)
    letters = re.sub(r"%.", "", found)
    once = len(set(directives)) == len(directives)
    known = _DIRECTIVES.issuperset(directives) and once and not re.search(r"[^\WT_]", letters)
    year = ("Y" in directives) != ("y" in directives)
    whole = "d" not in directives or "m" in directives
    if not (known and year and whole):
        return None
    try:  # a round trip says whether the parts can be distinguished
        moment = datetime(2001, 2, 3, 4, 5, 6)
        datetime.strptime(moment.strftime(found), found)
    except ValueError:
        return None
    return found


def _date_reader(formats: tuple[str, ...]) -> Callable[[object], float]:
    """Days since 1970-01-01 by declared formats; ISO 8601 without formats. Typed dates need no format."""
    if not formats:
        return parse_date
    forms = [form if form == ISO else strptime_format(form) for form in formats]

    @lru_cache(_REMEMBERED)
    def read_text(text: str) -> float:
        for form in forms:
            try:
                value = parse_date(text) if form in (ISO, None) else parse_date(datetime.strptime(text, str(form)))
            except (ValueError, OverflowError):
                continue
            if not math.isnan(value):
                return value
        return math.nan

    def read(cell: object) -> float:
        if isinstance(cell, date | np.datetime64):
            return parse_date(cell)
        text = parse_label(cell)  # a whole number such as 19840823 has a text, too
        return math.nan if text is None else read_text(text)

    return read


# ------------------------------------------------------------------------------------------------ numbers


@cache
def _written(decimal: str, thousands: str | None) -> re.Pattern[str]:
    """Numbers with this decimal mark, and with groups of three digits where a mark for them is declared."""
    whole = r"\d+" if thousands is None else rf"(?:\d{{1,3}}(?:{THOUSANDS[thousands]}\d{{3}})+|\d+)"
    point = re.escape(decimal)
    return re.compile(rf"([+-]?)({whole})?(?:{point}(\d*))?([eE][+-]?\d+)?", re.ASCII)


def _plain_text(text: str, decimal: str, thousands: str | None) -> str | None:
    """A number as text, with a point as its decimal mark and without marks of thousands; None for anything else."""
    if decimal == "." and thousands is None:
        return text
    found = _written(decimal, thousands).fullmatch(text)
    if found is None or not (found[2] or found[3]):
        return None
    whole = re.sub(r"\D", "", found[2] or "0")
    return f"{found[1]}{whole}.{found[3] or '0'}{found[4] or ''}"


def _plain_number(text: str, decimal: str, thousands: str | None) -> float:
    """A number as text, by its decimal mark and the mark of thousands; NaN for anything else.

    Examples
    --------
    >>> _plain_number("1,804.02", ".", ","), _plain_number("1.804,02", ",", "."), _plain_number("12.5", ",", ".")
    (1804.02, 1804.02, nan)
    """
    plain = _plain_text(text, decimal, thousands)
    return math.nan if plain is None else parse_number(plain)


# ------------------------------------------------------------------------------------------------ a column


class CellReader:
    """How the cells of one column are read.

    Parameters
    ----------
    column : Column
        A complete description.

    Examples
    --------
    >>> from dpsparse.tables import Column
    >>> income = Column(name="income", kind="number", bounds=(0, 9000), thousands=",", below="half", missing=["-9"])
    >>> values, unread = CellReader(income).values(["1,804.02", "<10", "-9", "n/a", "1.804,02"])
    >>> values.tolist(), unread.tolist()
    ([1804.02, 5.0, nan, nan, nan], [False, False, False, False, True])
    """

    def __init__(self, column: Column) -> None:
        self._column = column
        self._exact = column.match == "exact"
        self._decimal, self._thousands = column.decimal or ".", column.thousands
        self._gaps = GAPS if self._exact else frozenset(self._fold(word) for word in GAPS)
        codes = column.codes
        self._codes = frozenset(self._fold(code) for code in codes)
        # a dictionary may write a code as the column does, or as YAML does: 99,9 or 99.9, 01.01.1900 or 1900-01-01
        read = (value for code in codes for value in (exact(code), self._digits(code)))
        self._code_numbers = frozenset(value for value in read if not math.isnan(value))
        #: Numbers that `parse_number` reads, but for those behind < and >.
        self._simple = column.kind == "number" and column.decimal is None and column.thousands is None
        readers = {"number": self._number, "date": _date_reader(column.formats), "boolean": parse_bool}
        self._read = readers.get(str(column.kind), parse_number)
        days = (
            (value for code in codes for value in (parse_date(code), self._read(code))) if column.kind == "date" else ()
        )
        self._code_days = frozenset(value for value in days if not math.isnan(value))

    def values(self, cells: Cells) -> tuple[NDArray[np.float64], Flags]:
        """What numbers, dates or truth values say, NaN where they say nothing; and which were not understood."""
        if isinstance(cells, Texts):
            return self._texts(cells)
        if isinstance(cells, np.ndarray) and self._column.kind == "number":
            values = np.where(np.isfinite(cells), cells, np.nan)
            if self._code_numbers:
                values[np.isin(values, [float(code) for code in self._code_numbers if float(code) == code])] = np.nan
            return values, np.isinf(cells)
        listed = cells.tolist() if isinstance(cells, np.ndarray) else cells
        read = self._coded if self._codes else parse_number if self._simple else self._read
        values = np.fromiter(map(read, listed), dtype=float, count=len(listed))
        unread = np.isnan(values)
        for place in np.flatnonzero(unread).tolist():  # few cells; nearly all of them are gaps
            cell = listed[place]
            if self._is_gap(cell):
                unread[place] = False
            elif self._simple:
                values[place] = self._number(cell)
                unread[place] = math.isnan(values[place])
        return values, unread

    def _texts(self, cells: Texts) -> tuple[NDArray[np.float64], Flags]:
        """The same for texts: plain numbers all at once, and every other text once."""
        if not self._simple:
            values, unread = self.values(cells.distinct)
            return values[cells.places], unread[cells.places]
        plain = cells.plain_numbers()
        others = np.isnan(plain)
        values, unread = self.values(plain)
        if others.any():
            rest = cells.where(others)
            read, foreign = self.values(rest.distinct)
            values[others], unread[others] = read[rest.places], foreign[rest.places]
        return values, unread

    def places(self, cells: Cells) -> tuple[NDArray[np.intp], Flags]:
        """Places among the categories, `CategoryMatcher.FOREIGN` or `CategoryMatcher.GAP`.

        And which cells were not understood.
        """
        if isinstance(cells, Texts):
            found, foreign = self.places(cells.distinct)
            return found[cells.places], foreign[cells.places]
        listed = cells.tolist() if isinstance(cells, np.ndarray) else cells
        labels = CategoryMatcher(self._column.labels, self._exact)
        places = np.fromiter(map(labels.find, listed), dtype=np.intp, count=len(listed))
        unread = places < 0
        for place in np.flatnonzero(unread).tolist():
            if self._is_gap(listed[place]):
                places[place], unread[place] = CategoryMatcher.GAP, False
        return places, unread

    def unread(self, cells: Cells) -> Flags:
        """Which cells were not understood."""
        return (self.places(cells) if self._column.kind == "category" else self.values(cells))[1]

    # ---------------------------------------------------------------------------------------------- one cell

    def _coded(self, cell: object) -> float:
        return math.nan if self._is_code(cell) else self._read(cell)

    def _number(self, cell: object) -> float:
        text = text_of(cell)
        if text is None:
            return parse_number(cell)
        censored = _CENSORED.match(text)
        if censored is None:
            return _plain_number(text, self._decimal, self._thousands)
        rule = self._rule(censored[1])
        limit = _plain_number(text[censored.end() :], self._decimal, self._thousands)
        return {"limit": limit, "half": limit / 2}.get(str(rule), math.nan)

    def _rule(self, sign: str) -> object:
        """What was declared for ``<`` or ``>``."""
        return self._column.below if sign in ("<", "<=", "\u2264") else self._column.above

    def _is_code(self, cell: object) -> bool:
        """Whether it is one of the codes that mean missing.

        As text, as a number, or as a date, however it is written or stored.
        """
        text = text_of(cell)
        if text is not None and self._fold(text) in self._codes:
            return True
        if self._code_numbers and self._digits(cell) in self._code_numbers:
            return True
        return bool(self._code_days) and self._read(cell) in self._code_days

    def _digits(self, cell: object) -> int | float:
        """A number as codes are compared, by the marks of the column; by a point where they do not fit.

        NaN for a gap.
        """
        text = text_of(cell)
        plain = None if text is None else _plain_text(text, self._decimal, self._thousands)
        return exact(cell if plain is None else plain)

    def _is_gap(self, cell: object) -> bool:
        """Whether a cell that says nothing is a gap: empty, one of the words for it, or declared as missing."""
        if type(cell) is str and cell in self._gaps:  # nearly every gap; the rest says the same, more slowly
            return True
        if _nothing(cell) or self._is_code(cell):
            return True
        text = text_of(cell)
        if text is None:
            return False
        if self._fold(text) in self._gaps:
            return True
        censored = _CENSORED.match(text) if self._column.kind == "number" else None
        if censored is None or self._rule(censored[1]) != "missing":
            return False
        return not math.isnan(_plain_number(text[censored.end() :], self._decimal, self._thousands))

    def _fold(self, text: str) -> str:
        return text if self._exact else text.casefold()


def _nothing(cell: object) -> bool:
    """Whether a cell is the missing value of a library: None, NaN, NaT, NA."""
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(cell, np.datetime64 | np.timedelta64):
        return bool(np.isnat(cell))
    if isinstance(cell, Decimal):
        return cell.is_nan()
    return isinstance(cell, float | np.floating) and math.isnan(cell)
