"""Steps of one priced query: scales of columns, and a noisy number of rows."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ...core import Adjacency, PrivacyError, checks
from ...core.facts import Facts, Vector
from ...fitting import Matrix
from ...queries.kinds import MeanSquares
from ...rows import Records
from ...rows.hosts import ClusterRows
from .priced import PrivateStep
from .row_steps import Bounds


@dataclass(eq=False, repr=False)
class PrivateScaler(PrivateStep):
    r"""Divide each column by its root mean square, learned with noise from one priced query.

    .. math:: s_j = \sqrt{\max(\tilde m_j,\ \sigma,\ (f B_j)^2)}, \qquad
              \tilde m_j = \frac1n\sum_i x_{ij}^2 + N(0, \sigma^2)

    Zeros stay zeros. Columns are not centred. Where a mean square cannot be distinguished
    from its noise, the noise takes its place, so a column is never enlarged by chance.

    Guarantee
    ---------
    One Gaussian release of all mean squares. A row adds :math:`x_{ij}^2 \le B_j^2` to coordinate j,
    a vector of norm at most :math:`K B_\infty` (K: `row_norm`, :math:`B_\infty`: largest entry
    bound) without negative entries, so the sum moves by at most :math:`\sqrt2 K B_\infty` for
    replace-one and :math:`K B_\infty` for add-remove, in l2 norm. The scales, and the bounds of
    scaled rows, are computed from the release.

    Parameters
    ----------
    epsilon, delta, budget
        As in `SparseRegressor`; in a private pipeline its part of the whole is set there.
    feature_bound, row_norm
        Public bounds of the rows that come in; rows are clipped to them for the query.
    floor : float, default=0.01
        f: no column is divided by less than this part of its bound.
    slack : float, default=1.5
        Scaled rows are guaranteed to be clipped to `slack` times their root mean square norm.
    adjacency, n_rows, noise, ledger, dataset, label, run_id, on_missing, unit, random_state
        As in `SparseRegressor`.

    Attributes
    ----------
    scale_ : array of shape (n_features,)
    bounds_ : Bounds
        Public bounds for the rows that come out. Entries are clipped to the bounds that were
        declared and divided; rows are not clipped to their norm here: a fit on them declares these
        bounds and clips to them, as a private pipeline does.
    statement_ : Statement

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import PrivateScaler
    >>> X = np.random.default_rng(0).uniform(-1, 1, (20_000, 3)) * [1, 10, 100]
    >>> scaler = PrivateScaler(epsilon=2.0, feature_bound=[1, 10, 100]).fit(X[:, :1] * [1, 10, 100])
    >>> bool(np.all(scaler.scale_ > 0))
    True
    """

    ask = "squares"
    question = "MeanSquares"

    _: KW_ONLY
    feature_bound: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None
    row_norm: float | None = None
    floor: float = 0.01
    slack: float = 1.5
    n_rows: int | None = None

    def fit(self, X: object, y: object = None, units: object = None) -> Self:
        """Learn the scales. The query is priced before a row is used; targets are not.

        `units`, if given, holds the id of each row, or names the column of a frame that does: the guarantee
        then protects all rows with the same id, and every id counts alike.
        """
        rows = self._rows(X, units)
        d = int(rows.shape[1])
        floor, slack = checks.positive(self.floor, "floor"), checks.positive(self.slack, "slack")
        before = Bounds.read(self.feature_bound, self.row_norm, d)
        n_rows = self._public_rows(rows)
        with self._asking(rows, before.facts(n_rows, d, rows.sparse), "private column scales") as opened:
            squares = opened.oracle.squares(ask=self.ask)
        noise = opened.oracle.deviation(MeanSquares(), self.ask, 0)
        self._before = before
        self.scale_ = self._scales(squares, noise, before.largest(d), floor)
        self.bounds_ = self._scaled(before, self.scale_, squares, slack)
        self.statement_ = opened.statement(n_rows)
        return self

    def bounds_after(self, before: Bounds | None, n_features: int) -> Bounds:
        """Bounds of scaled rows as they can be foreseen: entries uniform within their bounds."""
        if self.feature_bound is not None or self.row_norm is not None or before is None:
            before = Bounds.read(self.feature_bound, self.row_norm, n_features)
        scale = before.largest(n_features) / math.sqrt(3)
        return self._scaled(before, scale, scale**2, checks.positive(self.slack, "slack"))

    @staticmethod
    def _scales(squares: Vector, noise: float, largest: Vector, floor: float) -> Vector:
        """Root mean squares, not below what noise and floor allow, nor above the bound of the column."""
        lowest = np.minimum(np.maximum(noise, (floor * largest) ** 2), largest**2)
        return np.sqrt(np.clip(squares, lowest, largest**2))

    @staticmethod
    def _scaled(before: Bounds, scale: Vector, squares: Vector, slack: float) -> Bounds:
        """Bounds of scaled rows, from public numbers alone."""
        mean_square = np.clip(squares, 0.0, scale**2) / scale**2
        sure = min(before.row_norm / float(scale.min()), float(np.linalg.norm(before.largest(scale.size) / scale)))
        typical = slack * math.sqrt(max(1.0, float(mean_square.sum())))
        return Bounds(before.lower / scale, before.upper / scale, min(sure, typical))

    def transform(self, X: object) -> Matrix | ClusterRows:
        """Clip the columns to the declared bounds, and divide them by their scales. Rows on a cluster stay there."""
        check_is_fitted(self, "scale_")
        source, every = self._again(X), np.ones(self.scale_.size)
        scaled = Scaled(self._before.lower * every, self._before.upper * every, self.scale_)
        if isinstance(source.spread, ClusterRows):
            return source.spread.after_step(scaled, every.size, sparse=source.sparse, names=source.names)
        return scaled.rows(source)


@dataclass(frozen=True, eq=False)
class Scaled:
    """Rows within bounds, divided by scales: a function of each row alone. All of it is public.

    Parameters
    ----------
    lower, upper : arrays of shape (n_features,)
    scale : array of shape (n_features,)
    """

    lower: Vector
    upper: Vector
    scale: Vector

    def __call__(self, source: Records) -> Records:
        """Of a part of the rows, where it is."""
        return Records(self.rows(source))

    def rows(self, source: Records) -> Matrix:
        """The rows, scaled."""
        rows = source.plain()
        if not sp.issparse(rows):
            scaled = np.clip(rows, self.lower, self.upper, dtype=float, casting="unsafe")
            scaled /= self.scale
            return scaled
        columns = rows.indices
        scaled = np.clip(rows.data.astype(float), self.lower[columns], self.upper[columns]) / self.scale[columns]
        return sp.csr_matrix((scaled, columns.copy(), rows.indptr.copy()), shape=rows.shape)


@dataclass(eq=False, repr=False)
class NoisyCount(PrivateStep):
    """Count the rows with noise, for add-remove adjacency, where their number is private; rows pass through unchanged.

    In a private pipeline the steps after it take `n_rows_` for their public number of rows.

    Guarantee
    ---------
    One Gaussian release; a row that comes or goes moves the count by 1.

    Parameters
    ----------
    epsilon, delta, budget
        As in `SparseRegressor`. delta None: 1e-6.
    adjacency : {"add-remove"}
        Under replace-one the number of rows is public, and there is nothing to count.
    noise, ledger, dataset, label, run_id, on_missing, unit, random_state
        As in `SparseRegressor`. Every row counts here, also one with missing values.

    Attributes
    ----------
    n_rows_ : int
        The noisy number of rows; at least 1.
    statement_ : Statement

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import NoisyCount
    >>> count = NoisyCount(epsilon=1.0).fit(np.zeros((5000, 2)))
    >>> 4800 < count.n_rows_ < 5200
    True
    """

    ask = "count"
    question = "Count"

    _: KW_ONLY
    adjacency: str = "add-remove"

    def fit(self, X: object, y: object = None, units: object = None) -> Self:
        """Count, with noise. The query is priced before rows are counted.

        `units`, if given, holds the id of each row, or names the column of a frame that does: the guarantee
        then protects all rows with the same id, and every id counts alike.
        """
        if Adjacency.named(self.adjacency) is not Adjacency.ADD_REMOVE:
            raise PrivacyError(
                "under replace-one adjacency the number of rows is public: leave NoisyCount out, "
                "or use adjacency='add-remove'."
            )
        # empty rows, since no entry is asked for; divided by a public 1: the answer is the sum itself
        there = self._rows(X, units)
        rows = Records(np.zeros((there.shape[0], 1))).by_unit(there.units)
        with self._asking(rows, Facts(n_rows=1, n_features=1), "a noisy count of rows") as opened:
            self.n_rows_ = max(1, round(opened.oracle.count(ask=self.ask)))
        self.statement_ = opened.statement(self.n_rows_)
        return self
