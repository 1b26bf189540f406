"""Single cells: what a value says, or nothing.

Guarantee
---------
No function here raises, warns or prints because of what a cell holds. A cell that cannot be
understood is a gap. Each looks at one cell and at public constants, so the result of a cell depends
on no other cell. How a value is stored does not matter: ``3``, ``3.0``, ``numpy.int8(3)`` and
``" 3 "`` are the same number and the same label. As labels, whole numbers are compared with all
their digits, also beyond 2^53; a float there stands for the whole number that it is, not for those
that were rounded to it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np

TRUE = frozenset(("true", "t", "yes", "y", "1"))
FALSE = frozenset(("false", "f", "no", "n", "0"))
#: Text that means a gap, as the readers of files have it.
GAPS = frozenset(("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "NaT", "<NA>"))
#: Characters of a cell that are looked at; no number, date or label that was declared is longer.
LONGEST_CELL = 1000
EPOCH = date(1970, 1, 1).toordinal()
SECONDS_OF_A_DAY = 86_400
#: From here on floats do not hold every whole number.
ROUNDED_FROM = 2.0**53
#: Values of which a float would be made, but which are no numbers of a table.
_NO_NUMBERS = (complex, np.complexfloating, np.datetime64, np.timedelta64)


def text_of(cell: object) -> str | None:
    """The text of a cell that is text, without surrounding space.

    None for other cells, and for text that is too long.
    """
    if isinstance(cell, bytes):
        cell = cell.decode("utf-8", "replace")
    return str(cell).strip() if isinstance(cell, str) and len(cell) <= LONGEST_CELL else None


def _text(cell: object) -> str | None:
    """The text of a cell that is text; None for other cells, and for text that means a gap."""
    stripped = text_of(cell)
    return None if stripped in GAPS else stripped


def cell_number(cell: object) -> float:
    """A number as any container or file holds it; NaN for anything else. Infinity is a number here.

    Examples
    --------
    >>> cell_number(" 12.5 "), cell_number(True), cell_number(b"inf"), cell_number("1_000"), cell_number(1j)
    (12.5, 1.0, inf, nan, nan)
    """
    try:
        if isinstance(cell, bytes):
            cell = cell.decode("utf-8", "replace")
        if isinstance(cell, str):  # float() strips blanks, and refuses whatever means a gap
            return math.nan if "_" in cell else float(cell)  # Python's own separator of digits, which no table means
        return math.nan if isinstance(cell, _NO_NUMBERS) else float(cell)  # type: ignore[arg-type]
    except Exception:  # any object may stand in a table, and its message is its own
        return math.nan


def parse_number(cell: object) -> float:
    """A number; NaN for a gap. What is infinite, too large for a float, or too long a text is a gap.

    Examples
    --------
    >>> parse_number("12.5"), parse_number(True), parse_number("alice@example.org")
    (12.5, 1.0, nan)
    """
    if isinstance(cell, str | bytes) and len(cell) > LONGEST_CELL:
        return math.nan
    value = cell if type(cell) is float else cell_number(cell)
    return value if math.isfinite(value) else math.nan


def exact(cell: object) -> int | float:
    """A number as labels are compared: from 2^53 on a whole number is an integer with all its digits; NaN for a gap.

    Examples
    --------
    >>> exact("9007199254740993"), exact(9007199254740993.0), exact(" 3 ")
    (9007199254740993, 9007199254740992, 3.0)
    """
    value = cell_number(cell)
    if not abs(value) >= ROUNDED_FROM:
        return value
    if math.isinf(value):
        return math.nan
    if isinstance(cell, int | np.integer):
        return int(cell)
    try:
        digits = Decimal(
            value if isinstance(cell, float | np.floating) else cell if isinstance(cell, Decimal) else str(_text(cell))
        )
        return int(digits) if int(digits) == digits else value
    except ArithmeticError:  # a number in words that Decimal does not know
        return value


def parse_date(cell: object) -> float:
    """Days since 1970-01-01, with the part of a day; NaN for a gap. Text is ISO 8601; a bare number is no date.

    Examples
    --------
    >>> parse_date("1970-01-02"), parse_date("1970-01-02T12:00"), parse_date("2023-99-99"), parse_date(20230101)
    (1.0, 1.5, nan, nan)
    """
    try:
        if isinstance(cell, np.datetime64):
            cell = cell.astype("datetime64[us]").item()
        elif not isinstance(cell, date):
            text = _text(cell)
            if text is None or not text[:5].endswith("-"):  # the extended form only: 20230101 may be a number
                return math.nan
            cell = datetime.fromisoformat(text)
        if isinstance(cell, datetime):
            if cell.tzinfo is not None:
                cell = cell.astimezone(UTC)
            seconds = (cell.hour * 60 + cell.minute) * 60 + cell.second + cell.microsecond / 1e6
            return cell.toordinal() - EPOCH + seconds / SECONDS_OF_A_DAY
        if isinstance(cell, date):
            return float(cell.toordinal() - EPOCH)
    except (ValueError, OverflowError, TypeError, AttributeError):
        pass
    return math.nan


def parse_bool(cell: object) -> float:
    """1 for true, 0 for false, NaN for a gap.

    Examples
    --------
    >>> parse_bool("Yes"), parse_bool(0.0), parse_bool("perhaps"), parse_bool(2)
    (1.0, 0.0, nan, nan)
    """
    value = parse_number(cell)
    if value in (0.0, 1.0):
        return value
    text = _text(cell)
    if text is None:
        return math.nan
    word = text.lower()
    return 1.0 if word in TRUE else 0.0 if word in FALSE else math.nan


def parse_label(value: object) -> str | None:
    """The text of a label as a dictionary declares it: whole numbers without a point; None without a text."""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | float | np.integer | np.floating | Decimal):
        found = exact(value)
        if math.isnan(found):
            return None
        return str(int(found)) if found == int(found) else repr(found)
    return _text(value)


class CategoryMatcher:
    """Which of the declared categories a cell is.

    Text is compared as text: first as it is, then, unless `cased`, in any case of letters. Only if
    that finds nothing, numbers are compared as numbers (``1.0`` is the category ``1``, as a column
    of numbers with gaps is often written), and truth values in any case of letters. Surrounding
    space never matters.

    Parameters
    ----------
    categories : tuple of str
    cased : bool
        Whether the case of letters matters.

    Examples
    --------
    >>> sexes = ("female", "male")
    >>> CategoryMatcher(sexes).find(" Female "), CategoryMatcher(sexes, cased=True).find("Female")
    (0, -1)
    """

    FOREIGN = -1
    GAP = -2

    def __init__(self, categories: tuple[str, ...], cased: bool = False) -> None:
        self._texts = {text: index for index, text in enumerate(categories)}
        self._folded = {} if cased else {text.casefold(): index for text, index in self._texts.items()}
        self._numbers: dict[int | float, int] = {}
        self._truths: dict[str, int] = {}
        for text, index in self._texts.items():
            value = exact(text)
            if not math.isnan(value):
                self._numbers.setdefault(value, index)
            if text.lower() in ("true", "false"):
                self._truths.setdefault(text.lower(), index)

    def find(self, cell: object) -> int:
        """Its place among the categories, `FOREIGN` for one that was not declared, or `GAP`."""
        if type(cell) is str and cell in self._texts:  # nearly every cell; the rest says the same, more slowly
            return self._texts[cell]
        text = parse_label(cell)
        if text is None:
            return self._declared_gap(cell)
        found = _look(self._texts, text)
        if found == self.FOREIGN:
            found = _look(self._folded, text.casefold())
        if found == self.FOREIGN:
            found = _look(self._truths, text.lower())
        if found == self.FOREIGN:
            value = exact(cell)
            if not math.isnan(value):
                found = self._numbers.get(value, self.FOREIGN)
        return found

    def _declared_gap(self, cell: object) -> int:
        """A category may be called ``NA`` or ``None``; then that text is no gap."""
        text = text_of(cell)
        if text is None:
            return self.GAP
        return self._texts.get(text, self._folded.get(text.casefold(), self.GAP))


def _look(places: Mapping[str, int], text: str) -> int:
    return places.get(text, CategoryMatcher.FOREIGN)
