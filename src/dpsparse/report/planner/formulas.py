r"""Formulas for the expected error of select + polish, of dual averaging and of tables, calibrated by simulation.

Every formula is a sum of powers of few dimensionless numbers, made into a part between 0 and 1 by
:math:`O/(1+O)`. With :math:`\rho, \mu` the budget as zCDP and as GDP (doubled for add-remove
neighbours, where noise is half), g the signal, :math:`\nu = (1-g)/g`, and for classes S the
variance of the margin and h the mean curvature that belong to g:

* select + polish, :math:`\|w-w^*\|^2/\|w^*\|^2`: selections miss
  :math:`(a\,s^{0.8}\ln d/(n\sqrt\rho))^p`, and sampling with the noise of the steps leaves
  :math:`b\,\nu s/n\,(1 + c\,s/(n\rho))`. For classes the first is over :math:`h\sqrt S`, and
  :math:`\nu` is :math:`1/(hS)`; for regression it is over :math:`\sqrt{g/0.95}` where g is below
  .95, which is derived and not calibrated. Where zero is an end of the bounds, columns may be rare, and a is
  larger.
* dual averaging and tables, excess error: :math:`(a\,d/(n\mu))^p\,\nu^c + b\,\nu d/n`; for
  documents :math:`d^{1/3}` takes the place of d, since words are far from equally frequent. For
  tables a narrow column, whose standard deviation is a part t of that of a uniform one, multiplies
  the odds by :math:`t^{-w}`.

Odds are multiplied by :math:`(0.5/\pi)^r` for a rarer class of part :math:`\pi`. The other of the
two errors follows by a power law. Constants are in ``calibration.json``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from scipy.special import ndtr

from ...algorithms.constants import ENGINE, PLANNER
from ...core.facts import Vector

#: Which parts of the calibration population `spread` stands for, and at which log-odds it is stored.
LEVELS, KNOTS = PLANNER.several.levels, PLANNER.several.knots


@dataclass(frozen=True, kw_only=True)
class Case:
    """What the formulas see of a fit.

    Parameters
    ----------
    algorithm : {"select_polish", "dual_averaging", "tables"}
    classes, documents, counts, free : bool
        Whether classes are predicted, rows are documents (`Facts.documents`), zero is an end of the
        bounds (counts, indicators), there is an intercept.
    n_rows, n_features, coefficients : int
    rho, mu : float
        The budget, in units of replace-one neighbours.
    base_rate : float
        Part of the rarer class.
    raced : bool
        Tables: whether answers will choose between many coefficients and few.
    scale : float
        Standard deviation of a typical feature over that of a uniform one within the same bounds.
    constant_only : bool
        Whether the plan asks for nothing but the constant.
    """

    algorithm: str
    classes: bool
    documents: bool
    counts: bool
    free: bool
    n_rows: int
    n_features: int
    coefficients: int
    rho: float
    mu: float
    base_rate: float = 0.5
    raced: bool = False
    scale: float = 1.0
    constant_only: bool = False

    @property
    def kind(self) -> str:
        """Which constants hold."""
        if self.algorithm == "select_polish":
            return f"select_polish {'classes' if self.classes else 'regression'}"
        what = "documents" if self.documents else "classes" if self.classes else "regression"
        return f"{self.algorithm} {what}"


@cache
def calibration() -> dict[str, Any]:
    """The calibrated constants by kind."""
    text = resources.files(__package__).joinpath("calibration.json").read_text(encoding="utf-8")
    return json.loads(text)["kinds"]  # type: ignore[no-any-return]


def main_odds(case: Case, signal: float, k: dict[str, float]) -> float:
    """Odds of the error that the algorithm's own formula is about."""
    n, d, s = case.n_rows, case.n_features, case.coefficients
    nu = (1 - signal) / signal
    rare = (0.5 / case.base_rate) ** k["r"] if case.classes else 1.0
    if case.algorithm == "select_polish":
        reach = s**PLANNER.sparsity_power * math.log(max(d, 2)) / (n * math.sqrt(case.rho))
        if case.classes:
            variance, bend = margin(signal)
            reach, nu = reach / (bend * math.sqrt(variance)), 1 / (bend * variance)
        else:  # scores are clipped near the size of residuals: a coefficient stands out by the root of the signal
            reach /= min(1.0, math.sqrt(signal / PLANNER.several.sparse_regression[0]))
        missed = rare * math.exp(min(k["p"] * (k["a"] + k["z"] * case.counts + math.log(reach)), 60.0))
        return missed + math.exp(k["b"]) * nu * s / n * (1 + math.exp(k["c"]) * s / (n * case.rho))
    size = d ** (1 / 3) if case.documents else d
    odds = math.exp(k["p"] * (k["a"] + math.log(size / (n * case.mu))) + k["c"] * math.log(nu))
    rare *= math.exp(-k.get("w", 0.0) * math.log(case.scale))
    return rare * odds + math.exp(k["b"]) * nu * d / n * (not case.documents)


