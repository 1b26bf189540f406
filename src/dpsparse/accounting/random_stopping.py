r"""The privacy cost of a search that keeps the best of a random number of private runs.

A search draws a number of runs K from a public law and keeps it secret, lets each run draw a
candidate, fit it and score it privately, and publishes the run with the best score: its candidate,
its model, its score, and nothing of the others. `SearchCost` bounds the cost of the search from that of one run in
two ways, by Renyi divergences and by the delta curve (`SearchProfile`), and charges the smaller.

Guarantee
---------
**Renyi divergences.** Let one run have Renyi divergences :math:`\epsilon(\lambda)` and hockey-stick divergence
:math:`\hat\delta(\cdot)`, for every candidate, and let K have the generating function f. Then the
search has Renyi divergence at most [PS22]_

* logarithmic (:math:`\eta = 0`) and geometric law (:math:`\eta = 1`), with parameter
  :math:`\gamma`, for every :math:`\hat\lambda > 1`:

  .. math:: \epsilon(\lambda) + (1+\eta)\Bigl[\bigl(1-\tfrac1{\hat\lambda}\bigr)\epsilon(\hat\lambda)
            + \frac{\log(1/\gamma)}{\hat\lambda}\Bigr] + \frac{\log E K}{\lambda-1};

* Poisson law of mean m, with :math:`\hat\delta` at :math:`\log(1 + 1/(\lambda-1))`, and
  :math:`e^{-m}` for K = 0, where the answer is a public default:

  .. math:: \frac{1}{\lambda-1}\log\Bigl(m\,e^{(\lambda-1)(\epsilon(\lambda) + m\hat\delta)} + e^{-m}\Bigr).

``docs/guarantees/search.md`` has the proofs, also for the second bound. They need that K is drawn from its whole
law (never truncated), that it is not published, and that runs are compared by their private scores
alone.

**Delta curve.** This bound is often better [KRW24]_. Let one run have hockey-stick divergence at most
:math:`\hat\delta(e)` in both directions, and let the number of runs have the generating function f. An outcome
that is beaten with probability p by another run under one dataset, and with probability p' under its neighbour,
is returned with density :math:`f'(1-p)\,dQ` and :math:`f'(1-p')\,dQ'`. With

.. math:: W(p) = f'(1-p), \qquad R(p) = \frac{W(p)}{W(T(p))}, \qquad
          T(p) = \inf_e\; e^e p + \hat\delta(e) \ge p',

the search has :math:`\delta(\epsilon) \le E_{Q'}\psi(dQ/dQ')` for
:math:`\psi(l) = \sup_p W(p)\,(l - e^\epsilon/R(p))_+`. That is convex, a sum of hockey sticks
:math:`\sum_k s_k (l - e^\epsilon t_k)_+`, so

.. math:: \delta(\epsilon) \le \sum_k s_k\,\hat\delta(\epsilon + \log t_k).

The one term :math:`E K\,\hat\delta(\epsilon - \log\max_p R)`
of [KRW24]_ is never smaller: :math:`\sum_k s_k = E K` and :math:`t_k \ge 1/\max_p R`.

References
----------
.. [PS22] Papernot and Steinke, ICLR 2022, Theorems 2 and 6. The term :math:`e^{-m}` is ours.
.. [KRW24] Koskela, Redberg and Wang, ICML 2024: privacy profiles for private selection.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any, ClassVar

import numpy as np

from ..core.adjacency import Adjacency
from ..core.checks import is_number
from ..core.codec import form
from ..core.curves import ORDERS, Curve, largest
from ..core.errors import BudgetError
from .costs.base import Cost, delta_from_renyi, epsilon_from_renyi
from .costs.fixed import FixedCost, calibrate

#: Slopes that fall and starting points: p' <= slope * p + start for every event, each line on its own.
Lines = tuple[Curve, Curve]

#: Lines that bound the trade-off curve of a run. Any number is valid; at 1000 the mean mu is within 1e-3 of its limit.
LINES = 1000
#: Delta of a run beyond which its curve is not followed.
FARTHEST = 1e-15
#: Part by which places and sums are moved to the safe side: over 1000 times the rounding of a sum of `LINES` numbers.
MARGIN = 1e-9


@dataclass(frozen=True, eq=False)
class SearchProfile:
    """Weights s and shifts log t of the sum above, and the delta curve of a run (at any epsilon >= 0)."""

    weights: Curve
    shifts: Curve
    run: Callable[[Curve], Curve]

    @classmethod
    def of(cls, run: Callable[[Curve], Curve], log_slope: Callable[[Curve], Curve]) -> SearchProfile:
        """For runs with this delta curve; `log_slope` is the logarithm of W, which falls in p."""
        return cls(*sticks(_lines(run), log_slope), run)

    def delta(self, epsilon: float) -> float:
        """Hockey-stick divergence of the search."""
        terms = self.weights * _both_sides(self.run, epsilon + self.shifts)
        return min(1.0, float(terms.sum()) * (1 + MARGIN))

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon >= 0 that is certified at `delta`, rounded up."""
        if self.delta(0.0) <= delta:
            return 0.0
        high = 1.0
        while self.delta(high) > delta:
            high *= 2
            if high > 1e6:
                return float("inf")
        return high - largest(lambda gap: self.delta(high - gap) <= delta, 0.0, high, steps=60)


