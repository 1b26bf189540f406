"""Rows that stand in parts on other machines, and are never brought together."""

from __future__ import annotations

from typing import Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..core.facts import Vector
from .file_records import FileRecords
from .row_bounds import RowBounds


@runtime_checkable
class ClusterRecords(FileRecords, Protocol):
    """What stands for rows on a cluster. Shape and names are known, and its parts are read where they are.

    Guarantee
    ---------
    `rows` refuses: nothing here gives a row. What a host makes of the parts answers only with sums.
    """

    @property
    def missing(self) -> bool:
        """Whether any cell is no finite number; nothing but a refusal for comfort rests on it."""
        ...

    def margins(self, coef: Vector, intercept: Vector, bounds: RowBounds | None) -> Vector:
        """Margins of each row under some public models, as `row_margins` gives them, made where the rows are: **private**."""
        ...

    def take(self, which: NDArray[np.intp]) -> Self:
        """Some of the rows, by their numbers in increasing order."""
        ...
