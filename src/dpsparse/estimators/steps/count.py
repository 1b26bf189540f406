"""A noisy number of rows."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...core import Adjacency, PrivacyError
from ...core.facts import Facts
from ...fitting import Matrix
from ...rows import Records
from .priced import PrivateStep


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

    def transform(self, X: object) -> Matrix:
        """The rows as they are."""
        check_is_fitted(self, "n_rows_")
        rows: Matrix = self._again(X).plain()
        return rows
