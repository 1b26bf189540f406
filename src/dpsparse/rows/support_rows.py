"""Rows restricted to a public support, for statistics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core.facts import Vector
from .block import Block
from .kernels import products
from .kernels.interface import Indices
from .lattice import Lattice
from .shard import Shard

#: Coordinates up to which sparse rows are written out, so that sparse and dense rows add up alike.
WRITTEN_OUT = 256
#: Rows are scaled to a little less than their bound and norms are stated a little larger, by far more than a sum of
#: squares over many coordinates can be rounded.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class RestrictedRows:
    """Some private rows on the coordinates of a support, in real units, with their norms and targets.

    Guarantee
    ---------
    Every row is a function of its own record only, and its l2 norm, which `norms` bounds, is at
    most what was asked for. A record with a non-finite value is a row of zeros.
    """

    x: Any
    y: Vector
    norms: Vector


def restricted(shards: Iterable[Shard], support: Indices, norm: float, most: int | None = None) -> RestrictedRows:
    """All rows on some coordinates, each clipped to l2 norm `norm`: **private**, for statistics only.

    A statistic is a trusted function with a written stability proof; what it makes of the rows leaves the
    package only with the noise of that proof. Rows of all parts stand together, so that no sum shows how they were cut.
    Only the first `most` records that are present are returned, in the order of the rows: adding or removing one record
    changes the returned set by at most one record that enters and one that leaves. None returns all.
    """
    parts, left = [], most
    for shard in shards:
        for block in shard.blocks:
            part = restrict(block, shard.lattice, support, norm)
            if left is not None:
                present = np.cumsum(block.present > 0)
                if present.max(initial=0) > left:
                    kept = np.flatnonzero(present <= left)
                    part = RestrictedRows(part.x[kept], part.y[kept], part.norms[kept])
                left = max(left - int(present.max(initial=0)), 0)
            if part.y.size:
                parts.append(part)
    if not parts:
        return RestrictedRows(np.zeros((0, support.size)), np.zeros(0), np.zeros(0))
    stack = sp.vstack if sp.issparse(parts[0].x) else np.vstack
    return RestrictedRows(
        stack([p.x for p in parts]), np.concatenate([p.y for p in parts]), np.concatenate([p.norms for p in parts])
    )


def restrict(block: Block, lattice: Lattice, support: Indices, norm: float) -> RestrictedRows:
    """The rows of a block on `support`, each scaled down to l2 norm `norm` where it is longer."""
    features = support < lattice.facts.n_features
    picked = support[features]
    if block.sparse and not lattice.shifted and support.size > WRITTEN_OUT:
        x = sp.csr_matrix(products.columns(block, picked), dtype=float) * lattice.unit
        if not features.all():
            heights = np.full((block.y.size, int((~features).sum())), lattice.applied_intercept)
            x = sp.hstack([x, heights], format="csr")[:, np.argsort(np.argsort(~features, kind="stable"))]
        norms = np.sqrt(np.asarray(x.multiply(x).sum(axis=1), dtype=float).ravel())
    else:
        x = np.empty((block.y.size, support.size))
        x[:, features] = products.shifted_columns(block, lattice, picked) * lattice.unit
        x[:, ~features] = lattice.applied_intercept
        norms = np.sqrt(np.einsum("ij,ij->i", x, x))
    limit = norm * (1 - ROUNDING)
    shrink = block.present * (limit / np.maximum(norms, limit) if np.isfinite(norm) else 1.0)
    x = sp.diags(shrink) @ x if sp.issparse(x) else x * shrink[:, None]
    return RestrictedRows(x, block.y, norms * shrink * (1 + ROUNDING / 2))
