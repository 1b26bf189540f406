r"""Rows on a few features, measured from a public centre, as models on a support see them.

Guarantee
---------
Write :math:`a_i = x_{i,S} - \mu` for a row on a support S. It, its norm, its margin
:math:`a + \langle a_i, w\rangle` and its slope are computed by elementwise operations, column by
column in the order of the support: they are functions of that record and of the query alone, to
the last bit, whatever part or place the row is in and however it is stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..core.errors import PrivacyError
from ..core.facts import LARGEST_SIZE, Vector
from ..rows.block import Block
from ..rows.kernels import products
from ..rows.shard import Shard, block_pieces
from ..rows.slopes import slopes
from .kinds import CentredModel
from .losses import Loss
from .sensitivity import Indices, check_support

#: Norms are floats: rows are clipped to this part of their bound. Covers the sums of 2^16 squares.
SLACK = 1.0 - 2.0**-36
#: Step of the difference quotient that stands in for a second derivative.
STEP = 1e-4
#: Entries that are written out at once, and the fewest rows.
PIECE_ENTRIES, LEAST_ROWS = 2**18, 512


@dataclass(frozen=True, eq=False, repr=False)
class RowView:
    """A block of rows as a model sees it: **private**."""

    away: Vector
    norms: Vector
    slopes: Vector
    margins: Vector
    block: Block

    @property
    def size(self) -> int:
        """Features of the model."""
        return int(self.away.shape[1])

    def rows_away(self, rows: slice) -> Vector:
        """Some rows, centred."""
        return self.away[rows]


def check_centre(centre: Vector, size: int) -> None:
    """Refuse a centre that does not hold one number of ordinary size for each feature."""
    if centre.shape != (size,) or not np.all(np.abs(centre) <= LARGEST_SIZE):
        raise PrivacyError(
            f"a centre must hold one number of at most {LARGEST_SIZE:g} for each feature of the support."
        )


def away(support: Indices, centre: Vector, shard: Shard) -> Iterator[tuple[Vector, Vector, Block]]:
    """Centred rows on a support and their norms, block by block; zero for absent records.

    Norms are finite: a row beyond floats is as long as the largest of them, and is shrunk to nothing.
    """
    check_centre(centre, support.size)
    check_support(support, shard.facts.n_features, "features")
    for (centred, norms), block in zip(shard.centred(support, centre), shard.blocks, strict=True):
        yield centred, norms, block


def away_by_pieces(support: Indices, centre: Vector, shard: Shard) -> Iterator[tuple[Vector, Vector]]:
    """As `away`, for pieces of as many rows as a cache holds, without their blocks.

    For wide supports that are asked for once.
    """
    check_centre(centre, support.size)
    check_support(support, shard.facts.n_features, "features")
    lattice = shard.lattice
    count = max(LEAST_ROWS, PIECE_ENTRIES // max(support.size, 1))
    for block in shard.blocks:
        for piece in block_pieces(block, count):
            alive = piece.present[:, None]
            centred = products.shifted_columns(piece, lattice, support) * lattice.unit
            centred *= alive
            centred -= centre
            centred *= alive
            with np.errstate(over="ignore"):
                squares = np.square(centred)  # summed one column after the other, as above
                squares = np.cumsum(squares, axis=1, out=squares)[:, -1]
            yield centred, np.minimum(np.sqrt(squares), np.finfo(float).max)


def seen(model: CentredModel, shard: Shard, loss: Loss) -> Iterator[RowView]:
    """Margins and slopes of all rows, block by block."""
    for centred, norms, block in away(model.support, model.centre, shard):
        margins = np.full(block.y.size, float(model.offset))
        with np.errstate(all="ignore"):
            for i, w in enumerate(model.w):
                margins += centred[:, i] * w
        yield RowView(centred, norms, slopes(loss, margins, block), margins, block)


def clipped(view: RowView, clip: float) -> Vector:
    """Largest slope of each row for which its gradient is within `clip`; infinite for a row of zeros."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(clip * SLACK / view.norms)


def curvature(loss: Loss, margins: Vector, block: Block, top: float) -> Vector:
    """Second derivative of the loss of each row, by a difference quotient, within [0, top]."""
    ahead, behind = (slopes(loss, margins + step, block) for step in (STEP, -STEP))
    with np.errstate(all="ignore"):  # a wild model must not tell anything through a warning
        quotient = ahead / (2 * STEP) - behind / (2 * STEP)
    return np.clip(quotient, 0.0, top)
