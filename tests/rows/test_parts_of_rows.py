"""What is said of single rows: which part of them was clipped, and rows without columns."""

import numpy as np
import pytest
import scipy.sparse as sp

from dpsparse.core.facts import Facts
from dpsparse.rows.block import clipped_parts
from dpsparse.rows.lattice import Lattice
from dpsparse.rows.margins import served
from dpsparse.rows.records import Records
from dpsparse.rows.row_bounds import RowBounds

LATTICE = Lattice(Facts(n_rows=4, n_features=4, lower=-1.0, upper=1.0, row_norm=1.5, target_bound=2.0))
X = np.array(
    [[0.0, 5.0, 0.0, 0.0], [0.5, -3.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0], [np.nan, 2.0, 0.0, 9.0]]
)
Y = np.array([0.0, 3.0, -2.0, np.nan, 1.0])
#: The part of the entries that are not zero, whether the norm of what is left is beyond its bound, and the target.
EXPECTED = [[1.0, 0.0, 0.0], [0.5, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [2 / 3, 0.0, 0.0]]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csc_matrix], ids=["dense", "csr", "csc"])
def test_zeros_within_their_bounds_are_not_counted_however_rows_are_stored(form):
    np.testing.assert_allclose(clipped_parts(form(X), Y, LATTICE), EXPECTED)


def test_zeros_that_are_stored_are_not_counted_either():
    stored = sp.csr_matrix((np.array([0.0, 5.0, 0.0]), np.array([0, 1, 3]), np.array([0, 3])), shape=(1, 4))
    assert clipped_parts(stored, Y[:1], LATTICE)[0, 0] == 1.0


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
def test_rows_without_columns_are_served_as_they_are(form):
    bounds = RowBounds(np.zeros(0), np.zeros(0), None)
    assert sum(part.shape[0] for part in served(Records(form(np.zeros((3, 0)))), bounds)) == 3
