"""Rows of units on a cluster: each is sent to the part of its id, so that no unit is in two parts.

Guarantee
---------
Parts are ranges of the order of units (`rows.units`): the number of a part follows from the first word
of an id's digest alone. So units stand in the same order as in memory, one part after the other, and
have the same numbers. Engines move rows; where a row came to is looked at again when its part is
read, and a part with a row of another one is refused: whatever an engine did, all rows of a unit are in
one part, or there is no answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...core.errors import DataError
from ..records import Raw, Records
from ..units import Units, read_units
from .cluster_rows import gather_arrays
from .worker import LoadedPart, RawPart

STRAYED = (
    "rows of units came to a part that is not theirs: the engine moved them, or computed a part in two ways. "
    "Nothing was answered. Run the same again; if that does not help, bring the rows to one machine."
)


@dataclass(frozen=True, eq=False, repr=False)
class Piece:
    """Rows of one part that go to another, with their ids: **private**."""

    rows: Raw
    targets: NDArray[np.generic] | None
    digests: NDArray[np.uint64]
    names: tuple[str, ...] | None


def part_of(digests: NDArray[np.uint64], parts: int) -> NDArray[np.intp]:
    """The number of the part of each id: ranges of the first word of digests, in their order."""
    edges = np.array([(number << 64) // parts for number in range(1, parts)], dtype=np.uint64)
    return np.searchsorted(edges, digests[:, 0], side="right")


def dealt(raw: RawPart, ids: object, parts: int) -> list[Piece]:
    """The rows of a part by the part of their ids; rows without an id are in none."""
    read = raw.read()
    source = Records.of(read.rows)
    units = read_units(ids, source.shape[0], some=False)
    where = np.where(units.known, part_of(units.digests, parts), -1)
    rows, targets = source.rows(0, source.shape[0]), None if read.targets is None else np.asarray(read.targets)
    pieces = []
    for number in range(parts):
        own = np.flatnonzero(where == number)
        mine = None if targets is None else targets[own]
        pieces.append(Piece(rows[own], mine, units.digests[own], source.names))
    return pieces


@dataclass(frozen=True, eq=False, repr=False)
class ShuffledPart:
    """A part of the units of all rows, as a `RawPart`: **private**.

    Attributes
    ----------
    number, parts : int
        Which part of how many.
    pieces : sequence of Piece
        What the parts as they came hold of it, in their order.
    """

    number: int
    parts: int
    pieces: Sequence[Piece]

    def read(self) -> LoadedPart:
        """The rows unit by unit; refuses a row whose id is not of this part."""
        digests = np.concatenate([piece.digests for piece in self.pieces])
        if np.any(part_of(digests, self.parts) != self.number):
            raise DataError(STRAYED)
        units = Units(digests, np.ones(len(digests), dtype=bool))
        rows = [piece.rows for piece in self.pieces]
        together = sp.vstack(rows, format="csr") if sp.issparse(rows[0]) else np.concatenate(rows)
        source = Records(together[units.order])
        source.names, source.starts = self.pieces[0].names, units.starts
        targets = gather_arrays([piece.targets for piece in self.pieces], "labels")
        return LoadedPart(source, None if targets is None else targets[units.order])
