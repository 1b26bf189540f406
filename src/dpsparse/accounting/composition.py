"""The account of draws that are all known: every language in which their composition can be priced."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..core.adjacency import Adjacency
from ..core.budget import Budget
from ..core.curves import ORDERS, Curve, gaussian_delta, renyi_delta, renyi_epsilon
from ..core.errors import PrivacyError
from . import pld, selections
from .draws import TurnCosts
from .pricing import LARGEST_RECURSION_EPSILON, spent_epsilon
from .recursion import UNIT
from .sampled_renyi import sampled_renyi
from .stages import Stage


@dataclass(frozen=True, eq=False)
class Account:
    """Draws under an adjacency.

    Guarantee
    ---------
    Every method is the least of bounds that are each valid for the adaptive composition of the draws (`draws`, `pld`,
    `selections`, `sampled_renyi`), in both directions.
    """

    costs: TurnCosts
    adjacency: Adjacency

    @cached_property
    def _everywhere(self) -> Curve:
        return self._renyi(ORDERS)

    def renyi(self, orders: Curve = ORDERS) -> Curve:
        """Renyi divergences; sampling and random numbers of turns are counted."""
        return self._everywhere if orders is ORDERS else self._renyi(orders)

    def _renyi(self, orders: Curve) -> Curve:
        costs = self.costs
        if not costs.sampled:
            return costs.renyi(orders)
        found = sampled_renyi(self._steps, self.adjacency, orders)
        return found if costs.random else np.minimum(found, costs.renyi(orders))

    def pure(self) -> float:
        """Epsilon at delta = 0."""
        return self.costs.pure if self.costs.all_pure else math.inf

    def mu(self) -> float:
        """GDP from closed forms: exact for unsampled Gaussians."""
        return self.costs.mu

    @property
    def exact(self) -> bool:
        """Whether `mu` is exact: nothing but unsampled Gaussians, in every branch."""
        return self.costs.gaussian and not self.costs.sampled

    def delta(self, epsilon: float) -> float:
        """Hockey-stick divergence."""
        costs = self.costs
        if epsilon >= self.pure():
            return 0.0
        found = [gaussian_delta(epsilon, costs.mu)] if costs.mu < math.inf else []
        if not self.exact:
            found.append(renyi_delta(self.renyi(), epsilon))
        if self._stage is not None:
            found.append(selections.stage_delta(epsilon, self._stage))
        if costs.sampled:
            found.append(pld.sampled_delta(self._steps, epsilon, self.adjacency))
        return min(found)

    def deltas(self, epsilons: Curve, scale: float) -> Curve:
        """Hockey-stick divergences at many epsilons >= 0, from one run of each accountant; sharp down to `scale`."""
        costs = self.costs
        found = np.array([renyi_delta(self.renyi(), float(e)) for e in epsilons])
        found[epsilons >= self.pure()] = 0.0
        if self._stage_curve is not None:
            grid, bounds = self._stage_curve  # between its points chords in exp(epsilon) lie above a delta curve
            alphas = np.exp(np.minimum(epsilons, grid[-1])) * (1 - 16 * UNIT)
            found = np.minimum(found, np.interp(alphas, np.exp(grid), bounds) + 16 * UNIT)
        if costs.sampled:
            losses = pld.composed_losses(self._steps, self.adjacency, scale)
            found = np.minimum(found, [max(loss.delta(float(e)) for loss in losses) for e in epsilons])
        return found

    def epsilon(self, delta: float) -> float:
        """What an accountant certifies for the whole."""
        return spent_epsilon(self.costs, delta, Budget(adjacency=self.adjacency))

    @cached_property
    def _stage(self) -> Stage | None:
        """For the recursion over selections, where that applies and its grid is not too wide."""
        small = renyi_epsilon(self.renyi(), 1e-6) <= 1.5 * LARGEST_RECURSION_EPSILON
        return self.costs.stage() if small else None

    @cached_property
    def _stage_curve(self) -> tuple[Curve, Curve] | None:
        return None if self._stage is None else selections.stage_curve(self._stage)

    @property
    def _steps(self) -> list[pld.LossCounts]:
        if not self.costs.gaussian or self.costs.branches:
            raise PrivacyError("a bill that samples rows may hold Gaussian asks only, and no branches.")
        return self.costs.multipliers(self.adjacency.kappa)
