"""Exact discrete Gaussian noise through OpenDP (extra ``exact``)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .gaussian import _check


def require_opendp() -> None:
    """Refuse early, with what to install."""
    try:
        import opendp  # noqa: F401
    except ImportError:
        raise ImportError("noise='exact' needs OpenDP. Install it with: pip install 'dpsparse[exact]'") from None


def discrete_gaussian(total: NDArray[np.int64], scale: float) -> NDArray[np.float64]:
    r"""Add noise from the discrete Gaussian :math:`P(z) \propto e^{-z^2/2\sigma^2}` on the integers, sampled exactly.

    Guarantee
    ---------
    :math:`\rho`-zCDP with :math:`\rho = \Delta_2^2 / (2\sigma^2)` [CKS20]_; OpenDP samples it with exact integer
    arithmetic and randomness of the operating system, so there is no floating-point error at all. It takes some 15 to
    60 microseconds a number: meant for small releases.

    References
    ----------
    .. [CKS20] Canonne, Kamath and Steinke, NeurIPS 2020, Theorem 4.
    """
    _check(total, scale)
    require_opendp()
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
    release = dp.m.make_gaussian(*space, scale=scale)
    return np.array(release([int(v) for v in total.ravel()]), dtype=np.float64).reshape(total.shape)
