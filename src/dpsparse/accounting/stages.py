"""Plans as a tree of stages: selections in order, noise anywhere, then one of several branches.

A solver that first measures something and then decides how many coordinates to select has one stage
before the decision and one branch for each outcome. Several such models, one after the other, are
one stage that runs several times. Ranges, noise levels and counts of every branch are public.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

Counted = Sequence[tuple[float, int]]

#: Selections that a stage takes one by one. If it has more, runs of equal range are gathered in blocks.
ONE_BY_ONE = 256


@dataclass(frozen=True)
class Stage:
    """A stretch of a plan, and the stretches of which one may follow.

    Parameters
    ----------
    selections : tuple of (range, count)
        In the order in which they run: another order of unequal ranges can have a larger delta (14
        % seen).
    mu : float
        Root of the summed squares of sensitivity / sigma of the Gaussians, wherever in the stage
        they run.
    laplaces : tuple of (sensitivity / scale, count)
        Laplace noises, wherever in the stage they run.
    branches : tuple of Stage
        What may follow. Anything released until then may choose among them.
    pures : tuple of (epsilon, count)
        Draws that are epsilon-DP and of which nothing else is known, wherever in the stage they
        run.
    objectives : tuple of (m, offset, count)
        Perturbed objectives with this ratio of sensitivity to noise and this log-determinant,
        wherever in the stage they run.
    times : int
        How often the stage and one of its branches run, one after the other; each time another
        branch may be chosen.
    """

    selections: tuple[tuple[float, int], ...] = ()
    mu: float = 0.0
    laplaces: tuple[tuple[float, int], ...] = ()
    branches: tuple[Stage, ...] = ()
    pures: tuple[tuple[float, int], ...] = ()
    times: int = 1
    objectives: tuple[tuple[float, float, int], ...] = ()

    def __post_init__(self) -> None:
        some = self.selections + self.laplaces + self.pures + self.objectives
        numbers = [self.mu, self.times, *(x for numbers in some for x in numbers)]
        if not all(0 <= x < math.inf for x in numbers):
            raise ValueError(f"Expected finite ranges, noise levels and counts, none negative; got {self}.")

    @classmethod
    def from_shares(
        cls,
        selections: Counted = (),
        gaussian: float = 0.0,
        laplaces: Counted = (),
        branches: Sequence[Stage] = (),
        pures: Counted = (),
        objectives: Sequence[tuple[float, float, int]] = (),
    ) -> Stage:
        """The stage with given zCDP costs.

        Ranges sqrt(8 rho), levels of Gaussian, Laplace and pure draws and of objectives sqrt(2
        rho).
        """
        ranges = tuple((math.sqrt(8 * rho), count) for rho, count in selections)
        levels, epsilons = (tuple((math.sqrt(2 * rho), count) for rho, count in some) for some in (laplaces, pures))
        tilts = tuple((math.sqrt(2 * rho), offset, count) for rho, offset, count in objectives)
        return cls(ranges, math.sqrt(2 * gaussian), levels, tuple(branches), epsilons, objectives=tilts)

    def scaled(self, factor: float) -> Stage:
        """The same plan with every range and noise level times a factor; offsets are what they are."""
        some = (self.selections, self.laplaces, self.pures)
        selections, laplaces, pures = (tuple((factor * level, count) for level, count in pairs) for pairs in some)
        branches = tuple(b.scaled(factor) for b in self.branches)
        tilts = tuple((factor * m, offset, count) for m, offset, count in self.objectives)
        return Stage(selections, factor * self.mu, laplaces, branches, pures, self.times, tilts)

    @cached_property
    def steps(self) -> tuple[tuple[float, ...], Counter[tuple[float, int]]]:
        """Ranges taken one by one, in order; and how many blocks there are of each (range, size)."""
        singles: list[float] = []
        blocks: Counter[tuple[float, int]] = Counter()
        gather = sum(count for eta, count in self.selections if eta > 0) > ONE_BY_ONE
        for eta, run in groupby(self.selections, key=lambda pair: pair[0]):
            count = sum(n for _, n in run)
            if gather and count >= ONE_BY_ONE // 4 and eta > 0:
                size = best_size(count)
                blocks[eta, size] += math.ceil(count / size)
            elif eta > 0:
                singles += [eta] * count
        return tuple(singles), blocks

    @property
    def variance(self) -> float:
        """Variance of the privacy loss, to leading order."""
        own = self.mu**2 + sum(n * eta**2 / 4 for eta, n in self.selections)
        own += sum(n * level**2 for level, n in self.laplaces + self.pures) + sum(
            n * m**2 for m, _, n in self.objectives
        )
        return self.times * (own + max((branch.variance for branch in self.branches), default=0.0))

    @property
    def largest_loss(self) -> float:
        """The epsilon from which on delta is 0."""
        bounded = self.mu == 0 and not self.objectives
        own = sum(n * level for level, n in self.selections + self.laplaces + self.pures) if bounded else math.inf
        return self.times * (own + max((branch.largest_loss for branch in self.branches), default=0.0))

    @property
    def offset(self) -> float:
        """Loss that no noise removes."""
        own = sum(n * offset for _, offset, n in self.objectives)
        return self.times * (own + max((branch.offset for branch in self.branches), default=0.0))

    @property
    def shift(self) -> float:
        """How far perturbed objectives move losses up, roughly: their offsets and their size."""
        own = sum(n * (offset + m) for m, offset, n in self.objectives)
        return self.times * (own + max((branch.shift for branch in self.branches), default=0.0))

    @property
    def own_length(self) -> int:
        """Operators of this stage without its branches."""
        singles, blocks = self.steps
        noises = sum(n for _, n in self.laplaces + self.pures) + sum(n for _, _, n in self.objectives)
        return len(singles) + blocks.total() + noises + (self.mu > 0)

    @property
    def length(self) -> int:
        """Operators on the longest path."""
        return self.times * (self.own_length + max((branch.length for branch in self.branches), default=0))

    @property
    def operators(self) -> int:
        """Operators in all branches together, and inside the blocks."""
        inside = sum(size for _, size in self.steps[1])
        return self.times * (self.own_length + inside + sum(branch.operators for branch in self.branches))

    @property
    def single_counts(self) -> Counter[float]:
        """How often each range is taken one by one in some stage, at most."""
        counts = Counter(self.steps[0])
        for branch in self.branches:
            counts |= branch.single_counts
        return counts

    @property
    def heaviest_range(self) -> float:
        """The range that adds most to the variance among those taken one by one, or 0."""
        counts: dict[float, int] = {}
        near = 0.0
        for eta, n in sorted(
            self.single_counts.items(), reverse=True
        ):  # equal but for rounding counts as equal, at any scale
            near = near if eta >= (1 - 1e-9) * near > 0 else eta
            counts[near] = counts.get(near, 0) + n
        weights = {eta: n * eta**2 for eta, n in counts.items()}
        enough = (1 - 1e-9) * max(weights.values(), default=0.0)  # among equals the largest range
        return max((eta for eta in weights if weights[eta] >= enough), default=0.0)


def best_size(count: int) -> int:
    """Block size for a run: least filled up, and few blocks (each costs about half a selection extra)."""
    sizes = range(ONE_BY_ONE // 4, min(count, ONE_BY_ONE) + 1)
    return min(sizes, key=lambda size: math.ceil(count / size) * (size + 0.5))
