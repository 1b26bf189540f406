"""What every reader gives: rows of one file, and how much of a file is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

#: Rows of a file.
Matrix: TypeAlias = NDArray[np.generic] | sp.csr_matrix

#: Files that have, or unpack to, more bytes are not read unless the caller says so.
LARGEST_BYTES = 2**32
#: More columns than this are not read from a file that does not say how many it has.
LARGEST_WIDTH = 2**27


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Rows of one file. It prints without what it holds.

    Attributes
    ----------
    X : array or CSR matrix of shape (rows, n_features)
        Floats where the file is CSV or Parquet, whatever its cells: a type that followed the cells would tell of them.
    y : array of shape (rows,) or None
        Targets, if the file has them and they were asked for.
    feature_names : tuple of str or None
        Names of the columns of X, where the file names them.
    """

    X: Matrix
    y: NDArray[np.generic] | None = None
    feature_names: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        kind = "sparse" if sp.issparse(self.X) else "dense"
        return f"Table({kind}, {self.X.shape[1]} features, {'no target' if self.y is None else 'with target'})"
