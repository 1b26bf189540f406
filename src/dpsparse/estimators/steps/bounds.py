"""Public bounds of rows on their way through a pipeline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.facts import Facts, Vector
from ...rows.bounds import read_bounds
from ...rows.declared import ColumnBounds


@dataclass(frozen=True, eq=False)
class Bounds:
    """Entries lie in ``[lower, upper]`` and rows within l2 norm `row_norm`.

    Rows that do not are clipped to these bounds when they are read. `declared` is what a dictionary says about the
    columns, right behind its encoder.

    Examples
    --------
    >>> Bounds.read((0, 2), None, 4).row_norm
    4.0
    """

    lower: float | Vector
    upper: float | Vector
    row_norm: float
    declared: ColumnBounds | None = None

    @classmethod
    def read(cls, feature_bound: object, row_norm: object, n_features: int) -> Bounds:
        """From the arguments of a user; refuses if neither is given."""
        return cls(*read_bounds(feature_bound, row_norm, n_features))

    @property
    def feature_bound(self) -> tuple[float | Vector, float | Vector]:
        """As an estimator takes it."""
        return self.lower, self.upper

    @property
    def plain(self) -> bool:
        """Whether a dictionary says nothing but bounds: no curve and no group."""
        known = self.declared
        return known is None or not (known.groups or any(one.shape not in (None, "line") for one in known.numbers))

    def output_bounds(self) -> ColumnBounds | None:
        """What a dictionary says about the columns; None without a dictionary."""
        return self.declared

    def largest(self, n_features: int) -> Vector:
        """Largest absolute entry of each column."""
        return np.asarray(np.maximum(np.abs(self.lower), np.abs(self.upper)) * np.ones(n_features))

    def facts(self, n_rows: int, n_features: int, sparse: bool) -> Facts:
        """Facts of rows without targets, shift or intercept."""
        return Facts(
            n_rows=n_rows,
            n_features=n_features,
            lower=self.lower,
            upper=self.upper,
            row_norm=self.row_norm,
            sparse=sparse,
        )
