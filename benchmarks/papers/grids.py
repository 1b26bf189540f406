"""Grids: which points a method is tried at, where the paper prints them, and why a best point may stand at an end.

A page is not built if a best point stands at an end for which no reason of `ENDS` is given or found in the runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

#: Why the best point of a grid may stand at an end of an axis.
ENDS = {
    "paper": "the paper's own grid ends there",
    "limit": "nothing lies beyond (a single step, every row)",
    "time": "longer runs and steps do not fit the time of these studies",
    "flat": "the next point inside is as good within two standard errors",
    "off": "without noise, longer runs and wider clips are only better: the row shows what the grid can reach",
    "zero": "no point is better than a model of zeros, so that the noise decides",
}


@dataclass(frozen=True)
class Axis:
    """Values in their order; `low` and `high` say in a word of `ENDS` why the best point may stand there.

    An axis that is not `ordered` lists plans that have no ends.
    """

    values: tuple[Any, ...]
    low: str = ""
    high: str = ""
    ordered: bool = True


@dataclass(frozen=True)
class Grid:
    """All combinations of the values of some axes, counted from 1, the last axis fastest.

    Parameters
    ----------
    axes : dict of Axis
    where : str
        Where the paper prints the grid; empty where it prints none, and the grid is ours.
    chosen : dict of values
        The point that the paper publishes as chosen; it has to be in the grid.
    """

    axes: Mapping[str, Axis]
    where: str = ""
    chosen: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        for name, value in (self.chosen or {}).items():
            if value not in self.axes[name].values:
                raise ValueError(f"the published {name} {value} is not in the grid {self.axes[name].values}.")

    def __len__(self) -> int:
        return math.prod(len(axis.values) for axis in self.axes.values())

    def point(self, number: int) -> dict[str, Any]:
        """Values by the names of the axes."""
        found = list(product(*(axis.values for axis in self.axes.values())))[number - 1]
        return dict(zip(self.axes, found, strict=True))

    def number(self, point: Mapping[str, Any]) -> int:
        """The number of a point."""
        found = 0
        for name, axis in self.axes.items():
            found = found * len(axis.values) + axis.values.index(point[name])
        return found + 1

    def ends(self, number: int) -> list[tuple[str, str, int]]:
        """Ends at which a point stands: the axis, its reason (or nothing), and the next point inside."""
        point, found = self.point(number), []
        for name, axis in self.axes.items():
            place, last = axis.values.index(point[name]), len(axis.values) - 1
            if not axis.ordered or last == 0:
                continue
            for end, reason, inside in ((0, axis.low, 1), (last, axis.high, last - 1)):
                if place == end:
                    found.append((name, reason, self.number({**point, name: axis.values[inside]})))
        return found
