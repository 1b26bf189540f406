"""Parts of rows that workers of a cluster read themselves: files, some blocks of a file, and tables with a data dictionary.

Guarantee
---------
Rows and targets are read where they shall be, by the readers of `open_rows` and of tables: the same numbers, and the same refusals, which
quote nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..rows.hosts.checksums import file_stamp
from ..rows.hosts.worker import RawPart, Rows
from .columns import blocks
from .dictionary import TableEncoder, Target
from .labels import TargetPart, joined_targets
from .rows import FileRows, open_rows
from .streams import Matrix, ReadOptions


@dataclass(frozen=True, eq=False, repr=False)
class Opened:
    """Rows of a part and the pieces of their targets; how it is marked without being read, if it is a file."""

    rows: object
    targets: object
    stamp: bytes | None = None


@dataclass(frozen=True, eq=False, repr=False)
class FilePart:
    """One file, or some blocks of a block file, to be read by whoever holds it.

    Attributes
    ----------
    path : Path
    wanted : Wanted
    blocks : (int, int) or None
        First block and the one after the last; None: all of the file.
    """

    path: Path
    wanted: ReadOptions
    blocks: tuple[int, int] | None = None

    def read(self) -> Rows:
        """Open the file here."""
        wanted, stamp = self.wanted, file_stamp(self.path, self.blocks)
        opened = open_rows(
            [self.path],
            wanted.target,
            n_features=wanted.n_features,
            columns=wanted.columns,
            zero_based=wanted.zero_based,
            classes=wanted.classes,
        )
        [file] = opened.parts
        first, last = (0, file.table.size) if self.blocks is None else self.blocks
        targets = file.read_targets()[first:last] if file.has_targets else None
        return Opened(opened if self.blocks is None else SomeBlocks(opened, first, last), targets, stamp)


@dataclass(frozen=True, eq=False, repr=False)
class SomeBlocks:
    """Some blocks of one block file, as rows."""

    file: FileRows
    first: int
    last: int

    @property
    def _edges(self) -> NDArray[np.int64]:
        return np.cumsum([0, *self.file.parts[0].table["rows"].tolist()])[self.first : self.last + 1]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return int(self._edges[-1] - self._edges[0]), self.file.shape[1]

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns."""
        return self.file.names

    @property
    def sparse(self) -> bool:
        """Whether rows come sparse."""
        return self.file.sparse

    @property
    def entries(self) -> int:
        """How many numbers are stored."""
        return int(self.file.parts[0].table["entries"][self.first : self.last].sum(dtype=np.int64))

    @property
    def finite(self) -> bool:
        """Whether the file says that all numbers are finite."""
        return bool(self.file.parts[0].table["finite"][self.first : self.last].all())

    def cut(self, entries: int) -> list[int]:
        """Row numbers between which at most about so many numbers stand."""
        start, stop = int(self._edges[0]), int(self._edges[-1])
        inner = [edge - start for edge in self.file.cut(entries) if start < edge < stop]
        return [0, *inner, stop - start]

    def rows(self, start: int, stop: int) -> Matrix:
        """Some rows as floats."""
        first = int(self._edges[0])
        return self.file.rows(first + start, first + stop)

    def targets(self, meant: str) -> NDArray[np.generic] | None:
        """The target of each row."""
        found = self.file.targets(meant)
        return None if found is None else np.asarray(found[self._edges[0] : self._edges[-1]])


@dataclass(frozen=True, eq=False, repr=False)
class EncodedPart:
    """A part of a table, encoded by the public constants of a dictionary where it is.

    Attributes
    ----------
    raw : RawPart
        Gives a frame.
    encoder : TableEncoder
    target : Target or None
    """

    raw: RawPart
    encoder: TableEncoder
    target: Target | None

    def read(self) -> Rows:
        """Encode the rows here."""
        raw = self.raw.read()
        targets = None if self.target is None else self.target.read(raw.rows)
        return Opened(self.encoder.transform(raw.rows), targets, raw.stamp)


@dataclass(frozen=True, eq=False, repr=False)
class TableFile:
    """A file of named columns, encoded by the public constants of a dictionary where it is read, some rows at a time.

    Attributes
    ----------
    path : Path
    encoder : TableEncoder
    target : Target
    columns : sequence of str
        Features and target of the dictionary; others are not read.
    """

    path: Path
    encoder: TableEncoder
    target: Target
    columns: Sequence[str]

    def read(self) -> Rows:
        """Encode the file here."""
        stamp = file_stamp(self.path)
        rows, targets = list[Matrix](), list[NDArray[np.generic]]()
        for block in chain([{name: [] for name in self.columns}], blocks(self.path, self.columns)):
            rows.append(self.encoder.transform(block))
            targets.append(self.target.read(block))
        X = sp.vstack(rows, format="csr") if sp.issparse(rows[0]) else np.concatenate(rows)
        return Opened(X, np.concatenate(targets), stamp)


def gather_pieces(path: Path, found: Sequence[object], meant: str) -> NDArray[np.generic] | None:
    """One vector of the targets of all files, as if they had been opened together."""
    pieces = list[TargetPart]()
    for part in found:
        if not isinstance(part, list):
            return None
        pieces += part
    return joined_targets(pieces, meant, path)
