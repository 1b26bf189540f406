"""Privacy of whole sites, where they trust their server."""

from __future__ import annotations

from dataclasses import dataclass

from ...accounting import PricedPlan, price
from ...core import Budget, checks
from ...fitting import default_delta
from ...oracles.client_updates import changes_plan


@dataclass(frozen=True, kw_only=True)
class SitePrivacy:
    """Privacy of whole sites, by noise that a **trusted server** adds to the average.

    Parameters
    ----------
    epsilon : float
    delta : float or None
        None: min(1e-6, 1/(10 N)) for N sites.
    clip : float
        Norm within which one site changes the model in a round.
    rate : float
        With which probability a site takes part in a round, by coins that the server keeps secret; 1: always.
    adjacency : {"replace-one", "add-remove"}
        Of sites.
    """

    epsilon: float
    delta: float | None = None
    clip: float
    rate: float = 1.0
    adjacency: str = "replace-one"

    def __post_init__(self) -> None:
        checks.positive(self.clip, "clip")
        if self.rate != 1.0:
            checks.fraction(self.rate, "rate")

    def price(self, rounds: int, sites: int) -> tuple[PricedPlan, float]:
        """The price of all rounds, and the delta at which it is stated."""
        delta = default_delta(sites) if self.delta is None else self.delta
        return price(changes_plan(rounds, self.rate), Budget.approx(self.epsilon, delta, self.adjacency)), delta
