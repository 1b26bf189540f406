"""One person's view: rows one by one for local randomisers, and rows whose features are public."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core.errors import PrivacyError
from ..core.facts import Facts, Vector
from ..queries.charge import Charge, use
from ..queries.losses import Loss
from .block import Block
from .kernels import products
from .lattice import Lattice
from .shard import Shard

#: Rows are shown to randomisers in pieces of about this many entries.
PIECE_ENTRIES = 2**21


def record_pieces(block: Block, dimension: int, entries: int) -> Iterator[Block]:
    """The rows of a block, a few at a time."""
    count = max(1, entries // max(dimension, 1))
    if block.y.size <= count:
        yield block
        return
    for start in range(0, block.y.size, count):
        yield block.rows(np.arange(start, min(start + count, block.y.size)))


def whole_rows(block: Block, lattice: Lattice) -> Vector:
    """The rows of a block as they are shown, shifted and with the intercept column, in units of the lattice."""
    out = np.empty((block.y.size, lattice.facts.dimension))
    out[:, : lattice.facts.n_features] = products.shifted_columns(block, lattice, np.arange(lattice.facts.n_features))
    out[:, lattice.facts.n_features :] = lattice.height
    return out


def sparse_rows(block: Block, lattice: Lattice) -> sp.csr_matrix:
    """As `whole_rows`, for rows that are stored sparse and unshifted."""
    constant = sp.csr_matrix(np.full((block.y.size, lattice.facts.free), lattice.height))
    return sp.csr_matrix(sp.hstack([block.x.astype(float), constant]))


def private_targets(charge: Charge, shards: Sequence[Shard]) -> Vector:
    """Targets within their bound, zero for records that do not count: **private**, for local randomisers.

    Uses the charge.
    """
    use(charge)
    return np.concatenate([np.zeros(0), *(b.y for shard in shards for b in shard.blocks)])


class PublicRows:
    r"""Features that are public, and the loss: what label privacy lets a solver compute. Holds no target.

    Guarantee
    ---------
    Everything here is a function of the features and the loss alone. Blocks are copied without
    their targets and without the mark of records whose target was unusable.
    """

    def __init__(self, shards: Sequence[Shard], loss: Loss) -> None:
        self._shards = [_public(shard) for shard in shards]
        self._lattice = shards[0].lattice
        self._loss = loss
        self._anchors = affine_anchors(loss, self._lattice.facts)
        self.n_rows = sum(shard.rows for shard in shards)

    def gradient(self, w: Vector, labels: Vector) -> Vector:
        r"""Mean gradient at `w` with these labels, each an unbiased estimate of a target.

        Unbiased for the mean gradient.

        The slope is affine in the target, :math:`\phi'(m, y) = a(m) + b(m)\,y`, and is continued as
        such beyond the targets that can occur, where estimates lie.
        """
        low, high = self._anchors
        lattice = self._lattice
        total = np.zeros(lattice.facts.dimension)
        start = 0
        for shard in self._shards:
            for block, margin in shard.drawn_margins(w, None):
                y = labels[start : start + block.y.size]
                start += block.y.size
                with np.errstate(all="ignore"):
                    at_low, at_high = (self._loss.slope(margin, np.full_like(margin, v)) for v in (low, high))
                    slope = at_low + (y - low) / (high - low) * (at_high - at_low)
                total += lattice.unit * products.real_scatter(block, lattice, np.nan_to_num(slope))
        return total / self.n_rows

    def __repr__(self) -> str:
        return f"PublicRows({self.n_rows} rows, {self._lattice.facts.n_features} features)"


def _public(shard: Shard) -> Shard:
    """The features of a part, without its targets."""
    public = Shard(shard.lattice, (), shard.first_row)
    public.blocks = [
        Block(b.x, np.zeros(b.y.size), np.ones(b.y.size), b.squares, b.largest, whole=b.whole) for b in shard.blocks
    ]
    public.rows = shard.rows
    return public


def affine_anchors(loss: Loss, facts: Facts) -> tuple[float, float]:
    """Two targets between which the slope of a loss is linear in the target; refuses losses for which it is not."""
    if loss.classes:
        return 0.0, 1.0
    b = facts.target_bound
    margins = np.linspace(-3.0, 3.0, 13)

    def slope(target: float) -> Any:
        return loss.slope(margins, np.full_like(margins, target))

    zero, half = slope(0.0), slope(b / 2)
    counts = np.array_equal(slope(-b), zero)  # negative targets count as zero
    for part in (1 / 3, 1.0) if counts else (-1.0, -1 / 3, 1 / 3, 1.0):
        if not np.allclose(slope(part * b), zero + 2 * part * (half - zero), rtol=1e-9, atol=1e-9 * max(1.0, b)):
            raise PrivacyError(
                "label privacy needs a loss whose slope is linear in the target up to "
                f"target_bound = {b:g}, and that of "
                f"{loss.name!r} is not. Use squared, logistic or Poisson loss, or a link whose "
                "target reaches target_bound."
            )
    return 0.0, b / 2
