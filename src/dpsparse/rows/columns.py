"""The typical entry of each row: for the first choice of a polishing fit. Everything here is **private**."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from ..core.facts import Vector
from .block import Block
from .kernels import products
from .kernels.interface import owners
from .lattice import Lattice

#: Features looked at for the size of a typical entry.
TYPICAL_COLUMNS = 2000
#: Entries that are written out at once.
WRITTEN_OUT = 2**18
#: A row whose entries sum to more than this part of their absolute sum counts as one-signed.
ONE_SIGNED = 0.9


def typical_entries(block: Block, lattice: Lattice, centre: Vector | None = None) -> tuple[Vector, Vector]:
    r"""For each row: the median of its absolute nonzero entries, and its largest one if it is one-signed, else 0.

    Real units, over at most `TYPICAL_COLUMNS` evenly spaced features. A row is one-signed if
    :math:`|\sum_j x_{ij}| > 0.9\sum_j|x_{ij}|`. Rows without entries, and absent ones, have 0. Sums
    are of whole numbers, so that dense and sparse rows give the same answer. A public centre of all
    features, rounded to whole units, is subtracted first.
    """
    d = lattice.facts.n_features
    step = max(1, d // TYPICAL_COLUMNS)
    which = np.arange(0, d, step)[:TYPICAL_COLUMNS]
    step = max(1, WRITTEN_OUT // which.size)
    whole = block.sparse and not lattice.shifted and centre is None
    if not whole and block.y.size > step:  # rows are written out, so some at a time
        edges = [*range(0, block.y.size, step), block.y.size]
        parts = [typical_entries(block.rows(slice(a, b)), lattice, centre) for a, b in pairwise(edges)]
        return np.concatenate([middle for middle, _ in parts]), np.concatenate([largest for _, largest in parts])
    if whole:
        rows = sp.csr_matrix(products.columns(block, which))
        rows.eliminate_zeros()
        owner = owners(rows)
        sizes = np.abs(rows.data)[np.lexsort((np.abs(rows.data), owner))]
        ends = rows.indptr[1:]
        count = np.diff(rows.indptr)
        total = np.bincount(owner, weights=rows.data, minlength=block.y.size)
        absolute = np.bincount(owner, weights=np.abs(rows.data), minlength=block.y.size)
        padded = np.r_[sizes, 0.0]
        middle = (padded[ends - count + np.maximum(count - 1, 0) // 2] + padded[ends - count + count // 2]) / 2
        largest = padded[np.maximum(ends - 1, 0)]
    else:
        away = products.shifted_columns(block, lattice, which)
        far = np.zeros(which.size)
        if centre is not None:
            far = (centre if lattice.exact else np.rint(centre / lattice.unit))[which]
            away -= far
        total = away.sum(axis=1)
        np.abs(away, out=away)
        absolute = away.sum(axis=1)
        short = not lattice.exact and np.all(lattice.integer_bounds[which] + np.abs(far) < 2.0**16)
        ordered = away.astype(np.uint16 if short else np.float32)
        ordered.sort(axis=1)
        count = np.full(block.y.size, which.size)
        zero = np.flatnonzero(ordered[:, 0] == 0)
        count[zero] = np.count_nonzero(ordered[zero], axis=1)
        first = np.arange(block.y.size), ordered.shape[1] - np.maximum(count, 1)
        middle = ordered[first[0], first[1] + (np.maximum(count, 1) - 1) // 2].astype(float)
        middle = (middle + ordered[first[0], first[1] + np.minimum(count // 2, np.maximum(count, 1) - 1)]) / 2
        largest = ordered[:, -1].astype(float)
    seen = (count > 0) * block.present * lattice.unit
    one_signed = np.abs(total) > ONE_SIGNED * absolute
    return np.asarray(middle * seen), np.asarray(largest * seen * one_signed)
