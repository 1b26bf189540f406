"""svmlight: one line for each record, a target and pairs ``column:value``.

Lines are read some megabytes at a time. Where a piece has the plain form that programs write (one
blank between pairs, no comments), its targets and its pairs are parsed as two columns of CSV by
pyarrow, which is about ten times as fast as line by line; any other piece is read line by line.
Both give the same numbers and the same absent records.

Guarantee
---------
A record with a column that does not exist, that comes twice, or that cannot be read is absent: its
row is one NaN, which estimators refuse or ignore, as on_missing says. Its target stays,
and is NaN where it is no number; a record without a target and without pairs, such as a line of CSV
or one that is too long, is absent, too. Where the number of columns is declared, nothing else is
said about any of them, and what a record becomes does not depend on others. Where it is learned
from the records, which no guarantee covers, a file without a usable record is refused.
"""

from __future__ import annotations

import importlib.util
import io
import math
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..core.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

#: Bytes that are parsed at once, and the longest line that is read.
PIECE = 2**22
LONGEST_LINE = 2**28
#: Most columns that are counted.
WIDEST = 2**31 - 2

#: Longer targets are read line by line.
LONGEST_TARGET = 32

NEWLINE, BLANK, COLON, PLUS = b"\n :+"
#: Whether a byte may stand behind the plus of a number.
_BEHIND_PLUS = np.isin(np.arange(256), np.frombuffer(b"0123456789.", dtype=np.uint8))
#: Bytes of the plain form: digits, signs, points, exponents, pairs, blanks, ends of lines.
_PLAIN = b"0123456789+-.eE: \n"
_ONE_PAIR_A_LINE = bytes.maketrans(b" ", b"\n")

Piece = tuple[sp.csr_matrix, NDArray[np.float64]]


def read_pieces(file: IO[bytes], path: Path, n_features: int | None, zero_based: bool) -> Iterator[Piece]:
    """Rows and targets, some at a time.

    Parameters
    ----------
    file : binary file
    path : Path
    n_features : int or None
        Columns; None: as many as 32-bit numbers count. How many there are is then told by the
        records, which are private.
    zero_based : bool
        Whether columns are counted from 0.
    """
    width = WIDEST if n_features is None else n_features
    first = 0 if zero_based else 1
    fast = importlib.util.find_spec("pyarrow") is not None
    usable = tried = held = False
    for text in _lines(file):
        found = _fast(text, first, width) if fast else None
        piece, fine = _slow(text, first, width) if found is None else (found, True)
        usable, tried, held = usable or fine, tried or b":" in text, held or not np.isnan(piece[0].data).all()
        if piece[1].size:
            yield piece
    if n_features is not None:  # whether any record is usable is private
        return
    if not usable:
        raise DataError(
            f"{path} could not be read as svmlight: no record has its form. Write the file again, "
            "or correct its ending."
        )
    if tried and not held:
        hint = "" if zero_based else " If it counts its columns from 0, say so with zero_based=True."
        raise DataError(f"{path} holds no record with columns from {first} to {width + first - 1}.{hint}")


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """Whole lines, some megabytes at a time; each piece ends with a line's end.

    A line that is too long becomes an absent record.
    """
    rest = b""
    while more := file.read(PIECE):
        end = more.rfind(b"\n")
        if end < 0:
            rest += more
            if len(rest) > LONGEST_LINE:
                rest = b"nan #"  # no target, no pairs: what follows in the line is a comment
            continue
        yield rest + more[: end + 1]
        rest = more[end + 1 :]
    if rest:
        yield rest + b"\n"


