"""Declared bounds: read from arguments, never from data."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp

from dpsparse.core import MissingBoundError
from dpsparse.rows.bounds import read_bounds, read_center, read_target_bound
from dpsparse.rows.row_bounds import RowBounds


def test_a_row_norm_alone_bounds_the_entries_too():
    assert read_bounds(None, 2.0, 5) == (-2.0, 2.0, 2.0)


def test_a_feature_bound_alone_bounds_the_row_by_its_box():
    assert read_bounds(2.0, None, 4) == (-2.0, 2.0, 4.0)
    assert read_bounds((0, 2), None, 4) == (0.0, 2.0, 4.0)
    assert read_bounds((-3.0, 1.0), None, 4) == (-3.0, 1.0, 6.0)


def test_of_both_the_tighter_row_norm_counts():
    assert read_bounds(1.0, 1.5, 4) == (-1.0, 1.0, 1.5)
    assert read_bounds(1.0, 99.0, 4) == (-1.0, 1.0, 2.0)


def test_bounds_can_differ_from_feature_to_feature():
    lower, upper, norm = read_bounds([1.0, 2.0, 2.0], None, 3)
    np.testing.assert_array_equal(lower, [-1.0, -2.0, -2.0])
    np.testing.assert_array_equal(upper, [1.0, 2.0, 2.0])
    assert norm == 3.0
    lower, upper, _ = read_bounds((np.zeros(2), np.array([1.0, 5.0])), None, 2)
    np.testing.assert_array_equal(upper, [1.0, 5.0])
    np.testing.assert_array_equal(lower, [0.0, 0.0])


def test_no_bound_at_all_is_refused_with_advice():
    with pytest.raises(MissingBoundError, match=r"row_norm.*feature_bound.*leak"):
        read_bounds(None, None, 3)


@pytest.mark.parametrize(
    "bound",
    [
        0.0,
        -1.0,
        math.nan,
        math.inf,
        "wide",
        (1.0, 1.0),
        (2.0, 1.0),
        (0.0, math.inf),
        (math.nan, 1.0),
        (0.0,),
        (0.0, 1.0, 2.0),
        [1.0, 2.0],
        [1.0, 0.0, 1.0],
        [[1.0, 1.0, 1.0]],
        ([0.0, 0.0], 1.0),
    ],
)
def test_feature_bounds_that_make_no_sense_are_refused(bound):
    with pytest.raises(MissingBoundError, match="feature_bound"):
        read_bounds(bound, None, 3)


@pytest.mark.parametrize("norm", [0.0, -1.0, math.nan, math.inf, "1", True, [1.0], np.ones(3), 1j])
def test_row_norms_that_make_no_sense_are_refused(norm):
    with pytest.raises(MissingBoundError, match="row_norm"):
        read_bounds(None, norm, 3)


@pytest.mark.parametrize("bound", [0.0, -1.0, math.nan, math.inf, "1", True, [1.0]])
def test_target_bounds_that_make_no_sense_are_refused(bound):
    with pytest.raises(MissingBoundError, match="target_bound"):
        read_target_bound(bound)


def test_a_missing_target_bound_is_refused_with_advice():
    with pytest.raises(MissingBoundError, match="not from this data"):
        read_target_bound(None)


@pytest.mark.parametrize("bound", [3, 3.0, np.float32(3.0), np.int64(3)])
def test_a_target_bound_is_a_plain_number(bound):
    assert read_target_bound(bound) == 3.0
    assert type(read_target_bound(bound)) is float


def test_a_centre_is_a_number_or_one_per_feature():
    assert read_center(None, 3) == 0.0
    assert read_center(0.5, 3) == 0.5
    np.testing.assert_array_equal(read_center([1, 2, 3], 3), [1.0, 2.0, 3.0])
    for bad in ([1.0, 2.0], math.nan, "mean"):
        with pytest.raises(MissingBoundError, match="feature_center"):
            read_center(bad, 3)


def test_refusals_do_not_depend_on_mutable_arguments():
    bound = np.array([1.0, 2.0])
    _, upper, _ = read_bounds(bound, None, 2)
    bound[:] = -7.0
    assert np.all(np.asarray(upper) > 0), "bounds are copied: changing the argument later changes nothing"


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_a_norm_in_units_of_the_columns_is_that_of_the_scaled_row(sparse):
    """The first row is long in these units, the second one is not."""
    scale, rows = np.array([0.5, 4.0, 2.0]), np.array([[1.0, -2.0, 2.0], [0.5, 0.0, -1.0]])
    clipped = sp.csr_matrix(rows) if sparse else rows.copy()
    RowBounds(-3.0, 3.0, 1.5, scale).clip(clipped)
    found = clipped.toarray() if sparse else clipped
    assert np.linalg.norm(found[0] / scale) == pytest.approx(1.5)
    np.testing.assert_allclose(found[0] / found[0, 0], rows[0])
    np.testing.assert_array_equal(found[1], rows[1])
