"""The map of one record: what comes out depends on that record and on public numbers alone."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.polynomial import legendre as reference

from dpsparse.rows.records import Records
from dpsparse.rows.row_bounds import RowBounds
from dpsparse.rows.shapes import Basis, Curve, NumberColumn, legendre

AGE = NumberColumn(0, "age", 18.0, 90.0, gap=2)
BASIS = Basis(
    4, (Curve(AGE, "smooth", 5, 1.0, -1.0, 1.0), Curve(NumberColumn(3, "bmi", 15, 50), "steps", 3, 0.5, 15.0, 50.0))
)


def rows(n=50):
    rng = np.random.default_rng(0)
    return np.column_stack(
        [rng.uniform(-1.5, 1.5, n), rng.normal(size=n), rng.integers(0, 2, n), rng.uniform(0, 60, n)]
    )


def test_terms_are_legendre_polynomials():
    u = np.linspace(-1, 1, 11)
    for k, term in enumerate(legendre(u, 6), start=1):
        np.testing.assert_allclose(term, reference.legval(u, [0] * k + [1]), atol=1e-14)


def test_a_record_is_the_same_alone_and_in_company():
    x = rows()
    together = BASIS.rows(x)
    assert np.array_equal(together, np.vstack([BASIS.rows(row[None]) for row in x]))
    assert np.array_equal(together[::-1], BASIS.rows(x[::-1]))


def test_terms_stay_within_the_declared_bounds_and_norm():
    x = rows(2000)
    x[:, 0] = np.clip(x[:, 0], -1, 1)
    x[x[:, 2] == 1, 0] = 0.0  # as an encoder fills a gap
    lower, upper, norm = BASIS.bounds(np.array([-1, -9, 0, 15.0]), np.array([1, 9, 1, 50.0]), 60.0, structural=False)
    out = BASIS.rows(x)
    assert np.all(out >= lower)
    assert np.all(out <= upper)
    assert np.all(np.linalg.norm(out, axis=1) <= norm)
    # a dictionary's row norm counts a curve's column, gap included, as 1
    encoded = Basis(3, (Curve(AGE, "smooth", 5, 1.0, -1.0, 1.0),))
    *_, tight = encoded.bounds(np.array([-1, -1, 0]), np.ones(3), np.sqrt(2), structural=True)
    x[:, 1] = np.clip(x[:, 1], -1, 1)
    reached = np.linalg.norm(encoded.rows(np.vstack([x[:, :3], [1, 1, 0]])), axis=1).max()
    assert reached <= tight * (1 + 1e-12)
    assert reached > 0.999 * tight


def test_values_beyond_the_bounds_are_clipped_before_they_bend():
    assert np.array_equal(BASIS.rows(np.array([[7.0, 0, 0, 99]])), BASIS.rows(np.array([[1.0, 0, 0, 50]])))


def test_a_gap_is_zero_in_all_terms():
    out = BASIS.rows(np.array([[0.3, 0.0, 1.0, 20.0]]))
    assert np.all(out[0, BASIS.place(BASIS.curves[0])] == 0)
    assert np.any(out[0, BASIS.place(BASIS.curves[1])] != 0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_cell_that_is_no_number_makes_its_record_absent_alone(bad):
    x = rows(3)
    x[1, 0], x[:, 2] = bad, 0
    out = BASIS.rows(x)
    assert np.isnan(out[1]).any()
    assert np.isfinite(out[[0, 2]]).all()


def test_records_behind_the_map_are_divided_and_read_as_one():
    x = rows()
    found = Records(x).expanded(BASIS)
    assert found.shape == (50, BASIS.width)
    assert not found.is_plain
    assert np.array_equal(found.take(np.array([3, 5])).rows(0, 2), found.rows(0, 50)[[3, 5]])
    assert np.array_equal(Records(sp.csr_matrix(x)).expanded(BASIS).rows(0, 50), found.rows(0, 50))
    scale = np.arange(1.0, BASIS.width + 1)
    assert np.array_equal(found.rescaled(scale).rows(0, 50), found.rows(0, 50) / scale)
    assert Records(x).expanded(None).shape == (50, 4)


def test_clipping_after_the_map_changes_nothing_within_bounds():
    x = rows()
    lower, upper, norm = BASIS.bounds(np.array([-1, -9, 0, 15.0]), np.array([1, 9, 1, 50.0]), 1e3, structural=False)
    out = BASIS.rows(x)
    clipped = out.copy()
    RowBounds(lower, upper, norm).clip(clipped)
    np.testing.assert_allclose(clipped, out, atol=1e-15)


def test_steps_rise_at_equal_distances_between_the_bounds():
    curve = Curve(NumberColumn(0, "bmi", 15, 50), "steps", 3, 0.5, -1.0, 1.0)
    at = np.array([-1.0, -0.51, -0.5, -0.01, 0.0, 0.49, 0.5, 1.0])
    assert curve.values(at).sum(axis=1).tolist() == [-3, -3, -1, -1, 1, 1, 3, 3]
