r"""Federated hard thresholding: rounds of local steps and averages, private when the oracles of the sites are.

.. math:: w_{t+1} = H_\tau\Bigl(w_t + \sum_i p_i\,\bigl(\mathrm{steps}_i(w_t) - w_t\bigr)\Bigr), \qquad \sum_i p_i = 1

Each site takes K steps of stochastic gradient hard thresholding (`SGD`) from the model of the
round; the server averages what changed, with *public* weights, and thresholds again. With noisy
gradients this is DP-FedSGD-HT, on all rows DP-FedGD-HT, with exact gradients FedSGD-HT [L22]_. A
site that does not answer has changed nothing: the weights stay, and so does the divisor.

`run` is the federation of one site, which holds all rows. ``dpsparse.federated`` has sites and a
server.

References
----------
.. [L22] Liang, Tong, Ding, Pan and Bi, 2022, section 6.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..core.budget import Budget
from ..core.facts import Facts, Vector
from ..core.plan import Plan
from ..ops import hard_threshold
from ..queries.kinds import Oracle, Path
from .sgd import SGD


@dataclass(frozen=True, kw_only=True)
class FedHT:
    """Rounds of local steps, averaged and thresholded.

    Parameters
    ----------
    local : SGD
        The K steps of one site in one round.
    rounds : int
        How often models are exchanged; fixed before any row is read.
    sparsity : int
        Nonzero coefficients kept by the server, without the intercept.
    """

    local: SGD
    rounds: int
    sparsity: int

    def plan(self, facts: Facts, budget: Budget) -> Plan:
        """What one site is asked in all rounds together."""
        return self.round_plan(facts, budget).repeated(self.rounds)

    def round_plan(self, facts: Facts, budget: Budget) -> Plan:
        """What one site is asked in one round."""
        return self.local.plan(facts, budget)

    def run(self, oracle: Oracle, path: Path | None = None) -> Vector:
        """The model of a federation of one site."""
        w = oracle.facts.first()
        for _ in range(self.rounds):
            w = self.average(w, [(1.0, self.local.run_from(w, oracle, path) - w)], oracle.facts.free)
        return w

    def average(self, w: Vector, changes: Iterable[tuple[float, Vector]], free: int) -> Vector:
        """The server's step: a model moved by the changes of the sites, and thresholded.

        Each change comes with the public weight of its site. The last `free` entries are never
        thresholded.
        """
        moved = w.copy()
        for weight, change in changes:
            moved += weight * change
        return hard_threshold(moved, self.sparsity, free)