def both_odds(case: Case, signal: float, k: dict[str, float]) -> tuple[float, float]:
    """Odds of the excess error, and of the squared relative error of the coefficients."""
    odds = main_odds(case, signal, k)
    other = math.exp(k["e"]) * odds ** k["f"]
    return (other, odds) if case.algorithm == "select_polish" else (odds, other)


def intercept_noise(case: Case) -> float:
    r"""What the noise of an intercept adds to the excess of a regression by select + polish.

    Its last step has about a hundredth of the budget, :math:`\sigma = 2R/(n\sqrt{2\rho/100})`, for
    residuals clipped at R, about one and a half standard deviations of the target.
    """
    if case.algorithm != "select_polish" or case.classes or not case.free:
        return 0.0
    return PLANNER.intercept_noise / (case.n_rows**2 * case.rho)


def constant_miss(case: Case, level: float) -> float:
    r"""By how much a released constant alone errs at a level of the population, over the variance of the target.

    The exponential mechanism at :math:`N = n\mu` returns a point x of the grid with odds
    :math:`e^{-N|F(x)-1/2|}`, where F is the distribution of the targets, and
    :math:`a = N^2/(N^2+h^2)` of it is believed. The miss is :math:`(ax-c)^2/\sigma^2` for targets of mean c and
    standard deviation :math:`\sigma`: what noise moves, and what shrinking leaves of a centre that was
    declared elsewhere. In units of the bound, targets are normal with :math:`\sigma` a third, and c is
    uniform up to `off_centre`.
    """
    n = case.n_rows * case.mu
    grid = np.linspace(-1, 1, ENGINE.whole.thin_median_points)
    points, means = grid[None, :], PLANNER.off_centre * grid[:, None]
    odds = np.exp(-n * np.abs(ndtr(3 * (points - means)) - 0.5))
    odds /= odds.sum(axis=1, keepdims=True)
    misses = np.square(3 * (n**2 / (n**2 + ENGINE.median_doubt**2) * points - means))
    order = np.argsort(misses, axis=None)
    below = np.cumsum(odds.ravel()[order]) / means.size
    return float(misses.ravel()[order[np.searchsorted(below, min(level, below[-1]))]])


def beyond_hope(case: Case) -> float:
    r"""How certain it is that a fit finds nothing.

    It is 1 where noise is as large as the target, and falls to 0 where it is half as large.

    Where the plan asks for nothing but the constant it is 1. For select + polish it falls from
    :math:`n\sqrt\rho = 15` to 30: below 20 every fit of the calibration was worse than a constant.
    For documents from :math:`n\mu = 20` to 40: at 20 error rates were those of tossing a coin.
    """
    if case.constant_only:
        return 1.0
    if case.algorithm == "select_polish":
        return min(1.0, max(0.0, 2 - case.n_rows * math.sqrt(case.rho) / PLANNER.hope_select))
    return min(1.0, max(0.0, 2 - case.n_rows * case.mu / PLANNER.hope_documents)) if case.documents else 0.0


def part(odds: float, spread: Mapping[str, Sequence[Any]], level: float, signal: float) -> float:
    """An error from its odds, at a level of the population.

    `spread` holds shifts of log-odds at the knots, and what errors come to where nothing is found:
    for coefficients as it is ("worst", about 1), for the excess as the part of a constant predictor's
    error by which a fit exceeds it ("over"), which a weak signal makes a large part of what could be gained.
    """
    which = LEVELS.index(level)
    moved = math.log(odds) + float(np.interp(math.log(odds), KNOTS, [at[which] for at in spread["shifts"]]))
    share = 1 / (1 + math.exp(-min(moved, 60.0)))
    worst = 1 + float(spread["over"][which]) / signal if "over" in spread else float(spread["worst"][which])
    return share * (1 + (worst - 1) * share)


@cache
def _margins() -> tuple[Vector, Vector, Vector]:
    deviations = np.geomspace(0.02, 200, 400)
    z = np.linspace(-8, 8, 2001)
    weight = np.exp(-(z**2) / 2)
    weight /= weight.sum()
    with np.errstate(over="ignore"):
        p = 1 / (1 + np.exp(deviations[:, None] * np.abs(z)))  # error of the better class
    return 1 - 2 * (p @ weight), deviations, (p * (1 - p)) @ weight


def margin(signal: float) -> tuple[float, float]:
    """Variance of a normal margin whose best error is (1 - signal)/2, and a mean curvature.

    The curvature is that of the logistic loss at such margins.

    >>> variance, bend = margin(0.6)
    >>> round(variance, 1), round(bend, 3)
    (5.4, 0.138)
    """
    signals, deviations, bends = _margins()
    deviation = float(np.exp(np.interp(signal, signals, np.log(deviations))))
    return deviation**2, float(np.interp(deviation, deviations, bends))
