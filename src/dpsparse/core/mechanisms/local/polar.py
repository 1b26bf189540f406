"""Vectors as direction and length, whatever they hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


def polar(values: Vector) -> tuple[Vector, Vector]:
    """Unit rows and their norms; a row that is zero or not finite has direction and norm zero.

    >>> polar(np.array([[3.0, 4.0], [1e200, 0.0], [np.nan, 1.0]]))[1]
    array([5.e+000, 1.e+200, 0.e+000])
    """
    v = np.array(values, dtype=float)
    with np.errstate(over="ignore", invalid="ignore"):
        norms = np.sqrt(np.einsum("ij,ij->i", v, v))
    odd = ~((norms > 1e-150) & (norms < 1e150))
    if not odd.any():
        v /= norms[:, None]
        return v, norms
    # zero, not finite, or squares that leave the range of floats: by the largest entry first
    v[odd] = np.where(np.isfinite(v[odd]).all(axis=1)[:, None], v[odd], 0.0)
    top = np.abs(v).max(axis=1, initial=0.0)
    v /= np.where(top > 0, top, 1.0)[:, None]
    lengths = np.sqrt(np.einsum("ij,ij->i", v, v))
    v /= np.where(lengths > 0, lengths, 1.0)[:, None]
    with np.errstate(over="ignore"):
        return v, lengths * top
