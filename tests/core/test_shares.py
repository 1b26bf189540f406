"""Noise in shares: the theorem of `core.mechanisms.shares`, by convolution, and the noise that is drawn."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from dpsparse.core.mechanisms import gaussian_share
from dpsparse.core.mechanisms.shares import LEAST
from truth.audit import Stream

GRID = np.arange(-60, 61)


def rounded(sigma: float) -> np.ndarray:
    """Probabilities of a rounded Gaussian on the grid, exact in the tails too."""
    edge = np.abs(GRID) - 0.5
    return np.where(GRID == 0, 1 - 2 * norm.sf(0.5 / sigma), norm.sf(edge / sigma) - norm.sf((edge + 1) / sigma))


def smooth(sigma: float, shares: int) -> np.ndarray:
    """M: a Gaussian of all the variance, shifted by uniform numbers and rounded; by quadrature over the shift."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    shifts, mass = np.zeros(1), np.ones(1)
    for _ in range(shares):
        shifts = np.add.outer(shifts, nodes / 2).ravel()
        mass = np.multiply.outer(mass, weights / 2).ravel()
    s = sigma * math.sqrt(shares)
    return np.array([float(mass @ norm.pdf(k - shifts, scale=s)) for k in GRID])


def bound(sigma: float, shares: int) -> float:
    tau, before = 1.0, sigma**2
    for _ in range(1, shares):
        c = before * sigma**2 / (before + sigma**2)
        tau *= 1 + 2 * sum(math.exp(-2 * math.pi**2 * n * n * c) for n in range(1, 5))
        before += sigma**2
    return tau - 1


@pytest.mark.parametrize(("sigma", "shares"), [(0.6, 2), (0.8, 2), (0.7, 3)])
def test_a_sum_of_rounded_gaussians_is_a_rounded_gaussian_within_tau(sigma, shares):
    one = rounded(sigma)
    total = one
    for _ in range(shares - 1):
        total = np.convolve(total, one, mode="same")
    near = np.abs(GRID) <= 6
    error = np.abs(total[near] / smooth(sigma, shares)[near] - 1).max()
    assert error <= bound(sigma, shares) * (1 + 1e-6)
    assert error > bound(sigma, shares) / 10, "the bound is of the right size"


def test_for_shares_as_wide_as_they_must_be_tau_is_nothing():
    """Products of a billion factors 1 + t are within 1e-260 of 1."""
    assert math.log(2.01) - 2 * math.pi**2 * LEAST**2 / 2 + math.log(1e9) < math.log(1e-260)
    with pytest.raises(ValueError, match="at least 8 units"):
        gaussian_share(np.zeros(3, dtype=np.int64), LEAST * 2 * 0.999, 4, Stream(0))
    with pytest.raises(ValueError, match="at least one party"):
        gaussian_share(np.zeros(3, dtype=np.int64), 1e3, 0, Stream(0))


@pytest.mark.parametrize("honest", [1, 4, 9])
def test_honest_shares_together_have_the_priced_variance(honest):
    scale, size = 1000.0, 40_000
    parts = [gaussian_share(np.full(size, 7, dtype=np.int64), scale, honest, Stream(k)) for k in range(honest)]
    total = np.sum(parts, axis=0)
    assert total.dtype == np.int64
    assert np.std(total) == pytest.approx(scale, rel=5 / math.sqrt(2 * size))
    assert np.mean(total) == pytest.approx(7 * honest, abs=5 * scale / math.sqrt(size))