def _both_sides(run: Callable[[Curve], Curve], e: Curve) -> Curve:
    r"""The curve at any e: :math:`H_a(P\|Q) = 1 - a + a H_{1/a}(Q\|P)`."""
    right = run(np.abs(e))
    left = -np.expm1(np.minimum(e, 0.0)) + np.exp(np.minimum(e, 0.0)) * right
    return np.asarray(np.where(e < 0, left, right))


def _lines(run: Callable[[Curve], Curve]) -> Lines:
    """Lines above the trade-off curve of a run, from its delta curve: p' <= exp(e) p + delta(e)."""
    end = 1.0
    while float(run(np.array([end]))[0]) > FARTHEST and end < 512.0:
        end *= 2
    start = end
    end -= largest(lambda gap: float(run(np.array([start - gap]))[0]) <= FARTHEST, 0.0, start * (1 - 1e-3), steps=12)
    e = np.linspace(end, -end, LINES)
    return np.exp(e), _both_sides(run, e)


def sticks(lines: Lines, log_slope: Callable[[Curve], Curve]) -> tuple[Curve, Curve]:
    """Weights and log places of hockey sticks whose sum is above psi, in units of exp(epsilon).

    Every line is above p' everywhere, whatever its neighbours; it is used between its meeting
    points with them, where it is the lowest. On a line log R has its maximum at an end of the
    stretch: for the logarithmic and geometric laws it is a multiple of the logarithm of a ratio of
    two linear functions, for the Poisson law it is linear. W falls in p.
    """
    slopes, starts = lines  # slopes fall: the first line is used at the smallest p
    with np.errstate(divide="ignore", invalid="ignore"):
        meets = np.clip(np.nan_to_num(np.diff(starts) / -np.diff(slopes), nan=0.0), 0.0, 1.0)
    meets = np.r_[0.0, np.maximum.accumulate(meets), 1.0]
    ends = [meets[:-1], meets[1:]]
    log_w = log_slope(ends[0])
    log_r = np.max([log_slope(p) - log_slope(slopes * p + starts) for p in ends], axis=0)
    front = np.r_[True, log_r[1:] > np.maximum.accumulate(log_r)[:-1]]  # the rest has a smaller W and no larger R
    weights, places = np.exp(log_w[front]), np.exp(-np.maximum(log_r[front], 0.0))
    kept: list[int] = []
    joints: list[float] = []  # where each kept line overtakes the one after it
    for i in range(weights.size):  # slopes fall and zeros fall: an upper envelope, from the right
        while kept:
            j = kept[-1]
            rise = weights[j] - weights[i]
            joint = (weights[j] * places[j] - weights[i] * places[i]) / rise if rise > 0 else np.inf
            if joint < (joints[-1] if joints else np.inf):
                joints.append(joint)
                break
            kept.pop()
            if joints:
                joints.pop()
        kept.append(i)
    places_of = np.r_[joints, places[kept[-1]]]
    steps = -np.diff(np.r_[weights[kept], 0.0])
    return steps, np.log(np.asarray(places_of)) - MARGIN * 1e-3


#: Begins the accountant of a statement about a search.
RANDOM_STOPPING = "random stopping"


# ------------------------------------------------------------------------------------------------ laws


def deltas_of(base: Cost, epsilons: Curve) -> Curve:
    """Delta of a run at many epsilons >= 0."""
    return base.deltas(epsilons) if isinstance(base, FixedCost) else np.array([base.delta(float(e)) for e in epsilons])


