"""Targets that come piece by piece, and may be labels or numbers: which they are is known only at the end.

Guarantee
---------
Where classes are declared when a file is opened, or the file declares its targets as texts, any
number of different targets is read, and what one of them becomes depends on no other. In a CSV file
without declared classes, a piece that brings more than `MOST_LABELS` different texts is stored as
numbers, and such a file cannot be fitted to classes that are texts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import DataError
from ..rows.cells import GAPS, LONGEST_CELL, ROUNDED_FROM, cell_number, exact
from ..rows.narrow import TYPES

#: How the table of a block file marks targets that are codes of labels.
CODED = 254
#: Texts that can be labels; with more of them, targets are numbers.
MOST_LABELS = 2**12
#: A number in digits, as most cells have it.
PLAIN_NUMBER = r"^-?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?$"


class Texts(Sequence[str]):
    """Cells of one column that are texts: **private**. What is made of a cell is made once for each different text.

    Parameters
    ----------
    cells : Arrow array of texts without gaps, or list of str
    """

    def __init__(self, cells: Any) -> None:
        self._cells = cells

    def __len__(self) -> int:
        return len(self._cells)

    def __getitem__(self, place: Any) -> Any:
        found = self.places[place]
        return [self.distinct[each] for each in found] if isinstance(place, slice) else self.distinct[found]

    @property
    def distinct(self) -> list[str]:
        """The different texts."""
        return self._coded[0]

    @property
    def places(self) -> NDArray[np.generic]:
        """For each cell, its text's place in `distinct`."""
        return self._coded[1]

    @cached_property
    def _coded(self) -> tuple[list[str], NDArray[np.generic]]:
        if isinstance(self._cells, list):
            codes: dict[str, int] = {}
            places = [codes.setdefault(text, len(codes)) for text in self._cells]
            return list(codes), np.array(places, dtype=np.intp)
        coded = self._cells.dictionary_encode()
        return coded.dictionary.to_pylist(), np.from_dlpack(coded.indices)

    def where(self, chosen: NDArray[np.bool_]) -> Texts:
        """Some of the cells."""
        if isinstance(self._cells, list):
            return Texts([self._cells[place] for place in np.flatnonzero(chosen)])
        return Texts(self._cells.filter(chosen))

    def plain_numbers(self) -> NDArray[np.float64]:
        """Numbers below 2^53 in plain digits, which pyarrow and Python read alike; NaN for every other cell."""
        if isinstance(self._cells, list):
            return np.full(len(self), np.nan)
        import pyarrow as pa
        from pyarrow import compute

        lengths = compute.binary_length(self._cells)
        try:  # all of them are, and no scalar is made, for which pyarrow imports pandas
            found = np.from_dlpack(self._cells.cast(pa.float64()))
            return np.where((np.from_dlpack(lengths) <= LONGEST_CELL) & (np.abs(found) < ROUNDED_FROM), found, np.nan)
        except pa.ArrowInvalid:
            nothing = pa.scalar(None, pa.string())
        usual = compute.and_(compute.greater(lengths, 0), compute.less_equal(lengths, LONGEST_CELL))
        try:
            found = compute.if_else(usual, self._cells, nothing).cast(pa.float64())
        except pa.ArrowInvalid:
            plain = compute.and_(usual, compute.match_substring_regex(self._cells, PLAIN_NUMBER))
            found = compute.if_else(plain, self._cells, nothing).cast(pa.float64())
        values = found.to_numpy(zero_copy_only=False)
        return np.where(np.abs(values) < ROUNDED_FROM, values, np.nan)

    def numbers(self) -> NDArray[np.float64]:
        """The number of each cell; NaN where it is not a number."""
        values = self.plain_numbers()
        others = np.isnan(values)
        if others.any():
            rest = self.where(others)
            values[others] = np.array([cell_number(text) for text in rest.distinct])[rest.places]
        return values


