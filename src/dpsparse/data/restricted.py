"""Rows restricted to a public support, for the statistics room."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..facts import Vector
from .blocks import Block, Indices, Storage

#: Rows are scaled to a little less than their bound and norms are stated a little larger, by far more than a sum of
#: squares over many coordinates can be rounded.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class RestrictedRows:
    """Some private rows on the coordinates of a support, in real units, with their norms and targets.

    Guarantee
    ---------
    Every row is a function of its own record only, and its l2 norm, which `norms` bounds, is at most what was asked for.
    A record with a non-finite value is a row of zeros.
    """

    x: Any
    y: Vector
    norms: Vector


def restrict(store: Storage, block: Block, support: Indices, norm: float) -> RestrictedRows:
    """The rows of a block on `support`, each scaled down to l2 norm `norm` where it is longer."""
    features = support < store.facts.n_features
    picked = support[features]
    columns: Any = block.columns(picked)
    if store.sparse and not store.shifted:
        x = sp.csr_matrix(columns, dtype=float) * (store.unit * store.repeat)
        if not features.all():
            heights = np.full((block.y.size, int((~features).sum())), store.height * store.unit)
            x = sp.hstack([x, heights], format="csr")[:, np.argsort(np.argsort(~features, kind="stable"))]
        norms = np.sqrt(np.asarray(x.multiply(x).sum(axis=1), dtype=float).ravel())
    else:
        x = np.empty((block.y.size, support.size))
        dense = columns.toarray() if sp.issparse(columns) else columns
        x[:, features] = (store.repeat * dense - store.shift[picked]) * store.unit
        x[:, ~features] = store.height * store.unit
        norms = np.sqrt(np.einsum("ij,ij->i", x, x))
    limit = norm * (1 - ROUNDING)
    shrink = block.alive * (limit / np.maximum(norms, limit) if np.isfinite(norm) else 1.0)
    x = sp.diags(shrink) @ x if sp.issparse(x) else x * shrink[:, None]
    return RestrictedRows(x, block.y, norms * shrink * (1 + ROUNDING / 2))