def _negative_binomial(base: Cost, orders: Curve, eta: float, gamma: float, mean: float) -> Curve:
    """Theorem 2 of [PS22]_; the order of the second term is free, and any choice is valid."""
    hat = (1 - 1 / ORDERS) * base.renyi() + math.log(1 / gamma) / ORDERS
    return base.renyi(orders) + (1 + eta) * float(hat.min()) + math.log(mean) / (orders - 1)


@form("law", "logarithmic")
@dataclass(frozen=True)
class Logarithmic:
    r""":math:`P(K=k) = (1-\gamma)^k / (k\log(1/\gamma))`, k >= 1.

    Heavy-tailed: many searches are one run, some are long.
    """

    name: ClassVar[str] = "logarithmic"
    none: ClassVar[float] = 0.0
    gamma: float

    @classmethod
    def of_mean(cls, mean: float) -> Logarithmic:
        """The law with this mean."""
        depth = largest(lambda t: math.expm1(t) / t <= mean, 1e-12, 700.0)
        return cls(math.exp(-depth))

    @property
    def mean(self) -> float:
        """(1/gamma - 1)/log(1/gamma)."""
        return (1 / self.gamma - 1) / math.log(1 / self.gamma)

    def draw(self, generator: np.random.Generator) -> int:
        """A number of runs."""
        return int(generator.logseries(1 - self.gamma))

    def renyi(self, base: Cost, orders: Curve = ORDERS) -> Curve:
        """Renyi divergences of a search."""
        return _negative_binomial(base, orders, 0.0, self.gamma, self.mean)

    def log_slope(self, p: Curve) -> Curve:
        """Logarithm of E K gamma / (gamma + (1 - gamma) p)."""
        return math.log(self.mean * self.gamma) - np.log(self.gamma + (1 - self.gamma) * p)


@form("law", "geometric")
@dataclass(frozen=True)
class Geometric:
    r""":math:`P(K=k) = \gamma(1-\gamma)^{k-1}`, k >= 1."""

    name: ClassVar[str] = "geometric"
    none: ClassVar[float] = 0.0
    gamma: float

    @classmethod
    def of_mean(cls, mean: float) -> Geometric:
        """The law with this mean."""
        return cls(1 / mean)

    @property
    def mean(self) -> float:
        """1/gamma."""
        return 1 / self.gamma

    def draw(self, generator: np.random.Generator) -> int:
        """A number of runs."""
        return int(generator.geometric(self.gamma))

    def renyi(self, base: Cost, orders: Curve = ORDERS) -> Curve:
        """Renyi divergences of a search."""
        return _negative_binomial(base, orders, 1.0, self.gamma, self.mean)

    def log_slope(self, p: Curve) -> Curve:
        """Logarithm of gamma / (gamma + (1 - gamma) p)^2."""
        return math.log(self.gamma) - 2 * np.log(self.gamma + (1 - self.gamma) * p)


@form("law", "poisson")
@dataclass(frozen=True)
class PoissonRuns:
    r""":math:`P(K=k) = e^{-m}m^k/k!`, k >= 0.

    No run at all has probability :math:`e^{-m}`: the answer is then a public default.
    """

    name: ClassVar[str] = "poisson"
    mean: float

    @classmethod
    def of_mean(cls, mean: float) -> PoissonRuns:
        """The law with this mean."""
        return cls(float(mean))

    @property
    def none(self) -> float:
        """exp(-mean)."""
        return math.exp(-self.mean)

    def draw(self, generator: np.random.Generator) -> int:
        """A number of runs."""
        return int(generator.poisson(self.mean))

    def renyi(self, base: Cost, orders: Curve = ORDERS) -> Curve:
        """Renyi divergences of a search."""
        at = -np.log1p(-1 / orders)
        hats = deltas_of(base, at)
        exponent = (orders - 1) * (base.renyi(orders) + self.mean * hats) + math.log(self.mean)
        return np.asarray(np.logaddexp(exponent, -self.mean) / (orders - 1))

    def log_slope(self, p: Curve) -> Curve:
        """Logarithm of m exp(-m p)."""
        return np.asarray(math.log(self.mean) - self.mean * p)


LAWS: dict[str, type[Logarithmic] | type[Geometric] | type[PoissonRuns]] = {
    law.name: law for law in (Logarithmic, Geometric, PoissonRuns)
}