class LabelCodes:
    """Codes of the labels that came so far.

    Parameters
    ----------
    classes : sequence or None
        Labels that were declared: any other text is stored as none. None: texts are stored as they come.
    typed : bool
        Whether texts are declared as texts, so that they are never numbers.
    """

    def __init__(self, classes: Sequence[object] | None = None, *, typed: bool = False) -> None:
        self._codes: dict[str, int] = {}
        self._classes = None if classes is None else frozenset(classes)
        self._as_text = classes is None or any(isinstance(label, str) for label in classes)
        self._typed = typed

    @property
    def texts(self) -> list[str]:
        """The label of each code."""
        return list(self._codes)

    def coded(self, y: NDArray[np.generic] | Texts) -> NDArray[np.generic]:
        """Codes (32-bit integers) for texts; numbers as they are, and for texts that are too many to be labels."""
        if not isinstance(y, Texts):
            if y.dtype.kind not in "biuf":
                return self.coded(Texts(y.astype(str).tolist()))
            y = y.astype(np.int64) if y.dtype == np.int32 else y  # 32-bit integers are codes
            return y if y.dtype in TYPES else y.astype(float)
        many = self._classes is None and not self._typed and len({*self._codes, *y.distinct}) > MOST_LABELS
        if many:
            return y.numbers()
        kept = [text if self._declared(text) else "" for text in y.distinct]
        codes = [self._codes.setdefault(text, len(self._codes)) for text in kept]
        return np.asarray(np.array(codes, dtype=np.int32)[y.places])

    def _declared(self, text: str) -> bool:
        """Whether a text is one of the labels that are stored."""
        if self._classes is None:
            return True
        return (text if self._typed else text.strip() if self._as_text else exact(text)) in self._classes


@dataclass(frozen=True, eq=False, repr=False)
class TargetPart:
    """Targets of some rows: **private**.

    Attributes
    ----------
    values : array
        Numbers, or codes.
    texts : tuple of str or None
        What codes stand for; None for numbers.
    typed : bool
        Whether texts are texts, whatever they look like.
    """

    values: NDArray[np.generic]
    texts: tuple[str, ...] | None
    typed: bool

    @classmethod
    def of(cls, y: NDArray[np.generic] | Texts, typed: bool) -> TargetPart:
        """Targets as a stream gives them."""
        return cls(y.places, tuple(y.distinct), typed) if isinstance(y, Texts) else cls(y, None, typed)

    def numbers(self) -> NDArray[np.generic]:
        """As numbers; NaN for any other text. Python objects where floats would lose digits of a whole number."""
        if self.texts is None:
            return self.values
        found = [exact(text) for text in self.texts]
        kind = object if any(isinstance(number, int) for number in found) else float
        return np.asarray(np.array(found, dtype=kind)[self.values])


def joined_targets(parts: Sequence[TargetPart], meant: str, path: Path) -> NDArray[np.generic]:
    """Targets from their parts.

    Parameters
    ----------
    parts : sequence of TargetPart
    meant : {"numbers", "labels", "texts"}
        ``labels``: texts, or numbers if all of them are. ``numbers``, ``texts``: by declaration,
        whatever they look like.
    path : Path
    """
    if not parts:  # files without rows
        return np.zeros(0) if meant == "numbers" else np.zeros(0, dtype=str)
    coded = all(part.texts is not None for part in parts)
    if meant == "texts" and not coded:
        raise DataError(
            f"{path} stores its target as numbers, but classes are texts. List the numbers that stand for them."
        )
    typed = all(part.typed for part in parts)
    if meant == "numbers" and coded and typed:
        raise DataError(
            f"{path}: the target was expected to hold numbers, but is declared as something else. Encode it as numbers."
        )
    if meant == "numbers" or not coded:
        found = [part.numbers() for part in parts]
        if meant == "labels" and all(part.dtype.kind in "iub" for part in found):
            return np.concatenate(found)
        rounded = any(part.dtype == object or (part.dtype.kind in "iu" and _beyond_floats(part)) for part in found)
        return np.concatenate([np.zeros(0), *(part.astype(object) if rounded else part for part in found)])
    every = list(dict.fromkeys(text for part in parts for text in part.texts or ()))
    meanings = np.array(every, dtype=str) if typed else labels_of(every, meant == "texts", path)
    place = {text: number for number, text in enumerate(every)}
    return np.concatenate([meanings[[place[t] for t in part.texts or ()]][part.values] for part in parts])


def _beyond_floats(whole: NDArray[np.generic]) -> bool:
    """Whether floats would lose digits of whole numbers."""
    return bool(whole.size) and max(int(whole.max()), -int(whole.min())) > ROUNDED_FROM


def labels_of(text: Sequence[str], as_text: bool, path: Path) -> NDArray[np.generic]:
    """Labels as text.

    Where their type was not declared, as numbers if all of them are, and whole ones if they are
    that too.
    """
    if as_text:
        return np.array([t.strip() for t in text], dtype=str)
    numbers = [exact(t) for t in text]
    if all(map(math.isfinite, numbers)):
        if all(value == int(value) and abs(value) < 2**63 for value in numbers):
            return np.array([int(value) for value in numbers], dtype=np.int64)
        return np.array(numbers, dtype=float)
    if any(t.strip() in GAPS for t in text):
        raise DataError(f"{path}: the target has missing labels. Fill or drop them first, or declare the classes.")
    return np.array(text, dtype=str)
