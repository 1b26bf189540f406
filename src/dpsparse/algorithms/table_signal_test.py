r"""Few coefficients or many? What a released gradient says about it, for nothing.

A noisy mean gradient :math:`\tilde g_j = g_j + N(0, \sigma^2)` at the constant model is the truth in its coordinates, up to a factor, plus
noise that is known. Two laws of g are compared by their likelihoods:

* *few*: at most k of d entries come from N(0, :math:`\tau_1^2`), all others are 0;
* *many*: the others come from N(0, :math:`\tau_0^2`) with :math:`0 < \tau_0 < \tau_1`; with no outlier this is a dense truth.

The first is the limit of the second, so the logarithm of their ratio, each at its best parameters, is at least about 0; where the truth is
sparse it exceeds 3 in less than one of a hundred cases (half a chi-squared with one or two degrees of freedom).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..core.facts import Vector
from .constants import RACE

#: Variances that are tried, in variances of the noise.
VARIANCES = np.geomspace(*RACE.pair.variances, RACE.whole.variance_points)


@dataclass(frozen=True)
class TableSignalTest:
    """Logarithms of likelihood ratios: many coefficients against few, and few against none."""

    many: float
    sparse_signal: float

    @classmethod
    def of(cls, gradient: Vector, noise: float, most: int) -> TableSignalTest:
        """From a gradient with noise of a known standard deviation, where at most `most` coefficients would be few."""
        d = gradient.size
        square = np.clip(gradient / noise, -RACE.largest_entry, RACE.largest_entry) ** 2
        counts = np.unique(np.geomspace(1, max(1, min(most, d // 2)), RACE.whole.count_points).astype(int))
        variance = 1 + VARIANCES[:, None]
        odds = np.exp(0.5 * square * (1 - 1 / variance)) / np.sqrt(variance)  # against no coefficient; at most e^450
        few = many = -math.inf
        for part in counts / d:
            rare = part * odds
            few = max(few, float(np.log(1 - part + rare).sum(axis=1).max()))
            for i, base in enumerate((1 - part) * odds[:-1]):
                many = max(many, float(np.log(base + rare[i + 1 :]).sum(axis=1).max()))
        many = max(many, float(np.log(odds).sum(axis=1).max()))
        return cls(many - few, few)


class IterateAverage:
    r"""Released gradients along a path, and what they would have been at its start.

    Where the loss is nearly quadratic, :math:`\tilde g_t = g_0 + h w_t + \text{noise}_t` with h about the same in all coordinates. A typical h
    is good enough as long as the path is short: an error of 30 % in h adds 3 % to the variance of the noise after one relaxation length
    1/h, and answers beyond that do not count. A budget for which a path gets so far has evidence enough before.

    Parameters
    ----------
    size : int
        Coordinates.
    bend : float
        Typical h.
    """

    def __init__(self, size: int, bend: float) -> None:
        self.bend, self.walked, self.precision = bend, 0.0, 0.0
        self.total = np.zeros(size)

    def add(self, w: Vector, gradient: Vector, noise: float, step: float) -> None:
        """One answer at `w`, with the standard deviation of its noise, before a step of some length."""
        if self.walked * self.bend <= 1 and noise > 0:
            self.precision += noise**-2
            self.total += (gradient - self.bend * w) / noise**2
        self.walked += step

    def start(self) -> tuple[Vector, float]:
        """The gradient at the start, and the variance of its noise."""
        return self.total / self.precision, 1 / self.precision
