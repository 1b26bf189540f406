"""Words for the unit of privacy: one row, or all rows of what has one id."""

from __future__ import annotations

import re

#: The unit where every row is a record, and the word for units whose kind was not named.
ROW, PERSON = "row", "person"
_WORD = re.compile(r"[^\W\d_][^\W\d_ -]*(?:[ -][^\W\d_]+)*", re.UNICODE)


def unit_name(given: object) -> str:
    """The word for a unit of privacy, as a user gives it; None: a row. Public, a few plain words."""
    if given is None:
        return ROW
    if not isinstance(given, str) or not _WORD.fullmatch(given) or given in (ROW, "one row"):
        raise ValueError(
            "unit must be a short name of what has one id, such as unit='patient': letters, blanks and hyphens, and "
            f"another word than 'row', got {given!r}."
        )
    return given


def unit_phrase(unit: str) -> str:
    """What statements call the unit of privacy.

    Examples
    --------
    >>> unit_phrase("patient"), unit_phrase("row")
    ('one patient: all rows with the same id', 'one row')
    """
    return f"one {unit}" if unit == ROW else f"one {unit}: all rows with the same id"
