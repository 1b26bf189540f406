"""What is public about a sum: how far one record can move it, and the lattice it is counted on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.adjacency import Adjacency
from ..core.errors import PrivacyError
from ..core.facts import LARGEST_SIZE, SMALLEST_SIZE, Vector, in_range

#: Steps of the released lattice per bound on one record's norm.
RELEASE_UNITS = 2.0**20

Integers = NDArray[np.int64]
Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """How far one record can move a sum, in real units.

    `pair_norm` and `pair_entry` bound the difference of two records' contributions where that is less than twice one.
    """

    norm: float
    entry: Vector
    pair_norm: float | None = None
    pair_entry: Vector | None = None

    def l2(self, relation: Adjacency) -> float:
        """l2 sensitivity of the sum."""
        if relation is Adjacency.REPLACE_ONE:
            return min(2 * self.norm if self.pair_norm is None else self.pair_norm, self._pair_entries)
        return min(self.norm, self._entries)

    @cached_property
    def _entries(self) -> float:
        return float(np.linalg.norm(self.entry))

    @cached_property
    def _pair_entries(self) -> float:
        return float(np.linalg.norm(self.linf(Adjacency.REPLACE_ONE)))

    def l1(self, relation: Adjacency) -> float:
        """l1 sensitivity of the sum."""
        return min(float(self.linf(relation).sum()), math.sqrt(self.entry.size) * self.l2(relation))

    def linf(self, relation: Adjacency) -> Vector:
        """Sensitivity of each coordinate."""
        if relation is Adjacency.REPLACE_ONE:
            return 2 * self.entry if self.pair_entry is None else self.pair_entry
        return self.entry


@dataclass(frozen=True, eq=False)
class SumSpec:
    """How a sum is counted: public, and made before any row is looked at.

    Parameters
    ----------
    reach : Sensitivity
    unit : float or array
        Value of one unit of the integer sum, or of each of its coordinates.
    record : float
        Most units that one record adds to one coordinate.
    coarse : int or array
        Answers are rounded to this number of units before they get noise; 0: to as many as leave
        `RELEASE_UNITS` steps to one record, or to one unit.
    """

    reach: Sensitivity
    unit: float | Vector
    record: float
    coarse: int | Integers = 0

    def __post_init__(self) -> None:
        if not np.all(self.coarse):
            object.__setattr__(self, "coarse", max(1, int(self.record / RELEASE_UNITS)))

    @property
    def size(self) -> int:
        """How many numbers the sum has."""
        return self.reach.entry.size

    @cached_property
    def step(self) -> Any:
        """Value of one step of the released lattice: a number, or one for each coordinate."""
        return self.unit * self.coarse

    @cached_property
    def step_norm(self) -> float:
        """l2 norm of the steps of all coordinates."""
        return float(np.linalg.norm(self.step * np.ones(self.reach.entry.size)))

    @cached_property
    def _half(self) -> Integers:
        """Half of a step, in whole units."""
        return np.asarray(self.coarse, dtype=np.int64) // 2

    def rounded(self, total: Integers) -> Integers:
        r"""The sum in steps of the released lattice, rounded to the nearest.

        It is :math:`\lfloor (q + \lfloor k/2\rfloor)/k\rfloor` for q units, by integers alone.
        """
        moved = total + self._half
        return np.asarray(np.floor_divide(moved, self.coarse, out=moved))


def check_support(support: Indices, size: int, what: str = "coordinates") -> Indices:
    """The support, if it names positions, each once: a copy would be released twice for the price of once."""
    fits = support.ndim == 1 and support.dtype.kind == "i"
    rises = fits and bool((support[1:] > support[:-1]).all())
    if not fits or (not rises and np.unique(support).size != support.size):
        raise PrivacyError(f"a support must hold the positions of {what}, each once.")
    least, most = (support[:1], support[-1:]) if rises else (support, support)
    if support.size and not (least.min() >= 0 and most.max() < size):
        raise PrivacyError(f"a support must lie within the {size} {what}.")
    return support


def check_bound(value: float, what: str = "a bound") -> float:
    """A bound, if it is one that can be squared."""
    if not in_range(value):
        raise PrivacyError(f"{what} must be positive, between {SMALLEST_SIZE:g} and {LARGEST_SIZE:g}, got {value!r}.")
    return float(value)
