"""Columns of private rows, and products with rows whose entries are clipped: for the polishing asks.

Everything here belongs to the trusted room. Nothing is released: sums leave only with noise, through an oracle.

Guarantee
---------
What is computed for a record is a function of that record and of public numbers alone, by elementwise operations: not even
its last bit depends on who else is in the data. `clipped_product` sums integers below :math:`2^{53}`, so it is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..facts import Vector
from .blocks import BLOCK_ROWS, SHIFTED_BLOCK_ROWS, Block, Indices, Storage, _owners

#: Features looked at for the size of a typical entry.
TYPICAL_COLUMNS = 2000
#: A row whose entries sum to more than this part of their absolute sum counts as one-signed.
ONE_SIGNED = 0.9


@dataclass(frozen=True, eq=False, repr=False)
class Columns:
    """Some columns of a block of rows, in real units; `alive` is 0 for records that count as absent."""

    x: Vector
    y: Vector
    alive: Vector


def columns_of(store: Storage, block: Block, support: Indices) -> Columns:
    """The columns of `support`, features only, one after the other in memory; rows of absent records are zero."""
    picked = block.columns(support)
    dense = picked.toarray() if sp.issparse(picked) else picked
    x = np.empty((block.y.size, support.size), order="F")
    for i, j in enumerate(support):
        x[:, i] = (store.repeat * dense[:, i] - store.shift[j]) * store.unit * block.alive
    return Columns(x, block.y, block.alive)


def clipped_limit(store: Storage, entry: float) -> float:
    """The clip `entry` in units of the lattice, a whole number and at least 1; as it is where there is no lattice."""
    return max(1.0, np.floor(entry / store.unit)) if store.lattice else entry


def factor_units(store: Storage, limit: float) -> float:
    """A power of two up to which integer factors give exact sums of clipped rows over one block."""
    rows = SHIFTED_BLOCK_ROWS if store.shifted else BLOCK_ROWS
    return float(2.0 ** np.floor(np.log2(min(2.0**20, 2.0**52 / (rows * max(limit, 1.0))))))


def clipped_product(store: Storage, block: Block, factor: Vector, limit: float) -> Vector:
    r"""Sum over the rows of a block of factor times row, every entry clipped to :math:`\pm` `limit`; features only.

    Entries that sparse rows do not hold are minus the shift: these come as one product for all rows, and the rows mend it.
    """
    if store.sparse:
        away = np.clip(block.x.data - store.shift[block.x.indices], -limit, limit)
        absent = np.clip(-store.shift, -limit, limit)
        change = (away - absent[block.x.indices]) * factor[_owners(block.x)]
        head = np.bincount(block.x.indices, weights=change, minlength=store.facts.n_features)
        return np.asarray(head + absent * factor.sum())
    if store.as_given:
        x = np.clip(block.x.astype(float) * store.repeat - store.shift, -limit, limit)
    else:
        x = np.clip(block.x, -limit, limit).astype(float, copy=False)
    return np.asarray(factor @ x)


def typical_entries(store: Storage, block: Block) -> tuple[Vector, Vector]:
    r"""For each row: the median of its absolute nonzero entries, and its largest one if it is one-signed, else 0.

    Real units, over at most `TYPICAL_COLUMNS` evenly spaced features. A row is one-signed if
    :math:`|\sum_j x_{ij}| > 0.9\sum_j|x_{ij}|`. Rows without entries, and absent ones, have 0.
    """
    d = store.facts.n_features
    step = max(1, d // TYPICAL_COLUMNS)
    which = np.arange(0, d, step)[:TYPICAL_COLUMNS]
    picked = block.columns(which) if store.sparse else block.x[:, which].astype(float)
    if store.sparse and not store.shifted:
        rows = sp.csr_matrix(picked)
        rows.eliminate_zeros()
        owner = _owners(rows)
        sizes = np.abs(rows.data)[np.lexsort((np.abs(rows.data), owner))]
        ends = rows.indptr[1:]
        count = np.diff(rows.indptr)
        total = np.bincount(owner, weights=rows.data, minlength=block.y.size)
        absolute = np.bincount(owner, weights=np.abs(rows.data), minlength=block.y.size)
        padded = np.r_[sizes, 0.0]
        middle = (padded[ends - count + np.maximum(count - 1, 0) // 2] + padded[ends - count + count // 2]) / 2
        largest = padded[np.maximum(ends - 1, 0)]
    else:
        dense = picked.toarray() if sp.issparse(picked) else picked
        away = dense * store.repeat - store.shift[which]
        total = away.sum(axis=1)
        ordered = np.sort(np.abs(away, out=away).astype(np.float32), axis=1)
        absolute = away.sum(axis=1)
        count = np.count_nonzero(ordered, axis=1)
        first = np.arange(block.y.size), ordered.shape[1] - np.maximum(count, 1)
        middle = ordered[first[0], first[1] + (np.maximum(count, 1) - 1) // 2].astype(float)
        middle = (middle + ordered[first[0], first[1] + np.minimum(count // 2, np.maximum(count, 1) - 1)]) / 2
        largest = ordered[:, -1].astype(float)
    seen = (count > 0) * block.alive * store.unit
    one_signed = np.abs(total) > ONE_SIGNED * absolute
    return np.asarray(middle * seen), np.asarray(largest * seen * one_signed)
