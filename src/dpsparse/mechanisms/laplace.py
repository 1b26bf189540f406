"""Laplace noise on an integer lattice."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .gaussian import _check
from .randomness import Randomness


def lattice_laplace(
    total: NDArray[np.int64], scale: float | NDArray[np.float64], randomness: Randomness
) -> NDArray[np.float64]:
    r"""Add Laplace noise to integers and round to integers.

    Guarantee
    ---------
    As for `lattice_gaussian`, rounding is post-processing: the answer is epsilon-DP with
    epsilon = (l1 sensitivity) / `scale`. The standard deviation is :math:`\sqrt2` times the scale.
    """
    _check(total, scale)
    noise = randomness.generator().laplace(0.0, 1.0, total.shape)
    return np.asarray(total + np.rint(noise * scale), dtype=np.float64)