def _fast(text: bytes, first: int, width: int) -> Piece | None:
    """A piece in the plain form; None for any other."""
    import pyarrow as pa

    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n")
    if text.translate(None, _PLAIN):
        return None
    codes = np.frombuffer(text, dtype=np.uint8)
    ends = np.flatnonzero(codes == NEWLINE)
    starts = np.concatenate([[0], ends[:-1] + 1])
    if np.any(ends == starts):  # empty lines
        kept = ends != starts
        starts, ends = starts[kept], ends[kept]
    blanks = np.append(np.flatnonzero(codes == BLANK), codes.size)
    stops = np.minimum(blanks[np.searchsorted(blanks, starts)], ends)  # a target ends at the first blank of its line
    lengths = stops - starts
    if not lengths.size or lengths.min() == 0 or lengths.max() > LONGEST_TARGET:
        return None
    colons = np.flatnonzero(codes == COLON)
    before = np.searchsorted(colons, np.stack([starts, stops, ends]))
    counts = before[2] - before[1]
    if np.any(before[1] != before[0]):  # a target with a colon
        return None
    targets = np.full((starts.size, lengths.max() + 1), NEWLINE, dtype=np.uint8)
    pairs = np.frombuffer(bytearray(text.translate(_ONE_PAIR_A_LINE)), dtype=np.uint8)
    for k in range(lengths.max()):
        own = np.flatnonzero(lengths > k)
        targets[own, k] = codes[starts[own] + k]
        pairs[starts[own] + k] = NEWLINE
    signed = np.flatnonzero(targets[:, 0] == PLUS)
    if not _BEHIND_PLUS[targets[signed, 1]].all():  # "+-1" and "++1" are no numbers
        return None
    targets[signed, 0] = NEWLINE  # "+1", which is no number to pyarrow
    try:
        y = _column(targets, {"y": pa.float64()})["y"].to_numpy()
        found = _column(pairs, {"column": pa.int64(), "value": pa.float64()}) if colons.size else None
    except pa.ArrowInvalid:
        return None
    if found is None:
        columns, values = np.zeros(0, dtype=np.int64), np.zeros(0)
        if np.any(pairs != NEWLINE):
            return None
    else:
        columns, values = found["column"].to_numpy(), found["value"].to_numpy()
    if y.size != starts.size or columns.size != colons.size:
        return None
    return _rows(columns, values, counts, y, first, width)


def _column(text: NDArray[np.uint8], kinds: dict[str, pa.DataType]) -> pa.Table:
    """Lines of numbers, one or two in each, by pyarrow; empty lines are nothing."""
    import pyarrow as pa
    from pyarrow import csv

    return csv.read_csv(
        pa.BufferReader(pa.py_buffer(np.ascontiguousarray(text).reshape(-1))),
        read_options=csv.ReadOptions(column_names=list(kinds), block_size=PIECE // 4),
        parse_options=csv.ParseOptions(delimiter=":", quote_char=False),
        convert_options=csv.ConvertOptions(column_types=kinds, null_values=[], strings_can_be_null=False),
    )


def _rows(
    columns: NDArray[np.int64],
    values: NDArray[np.float64],
    counts: NDArray[np.intp],
    y: NDArray[np.float64],
    first: int,
    width: int,
) -> Piece:
    """Rows of pairs in their order.

    Those with a column that does not exist or comes twice, or with neither pairs nor target, are
    one NaN.
    """
    columns = columns - first
    owner = np.repeat(np.arange(counts.size), counts)
    wrong = np.isnan(y) & (counts == 0)
    wrong[owner[(columns < 0) | (columns >= width)]] = True
    same = owner[1:] == owner[:-1]
    if np.any(same & (columns[1:] <= columns[:-1])):
        order = np.lexsort((columns, owner))
        columns, values = columns[order], values[order]
        wrong[owner[1:][same & (columns[1:] == columns[:-1])]] = True
    if wrong.any():
        kept, absent = ~wrong[owner], np.flatnonzero(wrong)
        order = np.argsort(np.concatenate([owner[kept], absent]), kind="stable")
        columns = np.concatenate([columns[kept], np.zeros(absent.size, dtype=np.int64)])[order]
        values = np.concatenate([values[kept], np.full(absent.size, np.nan)])[order]
        counts = np.where(wrong, 1, counts)
    limits = np.concatenate([[0], np.cumsum(counts)])
    return sp.csr_matrix((values, columns.astype(np.int32), limits), shape=(counts.size, width)), y


def _slow(text: bytes, first: int, width: int) -> tuple[Piece, bool]:
    """The same line by line, and whether any record has the form of svmlight."""
    data, indices, counts, y = array("d"), array("q"), array("q"), array("d")
    usable = False
    for line in io.BytesIO(text):
        parts = line.split(b"#", 1)[0].split()
        if not parts:
            continue
        y.append(_float(parts[0]))
        pairs = [p.split(b":") for p in parts[1:] if not p.startswith(b"qid:")]
        try:
            own = {int(j): float(v) for j, v in pairs}
            fine = len(own) == len(pairs) and all(first <= j < width + first for j in own)
        except ValueError:
            fine = False
        usable = usable or (fine and not math.isnan(y[-1]))
        if not fine:
            own = {first - 1: math.nan}  # a column that does not exist: the record is absent
        counts.append(len(own))
        indices.extend(own)
        data.extend(own.values())
    columns, values = np.array(indices, dtype=np.int64), np.array(data, dtype=float)
    return _rows(columns, values, np.array(counts, dtype=np.int64), np.array(y, dtype=float), first, width), usable


def _float(text: bytes) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
