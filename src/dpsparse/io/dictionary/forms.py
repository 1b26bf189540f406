"""Declared values in one plain form, however they were written; what makes no sense stays as it was given."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta

from ...rows.cells import EPOCH, FALSE, TRUE, parse_bool, parse_date, parse_label, parse_number
from .formats import Plain


def flag(value: object) -> object:
    """A truth value, or what was given."""
    if value is None:
        return False
    word = value.strip().lower() if isinstance(value, str) else value
    return word in TRUE if isinstance(word, str) and word in TRUE | FALSE else value


def end(value: object, kind: str | None) -> object:
    """One end of bounds in its plain form, or as it was given."""
    if kind == "date":
        return iso(value)
    found = parse_number(value)
    return value if kind not in ("number", None) or math.isnan(found) or isinstance(value, bool) else found


def iso(value: object) -> object:
    """A date as ISO 8601 text, or what was given."""
    found = parse_date(value)
    if math.isnan(found):
        return value
    if found.is_integer():
        return (date.fromordinal(EPOCH) + timedelta(days=found)).isoformat()
    return value if isinstance(value, str) else str(value)


def fill(value: object, kind: str | None) -> object:
    """The value for a gap in the plain form of its kind, or as it was given."""
    if kind == "date":
        return iso(value)
    if kind == "boolean":
        found = parse_bool(value)
        return value if math.isnan(found) else bool(found)
    if kind == "category":
        return value.strip() if isinstance(value, str) else parse_label(value) or value
    return end(value, kind)


def texts(value: object, *, single: bool = False) -> object:
    """A list of labels or other words as a tuple of text, or what was given; with `single` one word is a list of one."""
    if single and isinstance(value, str | int | float) and not isinstance(value, bool):
        value = [value]
    if not isinstance(value, Iterable) or isinstance(value, str | Mapping):
        return value
    days = (v.isoformat() if isinstance(v, date) else v for v in value)
    return tuple(v.strip() if isinstance(v, str) else parse_label(v) or repr(v) for v in days)


def plain(value: object) -> Plain:
    """As files keep it: whole numbers without a point."""
    if isinstance(value, tuple):
        return [plain(v) for v in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def format_value(bounds: Sequence[object]) -> str:
    """Bounds as messages show them."""
    return "[" + ", ".join(str(plain(end)) for end in bounds) + "]"


def either(words: Sequence[str]) -> str:
    """``a, b or c``."""
    return f"{', '.join(words[:-1])} or {words[-1]}"
