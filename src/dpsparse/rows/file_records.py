"""Rows that stand somewhere else than in memory, such as in files, and are read some at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..core.facts import Vector
from .row_bounds import RowBounds


@runtime_checkable
class FileRecords(Protocol):
    """What brings rows from where they are stored.

    Opened before a fit: shape and names are known, and rows are not read yet.

    Guarantee
    ---------
    `rows` gives the same numbers whenever it is asked, and raises only where the store itself is
    damaged or gone, in words that quote nothing.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        ...

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns, where they have some."""
        ...

    @property
    def sparse(self) -> bool:
        """Whether rows come sparse."""
        ...

    @property
    def entries(self) -> int:
        """How many numbers are stored."""
        ...

    @property
    def finite(self) -> bool:
        """Whether the store says that all its numbers are finite; nothing but a refusal for comfort depends on it."""
        ...

    def cut(self, entries: int) -> list[int]:
        """Row numbers, from the first to the number of rows, between which at most about `entries` numbers stand."""
        ...

    def rows(self, start: int, stop: int) -> Any:
        """Some rows as floats: an array or a CSR matrix."""
        ...

    def targets(self, meant: str) -> NDArray[Any] | None:
        """The target of each row: ``numbers``, ``texts``, or ``labels``, which may be either.

        None without them.
        """
        ...


@runtime_checkable
class ClusterRecords(FileRecords, Protocol):
    """What stands for rows on a cluster. Shape and names are known, and its parts are read where they are.

    Guarantee
    ---------
    `rows` refuses: nothing here gives a row. What a host makes of the parts answers only with sums.
    """

    @property
    def missing(self) -> bool:
        """Whether any cell is no finite number; nothing but a refusal for comfort depends on it."""
        ...

    @property
    def units(self) -> Sequence[int] | None:
        """How many units each part has; None: every row is a record."""
        ...

    def margins(self, coef: Vector, intercept: Vector, bounds: RowBounds | None) -> Vector:
        """Margins of each row under some public models, as `row_margins` gives: **private**.

        They are computed where the rows are.
        """
        ...

    def take(self, which: NDArray[np.intp]) -> Self:
        """Some of the rows, by their numbers in increasing order."""
        ...

    def after_step(self, step: Any, n_features: int, *, sparse: bool, names: tuple[str, ...] | None = None) -> Self:
        """Rows behind a public function of each row alone, which gives `n_features` columns."""
        ...
