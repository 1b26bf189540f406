r"""Gaussian noise in shares of several parties, of which only the sum is published.

Each party adds rounded Gaussians to its own integers.

Guarantee
---------
Let m parties add :math:`R_i = \mathrm{round}(\sigma_i Z_i)` to integers :math:`q_i`, with
:math:`s^2 = \sum\sigma_i^2` and :math:`q = \sum q_i`. A sum of rounded Gaussians is no rounded
Gaussian. But it is nearly one that was shifted by numbers that have nothing to do with the data:

**Theorem.** Let W be a sum of m - 1 independent uniform numbers on [-1/2, 1/2], and
:math:`M(k) = P(\mathrm{round}(sZ + W) = k)`. Then :math:`P(\sum R_i = k) = M(k)(1 + e_k)` with
:math:`|e_k| \le \tau = \prod_{j=2}^m (1 + t_j) - 1`, where
:math:`t_j = 2\sum_{n\ge1} e^{-2\pi^2n^2c_j}`, :math:`c_j = s_{j-1}^2\sigma_j^2/s_j^2` and
:math:`s_j^2 = \sigma_1^2 + \dots + \sigma_j^2`.

*Proof.* Rounding makes :math:`P(R_i = k) = E\,\varphi_{\sigma_i}(k - U_i)` for :math:`U_i` uniform
on [-1/2, 1/2]. For fixed numbers a and b, a product of two Gaussian densities is a third:
:math:`\varphi_{s_{j-1}}(l - a)\,\varphi_{\sigma_j}(k - l - b) = \varphi_{s_j}(k - a - b)\,\varphi_{\sqrt{c_j}}(l - x)`
for some x. By Poisson's summation formula
:math:`\sum_l \varphi_{\sqrt c}(l - x) = 1 + 2\sum_{n\ge1} e^{-2\pi^2n^2c}\cos 2\pi nx`, within
:math:`1 \pm t`. So the convolution over the integers of :math:`E\,\varphi_{s_{j-1}}(\cdot - A)` and
:math:`E\,\varphi_{\sigma_j}(\cdot - U_j)` is :math:`E\,\varphi_{s_j}(k - A - U_j)`, within a factor
:math:`1 \pm t_j`, for every k: by induction
:math:`P(\sum R_i = k) = E\,\varphi_s(k - U_1 - \dots - U_m)` within :math:`1 \pm \tau`. The mean
over :math:`U_1` is the rounding of :math:`sZ + W`.

**Corollary.** :math:`q + \mathrm{round}(sZ + W) = \mathrm{round}(q + sZ + W)` is post-processing of
the Gaussian mechanism with standard deviation s: it is mu-GDP with mu = (l2 sensitivity) / s. The
published sum has probabilities within :math:`(1 \pm \tau)^d` of it for d numbers, so every
:math:`\epsilon` grows by at most :math:`d\log\frac{1+\tau}{1-\tau}`. With every share at least
`LEAST` units wide and m up to a billion, :math:`\tau < 10^{-260}`: nothing, for any d.

Parties who do not add their share, or disclose it, are left out of s. For discrete Gaussians in the
place of rounded ones the like is [KLS21]_, Proposition 10.

References
----------
.. [KLS21] Kairouz, Liu and Steinke, The distributed discrete Gaussian mechanism, ICML 2021.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .gaussian import lattice_gaussian
from .randomness import Randomness

#: Least standard deviation of a share, in units of the lattice: c_j is at least half its square,
#: and exp(-2 pi^2 32) is below 1e-273.
LEAST = 8.0


def gaussian_share(
    total: NDArray[np.int64], scale: float | NDArray[np.float64], honest: int, randomness: Randomness
) -> NDArray[np.int64]:
    """One party's integers with its share of the noise.

    The shares of `honest` parties together make noise of standard deviation `scale`.

    Parameters
    ----------
    total : integer array
        What this party adds to the sum, in units of the lattice.
    scale : float or array of the shape of `total`
        Standard deviation of the noise in the sum, in units of the lattice.
    honest : int
        m: the number of shares that make up `scale`.
    randomness : Randomness
    """
    if honest < 1:
        raise ValueError(f"noise is made by at least one party, got {honest!r}.")
    share = np.asarray(scale) / math.sqrt(honest)
    if not np.all(share >= LEAST):
        raise ValueError(
            f"a share of noise must be at least {LEAST:g} units wide; use fewer parties or a finer lattice."
        )
    return lattice_gaussian(total, share, randomness).astype(np.int64)
