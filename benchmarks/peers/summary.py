"""What the results decide: wins, ties and losses, and parts of the attainable."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpsparse.report.bench import Results, StudyClaim
from dpsparse.report.bench.results import mean_and_error

from .methods import METHODS
from .rows import DATA
from .study import METRIC

#: Tables on which less than this part of a constant's deviance can be gained say nothing about the part that is lost.
LEAST_GAIN = 0.02
#: Training records that divide small tables from others.
FEW = 1000
#: A part of the attainable that counts as a loss worth naming.
WORTH_NAMING = 0.05


@dataclass(frozen=True)
class Gap:
    """How much more of the attainable a peer reaches than we do on one table; `decided` at two standard errors."""

    data: str
    epsilon: float
    mine: str
    peer: str
    part: float
    decided: bool


@dataclass(frozen=True)
class Summary:
    """Questions to the results."""

    results: Results

    def values(self, data: str, method: str, epsilon: float, metric: str = METRIC) -> dict[int, float]:
        """A score by split; of a model without privacy, whatever epsilon is."""
        return self.results.values(data, method, epsilon if METHODS[method].private else math.inf, metric)

    def mean(self, data: str, method: str, epsilon: float, metric: str = METRIC) -> float:
        """Its mean; nan where there is none."""
        found = self.values(data, method, epsilon, metric)
        return float(np.mean(list(found.values()))) if found else math.nan

    @cached_property
    def data(self) -> tuple[str, ...]:
        """What was measured, in the order of the study."""
        there = {cell.data for cell in self.results.errors}
        return tuple(name for name in DATA if name in there)

    def splits(self, data: str) -> int:
        """How many splits our default was run on."""
        return max(len(self.values(data, "dpsparse auto", e)) for e in (1.0, 4.0))

    def best_free(self, data: str) -> float:
        """The smallest mean deviance of a model without privacy."""
        free = [self.mean(data, name, math.inf) for name, method in METHODS.items() if not method.private]
        return float(np.nanmin(free)) if np.isfinite(free).any() else math.nan

    def attainable(self, data: str) -> float:
        """What the best model without privacy gains over a constant; nan where it is next to nothing."""
        gain = 1 - self.best_free(data)
        return gain if gain >= LEAST_GAIN else math.nan

    def part(self, data: str, method: str, epsilon: float) -> float:
        """Part of the attainable that is reached."""
        return (1 - self.mean(data, method, epsilon)) / self.attainable(data)

    def count(self, mine: str, peer: str, epsilon: float, metric: str) -> Counter[str]:
        """Verdicts over tables with several splits: "holds" is a win, "undecided" a tie, "does not hold" a loss."""
        found: Counter[str] = Counter()
        for data in self.data:
            claim = StudyClaim(mine, peer, data, epsilon, metric)
            if self.results.gap(claim)[2] > 1:
                found[self.results.verdict(claim)] += 1
        return found

    def gaps(self, mine: str, peer: str, epsilon: float) -> list[Gap]:
        """Of every table on which both were run and there is something to attain."""
        found = []
        for data in self.data:
            gap, _, pairs = self.results.gap(StudyClaim(mine, peer, data, epsilon, METRIC))
            part = -gap / self.attainable(data)
            if pairs and math.isfinite(part):
                decided = self.results.verdict(StudyClaim(mine, peer, data, epsilon, METRIC)) == "does not hold"
                found.append(Gap(data, epsilon, mine, peer, part, decided))
        return found

    def over_tables(self, method: str, epsilon: float, few: bool) -> tuple[float, float, int]:
        """Mean part of the attainable, each not below -1, its standard error over tables, and how many tables there are.

        Of tables with `few` training records, or of the others.
        """
        here = [data for data in self.data if (self.mean(data, "dpsparse auto", epsilon, "rows") < FEW) == few]
        found = [self.part(data, method, epsilon) for data in here]
        kept = [max(-1.0, value) for value in found if math.isfinite(value)]
        return *mean_and_error(kept), len(kept)
