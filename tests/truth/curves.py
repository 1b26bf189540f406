"""Privacy curves from their definitions: many digits, integrals, sums and brute force."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import mpmath as mp
import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import norm


def gaussian_delta(epsilon: float, mu: float) -> mp.mpf:
    """delta(epsilon) of N(0,1) against N(mu,1), in 60 digits."""
    with mp.workdps(60):
        e, m = mp.mpf(epsilon), mp.mpf(mu)
        return mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """epsilon of mu-GDP at delta, by root finding on the textbook formula."""

    def excess(e: float) -> float:
        return float(gaussian_delta(e, mu)) - delta

    if excess(0.0) <= 0:
        return 0.0
    return brentq(excess, 0.0, mu * mu / 2 + mu * math.sqrt(2 * math.log(1 / delta)) + 1, xtol=1e-13, rtol=1e-14)


def bounded_range_renyi(eta: float, alpha: float, points: int = 20001) -> float:
    """Renyi divergence of the worst two-outcome pair with losses t and t - eta, by trying many t."""
    t = np.linspace(0.0, eta, points)[1:-1]
    log_q = np.log(-np.expm1(t - eta)) - t - math.log(-math.expm1(-eta))
    log_rest = np.log(-np.expm1(-t)) - math.log(-math.expm1(-eta))
    return float(np.max(np.logaddexp(log_q + alpha * t, log_rest + alpha * (t - eta))) / (alpha - 1))


def bounded_range_kl(eta: float) -> float:
    """Largest KL divergence of an eta-bounded-range pair: the tight zCDP constant of the class."""

    def minus(t: float) -> float:
        q = (1 - math.exp(t - eta)) / (math.exp(t) - math.exp(t - eta))
        p = math.exp(t) * q
        return -(p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q)))

    return -minimize_scalar(minus, bounds=(1e-9, eta - 1e-9), method="bounded", options={"xatol": 1e-12}).fun


def laplace_renyi(epsilon: float, alpha: float) -> float:
    """Renyi divergence of Lap(0,1) from Lap(epsilon,1), integrated piece by piece."""

    def integrand(x: float) -> float:
        return 0.5 * math.exp(-alpha * abs(x) - (1 - alpha) * abs(x - epsilon))

    pieces = [(-60.0, 0.0), (0.0, epsilon), (epsilon, epsilon + 60.0)]
    return math.log(sum(quad(integrand, *p, epsabs=0, epsrel=1e-12)[0] for p in pieces)) / (alpha - 1)


def pure_renyi(epsilon: float, alpha: float) -> float:
    """Renyi divergence of randomised response, summed over its two outcomes in 40 digits."""
    with mp.workdps(40):
        p = 1 / (1 + mp.exp(-mp.mpf(epsilon)))
        a = mp.mpf(alpha)
        return float(mp.log(p**a * (1 - p) ** (1 - a) + (1 - p) ** a * p ** (1 - a)) / (a - 1))


def renyi_epsilon(curve: Callable[[float], float], delta: float) -> float:
    """epsilon of a Renyi curve at delta: minimum over the orders, searched continuously."""

    def at(log_order: float) -> float:
        a = 1 + math.exp(log_order)
        return curve(a) + math.log1p(-1 / a) - math.log(delta * a) / (a - 1)

    grid = np.linspace(-6, 9, 121)
    start = grid[int(np.argmin([at(g) for g in grid]))]
    return max(0.0, minimize_scalar(at, bounds=(start - 0.2, start + 0.2), method="bounded").fun)


def two_point_error(p: float, q: float, alpha: np.ndarray) -> np.ndarray:
    """Trade-off curve of Bernoulli(q) against Bernoulli(p), p >= q: least type II error at type I error alpha."""
    return np.where(alpha <= q, 1 - alpha * p / q, (1 - p) * (1 - alpha) / (1 - q))


def gaussian_error(mu: float, alpha: np.ndarray) -> np.ndarray:
    """Trade-off curve of N(0,1) against N(mu,1)."""
    return norm.cdf(norm.ppf(1 - alpha) - mu)


def sampled_delta(epsilon: float, steps: Iterable[tuple[float, float, int]], replace: bool, grid: int = 2**18) -> float:
    """delta(epsilon) of Poisson-sampled Gaussians (rate, sigma / record norm, count), by a plain FFT of privacy losses.

    One person against nobody (or, for replace-one, against the opposite gradient), both directions; losses are binned
    by rounding to nearest, so this is an estimate with an error of about one bin, not a bound.
    """
    reach = 40.0
    width = 2 * reach / grid
    losses = (np.arange(grid) - grid // 2) * width
    worst = 0.0
    for mirrored in (False,) if replace else (False, True):
        total = np.ones(grid // 2 + 1, dtype=complex)
        for rate, sigma, count in steps:
            x = np.linspace(-12 * sigma - 1, 12 * sigma + 1, 400_001)
            middle = norm.pdf(x, 0, sigma)
            upper = (1 - rate) * middle + rate * norm.pdf(x, 1, sigma)
            lower = (1 - rate) * middle + rate * norm.pdf(x, -1, sigma) if replace else middle
            p, q = (lower, upper) if mirrored else (upper, lower)
            loss = np.log(np.maximum(p, 1e-300) / np.maximum(q, 1e-300))
            mass = np.bincount(
                np.clip(np.rint(loss / width).astype(int) + grid // 2, 0, grid - 1), weights=p, minlength=grid
            )
            total *= np.fft.rfft(np.fft.ifftshift(mass / mass.sum())) ** count
        law = np.fft.fftshift(np.fft.irfft(total, grid))
        above = losses > epsilon
        worst = max(worst, float(np.sum(law[above] * -np.expm1(epsilon - losses[above]))))
    return worst


def achievable_delta(epsilon: float, etas: Iterable[float], mu: float, cells: int = 16) -> float:
    """delta(epsilon) that an adversary reaches with one mu-GDP Gaussian and then adaptive bounded-range selections.

    A strategy is played, not bounded: before each selection the adversary picks where the range lies (t on a grid) from
    the loss so far. Every valid accountant must therefore claim at least this much.
    """
    etas = sorted(etas)
    step = (etas[0] if etas else 0.1) / cells
    variance = sum(e * e for e in etas) / 4 + mu * mu
    half = math.ceil((epsilon + 9 * math.sqrt(variance) + variance + 1) / step)
    grid = np.arange(-half, half + 1) * step
    rest = np.maximum(-np.expm1(grid), 0.0)

    def shifted(values: np.ndarray, by: int) -> np.ndarray:
        """values at e - by * step; off the grid 1 - exp(e) or 0, which never claims too much."""
        at = np.arange(values.size) - by
        inside = values[np.clip(at, 0, values.size - 1)]
        return np.where(at < 0, np.maximum(-np.expm1(grid - by * step), 0.0), np.where(at >= values.size, 0.0, inside))

    for eta in etas:
        m = math.floor(eta / step + 1e-9)  # a narrower range is a weaker adversary
        best = rest
        for i in range(m + 1):
            p = -math.expm1((i - m) * step) / -math.expm1(-m * step)
            best = np.maximum(best, p * shifted(rest, i) + (1 - p) * shifted(rest, i - m))
        rest = best
    edges, mass = np.zeros(1), np.ones(1)
    if mu > 0:
        edges = np.arange(math.floor((mu * mu / 2 - 9 * mu) / step), math.ceil((mu * mu / 2 + 9 * mu) / step)) * step
        mass = np.diff(norm.cdf(np.r_[edges, edges[-1] + step], mu * mu / 2, mu))
    at = np.ceil((epsilon - edges) / step - 1e-9).astype(int) + half  # rounded up: rest decreases
    value = np.where(at < 0, -np.expm1(np.minimum((at - half) * step, 0.0)), rest[np.clip(at, 0, rest.size - 1)])
    return float(np.sum(mass * np.where(at >= rest.size, 0.0, value)))
