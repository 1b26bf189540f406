r"""Lower bounds on privacy loss from runs in two worlds: what a sample *proves* about a mechanism.

World *present* and world *absent* are neighbouring datasets. An event E, such as "the score exceeds
a threshold", happens with probability p in one and q in the other. :math:`(\epsilon, \delta)`-DP
says :math:`p \le e^\epsilon q + \delta`, and the same for the complement of E; :math:`\mu`-GDP says
:math:`\Phi^{-1}(p) - \Phi^{-1}(q) \le \mu`. Counts of hits prove :math:`p \ge p_-` and
:math:`q \le q_+`, and hence that every :math:`(\epsilon, \delta)` or :math:`\mu` that would not
allow these is false.

Guarantee
---------
Both Clopper-Pearson bounds [CP34]_ hold together with probability at least `confidence`, whatever
the law of the scores: each is exact for a binomial count and fails with half of what is left. The
event is fixed before its counts are seen: threshold and side are chosen on one half of the runs and
counted on the other. Everything else here (bounds on epsilon at any delta, on mu, on delta at any
epsilon, and the comparison with a whole claimed curve) follows from these two inequalities by
arithmetic, so that looking at all of them costs no confidence. `LowerBound` may be too low, and
usually is.

References
----------
.. [CP34] Clopper and Pearson, Biometrika 1934.
.. [JUO20] Jagielski, Ullman and Oprea, NeurIPS 2020: auditing differentially private learning by such events.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, gammaln, ndtri, xlog1py, xlogy

from ..core import checks
from ..core.plain import Printed

#: Right mechanisms are accused with at most this probability by one bound.
ALARM = 5e-7
CONFIDENCE = 1 - ALARM
#: The same in standard errors of a normal estimate, two-sided.
SIGMAS = 5.0

Floats = NDArray[np.float64]
#: A certain probability, or many.
Bound = Floats | float
#: What an event is worth, from certain bounds on its probabilities in two worlds; larger is better.
Goodness = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True)
class LowerBound(Printed):
    """What an event proves, with its counts.

    Attributes
    ----------
    epsilon : float
        Every true epsilon at `delta` is at least this; zero if nothing was proved.
    delta : float
        At which `epsilon` is stated.
    mu : float
        Every true mu is at least this; zero if nothing was proved.
    confidence : float
        Probability with which all of it holds.
    hits_present, runs_present, hits_absent, runs_absent : int
        How often the event happened, in the runs that did not choose it.
    present_low, absent_high : float
        Bounds on its two probabilities.
    threshold : float
        The event is "score above this", or "at most this" where `above` is False. NaN for events given as counts.
    above : bool
    """

    epsilon: float
    delta: float
    mu: float
    confidence: float
    hits_present: int
    runs_present: int
    hits_absent: int
    runs_absent: int
    present_low: float
    absent_high: float
    threshold: float = math.nan
    above: bool = True

    def epsilon_at(self, delta: float) -> float:
        """The bound on epsilon at another delta."""
        return float(_epsilon(self.present_low, self.absent_high, delta))

    def delta_at(self, epsilon: float) -> float:
        """Every true delta at `epsilon` is at least this."""
        return float(_delta(self.present_low, self.absent_high, epsilon))

    def __str__(self) -> str:
        return (
            f"epsilon >= {self.epsilon:.4g} at delta {self.delta:.3g}, mu >= {self.mu:.4g} "
            f"({self.hits_present} of {self.runs_present} runs against {self.hits_absent} of {self.runs_absent})"
        )


def event(
    hits_a: int, runs_a: int, hits_b: int, runs_b: int, delta: float = 0.0, confidence: float = CONFIDENCE
) -> LowerBound:
    """What counts of one event in two worlds prove. World A is the one in which it is expected to happen more often.

    The event, and which world is A, must not have been chosen by these counts.

    Examples
    --------
    >>> from dpsparse.audit import event
    >>> round(event(990, 1000, 10, 1000, confidence=0.99).epsilon, 2)
    3.83
    """
    for hits, runs in ((hits_a, runs_a), (hits_b, runs_b)):
        if not 0 <= hits <= runs or runs < 1:
            raise ValueError(f"an event happens in between 0 and all of at least one run, got {hits} of {runs}.")
    _check(delta, confidence)
    low, high = _clopper_pearson(hits_a, runs_a, hits_b, runs_b, 1 - confidence)
    return LowerBound(
        epsilon=float(_epsilon(low, high, delta)),
        delta=delta,
        mu=max(0.0, float(_mu(low, high))),
        confidence=confidence,
        hits_present=int(hits_a),
        runs_present=int(runs_a),
        hits_absent=int(hits_b),
        runs_absent=int(runs_b),
        present_low=float(low),
        absent_high=float(high),
    )


def two_worlds(
    present: ArrayLike,
    absent: ArrayLike,
    *,
    delta: float = 0.0,
    confidence: float = CONFIDENCE,
    aim: str | Goodness = "epsilon",
) -> LowerBound:
    """What scores of runs in two worlds prove.

    The best event of the kind "score above t" or "score at most t" is chosen on the runs with even
    numbers, and counted on the others.

    Parameters
    ----------
    present, absent : arrays of shape (runs,)
        One score for each independent run; the same function of the output in both worlds.
    delta : float
        At which epsilon is bounded.
    confidence : float
    aim : {"epsilon", "mu"} or callable
        What the event is chosen for: the bound on epsilon (rare events do best), the bound on mu
        (common ones), or any function of the arrays (present_low, absent_high), to be maximised,
        such as `Claim.excess`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse.audit import two_worlds
    >>> rng = np.random.default_rng(0)
    >>> bound = two_worlds(rng.normal(1.0, 1.0, 20_000), rng.normal(0.0, 1.0, 20_000), aim="mu")
    >>> 0.85 < bound.mu <= 1.0
    True
    """
    _check(delta, confidence)
    a, b = (np.asarray(v, dtype=float) for v in (present, absent))
    if a.ndim != 1 or b.ndim != 1 or min(a.size, b.size) < 2 or np.isnan(a).any() or np.isnan(b).any():
        raise ValueError("two worlds need one score for each run, at least two runs each, and no NaN among them.")
    known: dict[str, Goodness] = {"epsilon": lambda low, high: _epsilon(low, high, delta), "mu": _mu}
    goodness = known[checks.one_of(aim, "aim", known)] if isinstance(aim, str) else aim
    threshold, above = _best_event(a[::2], b[::2], goodness, 1 - confidence)
    hits = [int(np.count_nonzero((v[1::2] > threshold) == above)) for v in (a, b)]
    found = event(hits[0], a[1::2].size, hits[1], b[1::2].size, delta, confidence)
    return LowerBound(**{**vars(found), "threshold": threshold, "above": above})


def log_odds_shift(before: ArrayLike, after: ArrayLike) -> tuple[float, float]:
    """Shift of the log-odds of a yes/no outcome between two worlds, and its standard error.

    A selection of range eta shifts the log-odds of one candidate against another by at most eta.
    """
    one, two = np.asarray(before, dtype=float), np.asarray(after, dtype=float)
    a, b = one.mean(), two.mean()
    error = math.sqrt(1 / (one.size * a * (1 - a)) + 1 / (two.size * b * (1 - b)))
    return math.log(b / (1 - b)) - math.log(a / (1 - a)), error


def binomial_probability(hits: ArrayLike, runs: int, rate: float) -> Floats:
    """Probability of each number of hits, where every run is one with probability `rate`."""
    k = np.asarray(hits, dtype=float)
    ways = gammaln(runs + 1) - gammaln(k + 1) - gammaln(runs - k + 1)
    return np.asarray(np.exp(ways + xlogy(k, rate) + xlog1py(runs - k, -rate)))


# ------------------------------------------------------------------------------------------------ inside


def _check(delta: float, confidence: float) -> None:
    if not 0 <= delta < 1 or not 0 < confidence < 1:
        raise ValueError(f"delta lies in [0, 1) and confidence in (0, 1), got {delta!r} and {confidence!r}.")


def _clopper_pearson(
    hits_a: ArrayLike, runs_a: int, hits_b: ArrayLike, runs_b: int, alarm: float
) -> tuple[Floats, Floats]:
    """Lower bound on the first probability and upper bound on the second, each failing with half of `alarm`."""
    hits_a, hits_b = np.asarray(hits_a), np.asarray(hits_b)
    with np.errstate(invalid="ignore"):
        low = np.where(hits_a == 0, 0.0, betaincinv(hits_a, runs_a - hits_a + 1, alarm / 2))
        high = np.where(hits_b == runs_b, 1.0, 1 - betaincinv(runs_b - hits_b, hits_b + 1, alarm / 2))
    return low, high


def _mu(low: Bound, high: Bound) -> Floats:
    """Distance of two normal laws that an event of these probabilities needs; minus infinity where it shows nothing."""
    known = (np.asarray(low) > 0) & (np.asarray(high) < 1)
    return np.where(known, ndtri(np.where(known, low, 0.5)) - ndtri(np.where(known, high, 0.5)), -np.inf)


def _epsilon(low: Bound, high: Bound, delta: float) -> Floats:
    """Epsilon that the event or its complement needs."""
    with np.errstate(divide="ignore"):
        rise = np.log(np.maximum(low - delta, 0.0)) - np.log(high)
        fall = np.log(np.maximum(1 - high - delta, 0.0)) - np.log1p(-np.asarray(low))
    return np.asarray(np.maximum(np.maximum(rise, fall), 0.0))


def _delta(low: Bound, high: Bound, epsilon: float) -> Floats:
    """Delta that the event or its complement needs."""
    factor = np.exp(epsilon)
    return np.asarray(np.maximum(np.maximum(low - factor * high, (1 - high) - factor * (1 - low)), 0.0))


def _best_event(a: Floats, b: Floats, goodness: Goodness, alarm: float) -> tuple[float, bool]:
    """Threshold and side for which the certain bounds of these runs are best."""
    both = np.concatenate([a, b])
    tails = np.logspace(-4, -1.2, 40)
    levels = np.concatenate([tails, np.linspace(0.07, 0.93, 87), 1 - tails])
    thresholds = np.unique(np.quantile(both, levels, method="inverted_cdf"))
    counts = [v.size - np.searchsorted(np.sort(v), thresholds, side="right") for v in (a, b)]
    best, chosen = -math.inf, (float(thresholds[0]), True)
    for above in (True, False):
        hits = counts if above else [a.size - counts[0], b.size - counts[1]]
        values = np.nan_to_num(goodness(*_clopper_pearson(hits[0], a.size, hits[1], b.size, alarm)), nan=-math.inf)
        index = int(np.argmax(values))
        if values[index] > best:
            best, chosen = float(values[index]), (float(thresholds[index]), above)
    return chosen
