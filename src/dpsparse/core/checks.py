"""Checks of arguments: one form, and one form of message.

Each check takes a value and the name that the user knows it by, and returns the value in its plain type, or refuses:
``NAME must be WHAT, got VALUE.`` Arguments are public, so a message may repeat them; no check here may be used on data.

The end of the file has the word for the unit of privacy: `unit_name` checks it, `unit_phrase` is its form in
statements.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

#: What a check raises; callers name a subclass.
Refusal = type[ValueError]


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a finite number; truth values do not count."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and bool(np.isfinite(value))


def is_whole(value: object) -> TypeGuard[int]:
    """Whether a value is an integer; truth values and floats do not count."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def all_finite(value: object) -> bool:
    """Whether every number that a value holds is finite: in lists, dictionaries, arrays and records too.

    Examples
    --------
    >>> all_finite({"bounds": [0.0, 1.0], "name": "age"}), all_finite([1.0, float("inf")])
    (True, False)
    """
    if isinstance(value, str):  # names of many columns, mostly
        return True
    if isinstance(value, float | np.floating):
        return bool(np.isfinite(value))
    if isinstance(value, np.ndarray):
        return value.dtype.kind not in "fc" or bool(np.all(np.isfinite(value)))
    if isinstance(value, Mapping):
        return all(map(all_finite, value.values()))
    if isinstance(value, list | tuple):
        return all(map(all_finite, value))
    if is_dataclass(value) and not isinstance(value, type):
        return all(all_finite(getattr(value, field.name)) for field in fields(value))
    return True


def number(value: object, name: str, *, error: Refusal = ValueError) -> float:
    """A finite number.

    Examples
    --------
    >>> number(2, "target_center")
    2.0
    >>> number("2", "target_center")
    Traceback (most recent call last):
    ValueError: target_center must be a finite number, got '2'.
    """
    if not is_number(value):
        raise refusal(name, "a finite number", value, error)
    return float(value)


def positive(
    value: object, name: str, *, least: float = 0.0, most: float = math.inf, error: Refusal = ValueError
) -> float:
    """A positive finite number, at least `least` and at most `most`."""
    if not is_number(value) or not value > 0:
        raise refusal(name, "one positive finite number", value, error)
    if float(value) < least:
        raise error(f"{name} must be at least {least:g}, got {value!r}. Give the data in other units.")
    if float(value) > most:
        raise error(f"{name} must be at most {most:g}, got {value!r}.")
    return float(value)


def non_negative(value: object, name: str, *, error: Refusal = ValueError) -> float:
    """A finite number that is not negative."""
    if not is_number(value) or not value >= 0:
        raise refusal(name, "a non-negative number", value, error)
    return float(value)


def fraction(value: object, name: str, *, ends: bool = False, error: Refusal = ValueError) -> float:
    """A number between 0 and 1; with `ends`, also 0 and 1 themselves."""
    if not is_number(value) or not (0 <= value <= 1 if ends else 0 < value < 1):
        raise refusal(name, "a number in [0, 1]" if ends else "a number strictly between 0 and 1", value, error)
    return float(value)


def whole(value: object, name: str, *, least: int = 1, error: Refusal = ValueError) -> int:
    """An integer that is at least `least`.

    Examples
    --------
    >>> whole(True, "n_rows")
    Traceback (most recent call last):
    ValueError: n_rows must be a positive integer, got True.
    """
    if not is_whole(value) or value < least:
        what = {0: "a non-negative integer", 1: "a positive integer"}.get(least, f"an integer of at least {least}")
        raise refusal(name, what, value, error)
    return int(value)


#: Bytes of each unit that an amount of memory is given in.
MEMORY_UNITS = {
    "": 1,
    "b": 1,
    **{f"{k}{end}": size**n for end, size in (("b", 1000), ("ib", 1024)) for n, k in enumerate("kmgt", 1)},
}


def truth(value: object, name: str, *, error: Refusal = ValueError) -> bool:
    """True or False, of Python or of numpy.

    Examples
    --------
    >>> truth("no", "sparse")
    Traceback (most recent call last):
    ValueError: sparse must be True or False, got 'no'.
    """
    if not isinstance(value, bool | np.bool_):
        raise refusal(name, "True or False", value, error)
    return bool(value)


def memory(value: object, name: str, *, error: Refusal = ValueError) -> int:
    """An amount of memory in bytes: a whole number, or a text such as ``"2GB"`` or ``"512 MiB"``.

    Examples
    --------
    >>> memory("2GB", "memory_limit"), memory("1.5 MiB", "memory_limit"), memory(10**9, "memory_limit")
    (2000000000, 1572864, 1000000000)
    """
    text = str(value) if is_whole(value) else value
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)\s*", text.lower()) if isinstance(text, str) else None
    if found is None or found[2] not in MEMORY_UNITS or not 1 <= float(found[1]) * MEMORY_UNITS[found[2]] < 2**63:
        raise refusal(name, "an amount of memory such as '2GB', or a number of bytes", value, error)
    return int(float(found[1]) * MEMORY_UNITS[found[2]])


def one_of(value: object, name: str, known: Iterable[str], *, error: Refusal = ValueError) -> str:
    """One of some words.

    Examples
    --------
    >>> one_of("exakt", "noise", ("lattice", "exact"))
    Traceback (most recent call last):
    ValueError: noise must be one of 'lattice', 'exact', got 'exakt'.
    """
    words = tuple(known)
    if not isinstance(value, str) or value not in words:
        raise refusal(name, f"one of {', '.join(map(repr, words))}", value, error)
    return value


def numbers(value: object, name: str, length: int, *, error: Refusal = ValueError) -> float | NDArray[np.float64]:
    """One finite number, or one for each of `length` features; a copy, since the caller's array may change later."""
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise refusal(name, "a number or one number per feature", value, error) from None
    if not np.all(np.isfinite(array)):
        raise error(f"{name} must be finite, got {value!r}.")
    if array.ndim == 0:
        return float(array)
    if array.shape != (length,):
        raise error(f"{name} must be a number or have one entry per feature ({length}), got shape {array.shape}.")
    return array


def vector(value: object, name: str, length: int, *, error: Refusal = ValueError) -> NDArray[np.float64]:
    """Finite numbers, one for each of `length` features; a copy."""
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        array = np.zeros(0)
    if array.shape != (length,) or not np.all(np.isfinite(array)):
        raise error(f"{name} must hold {length} finite numbers, one per feature.")
    return array


def refusal(name: str, what: str, value: object, error: Refusal = ValueError) -> ValueError:
    """The one form of message."""
    return error(f"{name} must be {what}, got {value!r}.")


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
