"""How much of a record is beyond the declared bounds: counted where a user pays to know it."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core.facts import Vector
from .lattice import Lattice

#: What is beyond a bound by less than this part of it is rounding, and not beyond.
ROUNDING = 1e-9


def clipped_parts(x: Any, y: Vector, lattice: Lattice) -> Vector:
    """How far each raw record is beyond the bounds: **private**.

    For each record: the part of its entries that is beyond the bounds, whether its norm is, and
    whether its target is.

    Guarantee
    ---------
    Three numbers in [0, 1], a function of the record and of public bounds alone, the same for dense
    and for sparse rows: entries that are zero and within their bounds are not counted, neither
    above nor below the line.

    Returns
    -------
    array of shape (rows, 3)
    """
    facts = lattice.facts
    ones = np.ones(facts.n_features)
    slack = ROUNDING * (np.abs(facts.lower) + np.abs(facts.upper)) * ones
    lower, upper = facts.lower * ones - slack, facts.upper * ones + slack
    with np.errstate(all="ignore"):
        if sp.issparse(x):
            rows = sp.csr_matrix(x, dtype=float, copy=True)
            rows.sum_duplicates()
            owner = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
            held, low, high = rows.data, lower[rows.indices], upper[rows.indices]
        else:
            held = np.asarray(x, dtype=float)
            owner, held = np.repeat(np.arange(held.shape[0]), held.shape[1]), held.ravel()
            low, high = np.tile(lower, x.shape[0]), np.tile(upper, x.shape[0])
        beyond = (held < low) | (held > high)
        inside = np.clip(np.nan_to_num(held), low, high)
        n = x.shape[0]
        counted = np.bincount(owner, weights=beyond | (held != 0), minlength=n)
        entries = np.bincount(owner, weights=beyond, minlength=n) / np.maximum(counted, 1.0)
        norms = np.sqrt(np.bincount(owner, weights=inside**2, minlength=n))
        longer = lattice.clips_rows & (norms > facts.row_norm * (1 + ROUNDING))
        target = np.abs(y) > facts.target_bound * (1 + ROUNDING)
    return np.column_stack([entries, longer, target]).astype(float)
