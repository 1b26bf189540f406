"""Gaussian noise on an integer lattice."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .randomness import Randomness

#: Numbers at a time, so that they stay near the processor.
CHUNK = 2**16


def lattice_gaussian(
    total: NDArray[np.int64], scale: float | NDArray[np.float64], randomness: Randomness
) -> NDArray[np.float64]:
    r"""Add Gaussian noise to integers and round to integers.

    Parameters
    ----------
    total : integer array
        The exact query, in units of the lattice.
    scale : float or array of the shape of `total`
        Standard deviation of the noise, in units of the lattice; one for all coordinates, or one
        for each.
    randomness : Randomness
        A fresh generator is taken for this call.

    Returns
    -------
    array of float64 holding integers

    Guarantee
    ---------
    The answer is :math:`q + \mathrm{round}(\sigma Z) = \mathrm{round}(q + \sigma Z)` for integer
    :math:`q`: post-processing of the Gaussian mechanism, so it is mu-GDP with mu = (l2 sensitivity)
    / `scale`. With a scale :math:`\sigma_j` for each coordinate it is post-processing of the
    Gaussian mechanism with unit noise on :math:`(q_j/\sigma_j)_j`: mu is the l2 sensitivity of that
    vector. Its support is the whole lattice, whatever the data: the low bits of a floating-point
    sum, which tell neighbours apart under naive sampling, are never released. The residual error is
    that of the sampler: a bin of the lattice holds about :math:`2^{52}/\sigma` floats, so each
    bin's probability is right to a relative :math:`2^{-52}\sigma`; with the lattice that oracles
    use (:math:`\sigma \approx 2^{20}` times the noise multiplier) this stays below 1e-6 of epsilon
    for a million coordinates.
    """
    _check(total, scale)
    generator, noise, exact = randomness.generator(), np.empty(total.size), total.ravel()
    scales = np.broadcast_to(scale, total.shape).ravel() if np.ndim(scale) else scale
    for start in range(0, total.size, CHUNK):
        part = slice(start, start + CHUNK)
        some = generator.standard_normal(out=noise[part])
        some *= scales[part] if isinstance(scales, np.ndarray) else scales
        np.rint(some, out=some)
        some += exact[part]
    return noise.reshape(total.shape)


def gaussian_tilt(size: int, scale: float, randomness: Randomness) -> NDArray[np.float64]:
    r"""A vector from :math:`N(0, \sigma^2 I)` that is used inside the trusted package and never released.

    Guarantee
    ---------
    Its floats differ from real numbers by a relative :math:`2^{-52}`. It may therefore only go into computations whose
    result gets noise of its own that covers such errors, as the minimum of a perturbed objective does.
    """
    if not (np.isfinite(scale) and scale > 0):
        raise ValueError(f"a noise scale must be positive and finite, got {scale!r}.")
    return np.asarray(scale * randomness.generator().standard_normal(size))


def _check(total: NDArray[np.int64], scale: float | NDArray[np.float64]) -> None:
    if total.dtype.kind != "i":
        raise TypeError("lattice noise is added to integers only; sums must be put on the lattice first.")
    if isinstance(scale, float) and 0 < scale < math.inf:
        return
    if np.shape(scale) not in ((), total.shape):
        raise ValueError(f"one noise scale, or one for each of {total.shape} numbers, got shape {np.shape(scale)}.")
    if not (np.all(np.isfinite(scale)) and np.all(np.asarray(scale) > 0)):
        raise ValueError(f"a noise scale must be positive and finite, got {scale!r}.")