def law_of(name: str, mean_runs: float) -> Logarithmic | Geometric | PoissonRuns:
    """A law by name.

    ``auto`` is logarithmic, which gives each run the most at every mean (see
    ``docs/guarantees/search.md``).

    Examples
    --------
    >>> round(law_of("auto", 10).mean, 6)
    10.0
    """
    if not is_number(mean_runs) or not 1 < mean_runs <= 1e6:
        raise BudgetError(
            f"mean_runs must be a number above 1 and at most 1e6, got {mean_runs!r}. Use 10 for a first search."
        )
    if name == "auto":
        name = Logarithmic.name
    if name not in LAWS:
        raise BudgetError(f"law must be 'auto' or one of {', '.join(map(repr, LAWS))}, got {name!r}.")
    return LAWS[name].of_mean(float(mean_runs))


# ------------------------------------------------------------------------------------------------ bill


def _separate_law(content: dict[str, Any]) -> dict[str, Any]:
    law = content.get("law")
    return content | {
        "law": {"law": law, "mean" if law == PoissonRuns.name else "gamma": content.pop("parameter", None)}
    }


@form(
    "kind",
    "search",
    out=lambda c: c | dict(zip(("law", "parameter"), c["law"].values(), strict=True)),
    back=_separate_law,
)
@dataclass(frozen=True)
class SearchCost:
    """The best of a random number of runs that cost `base` each, whichever candidate they draw.

    Examples
    --------
    One run at epsilon 1, the best of 10 on average: epsilon 1.39 (delta 1e-6), where composition would take 3.52.

    >>> from dpsparse.core.curves import gaussian_mu
    >>> run = FixedCost(gaussian_mu(1.0, 1e-6) ** 2 / 2, gaussian=True)
    >>> round(SearchCost(run, Logarithmic.of_mean(10)).epsilon(1e-6), 2)
    1.39
    """

    base: Cost
    law: Logarithmic | Geometric | PoissonRuns

    @property
    def adjacency(self) -> Adjacency:
        """That of the runs."""
        return self.base.adjacency

    def renyi(self, orders: Curve = ORDERS) -> Curve:
        """See the module's guarantee."""
        return self.law.renyi(self.base, orders)

    def pure(self) -> float:
        """(2 + eta) times that of one run [PS22]_; none for the Poisson law."""
        factor = {Logarithmic.name: 2.0, Geometric.name: 3.0}.get(self.law.name, math.inf)
        return factor * self.base.pure()

    def mu(self) -> float:
        """Not proven for any mu."""
        return math.inf

    @cached_property
    def profile(self) -> SearchProfile:
        """The delta curve of the search from that of a run."""
        return SearchProfile.of(partial(deltas_of, self.base), self.law.log_slope)

    def delta(self, epsilon: float) -> float:
        """The smaller of two bounds: from the Renyi curve of a run, and from its delta curve."""
        return 0.0 if epsilon >= self.pure() else min(delta_from_renyi(self, epsilon), self.profile.delta(epsilon))

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon at which either bound states this delta."""
        found = epsilon_from_renyi(self, delta)
        return found if delta == 0 else min(found, self.profile.epsilon(delta))

    def scaled(self, factor: float) -> SearchCost:
        """The same law over runs with every rho times `factor`."""
        return SearchCost(self.base.scaled(factor), self.law)


# ------------------------------------------------------------------------------------------------ calibration


@lru_cache(maxsize=64)
def calibrate_search(
    epsilon: float,
    delta: float,
    law: Logarithmic | Geometric | PoissonRuns,
    *,
    gaussian: bool,
    adjacency: Adjacency = Adjacency.REPLACE_ONE,
    excess: float = 0.0,
    slack: float = 0.0,
) -> SearchCost:
    """The most that each run may cost so that the whole search is (epsilon, delta)-DP.

    `FixedCost` says what a run has to keep.

    Examples
    --------
    >>> bill = calibrate_search(1.0, 1e-6, law_of("logarithmic", 10), gaussian=True)
    >>> round(bill.base.epsilon(1e-6), 2), bill.epsilon(1e-6) <= 1.0
    (0.71, True)
    """
    return calibrate(epsilon, delta, lambda rho: SearchCost(FixedCost(rho, gaussian, adjacency, excess, slack), law))
