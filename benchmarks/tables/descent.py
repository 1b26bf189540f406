r"""Noisy descent on a table in phases, with clips that are asked for and an average behind a burn-in.

Before a phase the clip C is asked for (squared loss). Then, for t = 1..T, with step lengths :math:`e_t` that fall to zero and
add up to :math:`\tau`, and a share :math:`e_t/\tau` of the phase's budget each,

.. math:: v \leftarrow .9 v + .1\bigl(\tfrac1n Z^\top \mathrm{clip}_C(r) + N(0, \sigma_t^2)\bigr), \qquad w \leftarrow w - e_t v.

Budget in proportion to step length keeps the noise of the margins at :math:`\nu^2 C^2` whatever T is, so :math:`\tau =
\nu n \mu/2`. Where curvature is h, the last w has :math:`\tau h/2` times the variance of one Newton step; the weighted
average of the path behind the burn-in has one, without knowing h.

With many columns w is the soft threshold of what was added up, at .7 of the known standard deviation of its noise: columns without
a signal stay out, so they add no noise to the margins.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from benchmarks.tables.purse import Middle, Purse
from benchmarks.tables.sets import Array


@dataclass(frozen=True)
class Constants:
    """Numbers of the reference; chosen on the tables of the choosing half and on synthetic designs."""

    means: float = 0.04
    gram: float = 0.12
    slope: float = 0.03
    questions: float = 0.06
    least_level: float = 30.0
    hopeless: float = 12.0
    class_hopeless: float = 10.0
    few_records: float = 110.0
    middle: Middle = Middle()
    clip_growth: float = 0.35
    clip_from: float = 25.0
    phases: tuple[float, ...] = (0.15, 0.25, 0.60)
    nu: float = 0.5
    nu_slope: float = 3.0
    nu_range: tuple[float, float] = (0.25, 1.2)
    burn: float = 3.0
    class_clip: float = 0.45
    class_nu: float = 1.0
    class_start: float = 0.5
    soft: float = 0.7
    soft_columns: int = 300
    soft_nu: float = 1.5
    soft_kappa: float = 0.7
    race_kappa: float = 40.0
    race_columns: int = 60
    entry_clip: float = 0.8
    dense_offset: float = 0.03
    constant: float = 0.3


@dataclass(frozen=True)
class Outcome:
    """The target as the descent sees it: centred and clipped for the squared loss, 0/1 for classes."""

    y: Array
    linear: bool
    start: float
    bound: float

    def residual(self, z: Array) -> Array:
        """Derivative of the loss in the margin."""
        return z - self.y if self.linear else 1 / (1 + np.exp(-np.clip(z, -35, 35))) - self.y


def cut(X: Array, size: Array, length: float) -> Array:
    """Rows shortened to a length."""
    return X * np.minimum(1, length / np.maximum(size, 1e-12))[:, None].astype(X.dtype)


def lengths(X: Array) -> Array:
    """Euclidean length of every row."""
    return np.asarray(np.linalg.norm(X, axis=1), float)


def soft_threshold(w: Array, level: float) -> Array:
    """Every entry but the last, the intercept, moved towards zero by `level`."""
    short = np.sign(w) * np.maximum(np.abs(w) - level, 0)
    short[-1] = w[-1]
    return short


class Descent:
    """The state lives on between phases. `share` is that of one question, `gram` that of whitening (0: none)."""

    def __init__(
        self, X: Array, target: Outcome, longest: float, purse: Purse, k: Constants, share: float, gram: float = 0.0
    ) -> None:
        self.target, self.purse, self.k, self.share = target, purse, k, share
        self.n, self.d = X.shape
        self.root: Array | None = None
        self.clip: float | None = None
        if gram:
            X, longest = self._whiten(X, longest, gram)
        # without a budget for questions: a public guess
        self.length = purse.length(lengths(X), longest, share, k.middle) if share else 0.75 * longest
        self.Z = np.hstack([X / self.length, np.full((self.n, 1), k.constant, X.dtype)])
        self.size, self.w, self.dual = lengths(self.Z), np.zeros(self.d + 1), np.zeros(self.d + 1)
        kappa = self.n * purse.mu / (2 * self.d)
        many = self.d >= k.soft_columns and kappa >= k.soft_kappa and self.root is None
        self.soft = k.soft if many else 0.0
        self.variance = 0.0  # of the noise in `dual`, known
        growth = float((kappa / k.clip_from) ** k.clip_growth)
        self.factor = k.middle.clip_factor * min(2.5, max(1.0, growth))

    def _whiten(self, X: Array, longest: float, share: float) -> tuple[Array, float]:
        """Columns times the inverse root of a noisy Gram matrix, which is shrunk as far as its noise asks for."""
        n, d, purse = self.n, self.d, self.purse
        size = lengths(X)
        length = purse.length(size, longest, self.share, self.k.middle)
        short = cut(X, size, length)
        sd = math.sqrt(2) * length**2 / (n * purse.level(share))
        upper = np.triu(purse.rng.standard_normal((d, d)), 1) / math.sqrt(2)
        noise = sd * (upper + upper.T + np.diag(purse.rng.standard_normal(d)))
        gram = (short.T @ short).astype(float) / n + noise
        typical = max(float(np.trace(gram)) / d, 0.02 * length**2 / d)
        spread = gram - typical * np.eye(d)
        kept = 1 - min(1.0, sd**2 * d * (d + 1) / 2 / max(float((spread**2).sum()), 1e-30))
        values, vectors = np.linalg.eigh(kept * spread)
        values = np.maximum(values + typical, 0) + kept * sd * math.sqrt(2 * d) + 1e-3 * typical
        scale = (values / typical) ** -0.5
        self.root = (vectors * scale) @ vectors.T
        return X @ self.root.astype(X.dtype), longest * float(scale.max())

    def ask_clip(self) -> float:
        """A multiple of a middle quantile of |residual| times row length."""
        size = np.abs(self.target.residual(self.margin())) * self.size
        grid = np.geomspace(self.target.bound / 2000, 2.2 * self.target.bound, 60)
        return float(self.factor) * self.purse.quantile(size, self.k.middle.clip_quantile, grid, self.share)

    def phase(self, share: float, nu: float | None = None) -> Descent:
        """Spend `share` on gradients (and one question more with the squared loss)."""
        k, purse, n, d, Z, target = self.k, self.purse, self.n, self.d, self.Z, self.target
        if target.linear:
            clip = self.ask_clip()
            fall = 0.0 if self.clip is None else 1 - clip / self.clip  # released clips that fall: a signal is there
            nu = k.soft_nu if self.soft else nu or min(k.nu_range[1], max(k.nu_range[0], k.nu + k.nu_slope * fall))
            mu, curvature, steps = purse.level(share), 1.0, 80
            total = nu * n * mu / 2
        else:
            clip, mu, curvature, steps = k.class_clip, purse.level(share), 0.25, 150
            total = (nu or k.class_nu) * n * mu / (2 * clip)
        self.clip = clip
        steps = max(steps, min(400, math.ceil(total * curvature / 19)))
        total = min(total, 38 * steps / curvature)
        weight = 1 - np.arange(steps) / steps
        weight /= weight.sum()
        sd = 2 * clip / (n * mu * np.sqrt(weight))
        averaged = math.sqrt(max(0.05, 1 - k.burn * d / (0.65 * curvature * total)))
        w, v, mean, mass = self.w, np.zeros(d + 1), np.zeros(d + 1), 0.0
        dual = self.dual if self.soft else w
        for t in range(steps):
            r = target.residual(Z @ w + target.start)
            r = r * np.minimum(1, clip / np.maximum(np.abs(r) * self.size, 1e-12))
            v = 0.9 * v + 0.1 * (Z.T @ r.astype(Z.dtype) / n + sd[t] * purse.rng.standard_normal(d + 1))
            dual = dual - total * weight[t] * v
            self.variance += (total * weight[t] * sd[t]) ** 2
            w = soft_threshold(dual, self.soft * math.sqrt(self.variance))
            if t >= steps * (1 - averaged):
                mean, mass = mean + weight[t] * w, mass + weight[t]
        self.w, self.dual = mean / mass, dual
        return self

    def margin(self) -> Array:
        """Scores of the training rows; private."""
        return self.Z @ self.w + self.target.start

    def model(self) -> tuple[Array, float]:
        """Coefficients in the columns it was given, and the intercept."""
        c = self.w[:-1] / self.length
        return (c if self.root is None else self.root @ c), float(self.w[-1] * self.k.constant + self.target.start)
