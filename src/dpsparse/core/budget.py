"""What is guaranteed: a budget in one of three languages."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

from .adjacency import Adjacency
from .curves import ORDERS, gaussian_mu, largest, renyi_delta
from .errors import BudgetError


def _positive(value: float, what: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise BudgetError(f"{what} must be a positive number, got {value!r}.") from None
    if not (math.isfinite(number) and number > 0):
        raise BudgetError(
            f"{what} must be a positive finite number, got {value!r}. For a fit without privacy "
            "use a baseline such as recipe='ight'."
        )
    return number


@dataclass(frozen=True)
class Budget:
    """A privacy budget; make one with `approx`, `zcdp` or `gdp`.

    Exactly one language is set: ``epsilon`` and ``delta``, or ``rho``, or ``mu``.

    Examples
    --------
    >>> Budget.approx(1.0, 1e-6)
    Budget(epsilon=1, delta=1e-06)
    >>> Budget.zcdp(0.1).rho
    0.1
    """

    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    mu: float | None = None
    adjacency: Adjacency | None = None

    @classmethod
    def approx(cls, epsilon: float, delta: float, adjacency: str | None = None) -> Budget:
        """(epsilon, delta)-DP; delta = 0 is pure DP and needs a plan of pure mechanisms."""
        epsilon = _positive(epsilon, "epsilon")
        try:
            number = float(delta)
        except (TypeError, ValueError):
            raise BudgetError(f"delta must be a number in [0, 1), got {delta!r}.") from None
        if not 0 <= number < 1:
            raise BudgetError(f"delta must lie in [0, 1), got {delta!r}. A usual choice is well below 1/n.")
        return cls(epsilon=epsilon, delta=number, adjacency=None if adjacency is None else Adjacency.named(adjacency))

    @classmethod
    def zcdp(cls, rho: float, adjacency: str | None = None) -> Budget:
        """rho-zero-concentrated DP."""
        return cls(rho=_positive(rho, "rho"), adjacency=None if adjacency is None else Adjacency.named(adjacency))

    @classmethod
    def gdp(cls, mu: float, adjacency: str | None = None) -> Budget:
        """mu-Gaussian DP."""
        return cls(mu=_positive(mu, "mu"), adjacency=None if adjacency is None else Adjacency.named(adjacency))

    def under(self, adjacency: str) -> Budget:
        """The same budget for this adjacency; refuses to change one that was set."""
        wanted = Adjacency.named(adjacency)
        if self.adjacency not in (None, wanted):
            raise BudgetError(
                f"the budget was made for adjacency {str(self.adjacency)!r}, but {str(wanted)!r} was asked for. "
                "Give the adjacency in one place only."
            )
        return replace(self, adjacency=wanted)

    @property
    def kappa(self) -> int:
        """Records' worth of movement between neighbours; replace-one unless set otherwise."""
        return (self.adjacency or Adjacency.REPLACE_ONE).kappa

    @property
    def relation(self) -> Adjacency:
        """The adjacency, replace-one unless set otherwise."""
        return self.adjacency or Adjacency.REPLACE_ONE

    def as_rho(self) -> float:
        """A rho for planning: rho-zCDP that implies this budget.

        Defaults that need a first idea of the noise before the plan is known use it. It never decides a noise scale:
        that is done by `price`.
        """
        if self.rho is not None:
            return self.rho
        if self.mu is not None:
            return self.mu**2 / 2
        assert self.epsilon is not None
        assert self.delta is not None
        if self.delta == 0:
            return self.epsilon**2 / 2
        return _rho(self.epsilon, self.delta)

    def as_mu(self) -> float:
        """A mu for planning: what an all-Gaussian plan may spend."""
        if self.mu is not None:
            return self.mu
        if self.epsilon is not None and self.delta:
            return gaussian_mu(self.epsilon, self.delta)
        return math.sqrt(2 * self.as_rho())

    def __repr__(self) -> str:
        fields = [(k, getattr(self, k)) for k in ("epsilon", "delta", "rho", "mu")]
        text = ", ".join(f"{k}={v:g}" for k, v in fields if v is not None)
        return f"Budget({text}{'' if self.adjacency is None else f', adjacency={str(self.adjacency)!r}'})"


@lru_cache(maxsize=1024)
def _rho(epsilon: float, delta: float) -> float:
    """The largest rho of which the Renyi conversion certifies (epsilon, delta), from below."""
    high = 1.0
    while renyi_delta(high * ORDERS, epsilon) <= delta:
        high *= 2
    return largest(lambda rho: renyi_delta(rho * ORDERS, epsilon) <= delta, 0.0, high, steps=60)
