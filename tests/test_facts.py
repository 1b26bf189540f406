"""Public facts: the bounds that they derive are bounds, whatever the rows."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsparse.core.facts import Clip, Facts, Penalty, Target


@st.composite
def facts_and_row(draw) -> tuple[Facts, np.ndarray]:
    """Bounds of all kinds, and a row that was clipped as they say: entries, norm, then the shift."""
    d = draw(st.integers(1, 5))
    numbers = st.floats(-3, 3).map(lambda v: round(v, 3))
    vectors = st.lists(numbers, min_size=d, max_size=d).map(np.array)
    lower = draw(numbers | vectors)
    upper = lower + draw(st.floats(0.1, 4.0))
    shift = draw(numbers | vectors)
    row_norm = draw(st.floats(0.1, 10.0))
    intercept = draw(st.just(0.0) | st.floats(0.1, 3.0))
    facts = Facts(n_rows=9, n_features=d, lower=lower, upper=upper, shift=shift, row_norm=row_norm, intercept=intercept)
    row = np.clip(draw(vectors), lower, upper)
    row = row * min(1.0, row_norm / max(np.linalg.norm(row), 1e-300)) - shift
    return facts, np.r_[row, [intercept] * facts.free]


@given(facts_and_row())
def test_no_clipped_row_exceeds_the_derived_bounds(pair):
    facts, row = pair
    slack = 1 + 1e-9
    assert np.all(np.abs(row[: facts.n_features]) <= facts.half_widths * slack + 1e-12)
    assert np.abs(row[: facts.n_features]).max() <= facts.feature_bound * slack + 1e-12
    assert np.abs(row).max() <= facts.entry_bound * slack + 1e-12
    assert np.linalg.norm(row[: facts.n_features]) <= facts.row_bound * slack + 1e-12
    assert np.linalg.norm(row) <= facts.norm_bound * slack + 1e-12


def test_the_midpoint_halves_one_signed_features():
    plain = Facts(n_rows=1, n_features=4, lower=0.0, upper=2.0, row_norm=4.0)
    centred = plain.with_(shift=1.0)
    assert (plain.feature_bound, plain.row_bound) == (2.0, 4.0)
    assert (centred.feature_bound, centred.row_bound) == (1.0, 2.0)


def test_where_rows_are_clipped_towards_zero_a_shift_can_lengthen_them():
    facts = Facts(n_rows=1, n_features=4, lower=1.0, upper=2.0, row_norm=0.5, shift=1.5)
    assert facts.feature_bound == 1.5, "a row shrunk to norm 0.5 has entries near zero, 1.5 away from the shift"
    assert facts.row_bound == 3.0


def test_the_intercept_counts_in_the_norm_and_is_free():
    facts = Facts(n_rows=1, n_features=3, row_norm=3.0, lower=-3.0, upper=3.0, intercept=4.0)
    assert facts.norm_bound == 5.0
    assert facts.entry_bound == 4.0
    assert (facts.free, facts.dimension) == (1, 4)
    without = facts.with_(intercept=0.0)
    assert (without.free, without.dimension, without.norm_bound) == (0, 3, 3.0)


@pytest.mark.parametrize(("sparsity", "cap"), [(None, 5), (2, 2), (5, 5), (99, 5)])
def test_the_cap_is_the_sparsity_or_all_features(sparsity, cap):
    assert Facts(n_rows=1, n_features=5, sparsity=sparsity).cap == cap


def test_the_first_iterate_is_a_fresh_copy_of_the_start():
    start = np.array([1.0, 2.0])
    facts = Facts(n_rows=1, n_features=2, start=start, intercept=1.0)
    facts.first()[:] = 9.0
    np.testing.assert_array_equal(facts.first(), [1.0, 2.0, 0.0])
    np.testing.assert_array_equal(start, [1.0, 2.0])
    np.testing.assert_array_equal(facts.with_(start=None).first(), np.zeros(3))


def test_a_changed_copy_forgets_derived_bounds():
    facts = Facts(n_rows=1, n_features=2, lower=-1.0, upper=1.0, row_norm=9.0)
    assert facts.feature_bound == 1.0
    assert facts.with_(upper=5.0).feature_bound == 5.0


def test_facts_are_frozen():
    with pytest.raises(FrozenInstanceError):
        Facts(n_rows=1, n_features=1).n_rows = 2  # type: ignore[misc]


# ------------------------------------------------------------------------------------------------ clips


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
@pytest.mark.parametrize("field", ["norm", "entry", "slope"])
def test_clips_are_positive_and_finite(field, bad):
    with pytest.raises(ValueError, match="clip"):
        Clip(**{"norm": 1.0, field: bad})


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_clips_of_columns_are_positive_and_finite(bad):
    with pytest.raises(ValueError, match="columns"):
        Clip(1.0, columns=np.array([1.0, bad]))


def test_clips_are_equal_when_every_bound_is():
    assert Clip(1.0, 0.5) == Clip(1.0, 0.5)
    assert Clip(1.0, columns=np.array([1.0, 2.0])) == Clip(1.0, columns=np.array([1.0, 2.0]))
    different = [Clip(1.0), Clip(2.0), Clip(1.0, 0.5), Clip(1.0, slope=0.5), Clip(1.0, columns=np.array([1.0, 2.0]))]
    for i, one in enumerate(different):
        for j, other in enumerate(different):
            assert (one == other) is (i == j)


# ------------------------------------------------------------------------------------------------ penalties


@pytest.mark.parametrize(
    ("penalty", "l1", "l2", "active"),
    [
        (Penalty(), 0.0, 0.0, False),
        (Penalty(kind="l2", alpha=2.0), 0.0, 2.0, True),
        (Penalty(kind="l1", alpha=2.0), 2.0, 0.0, True),
        (Penalty(kind="elasticnet", alpha=2.0, l1_ratio=0.25), 0.5, 1.5, True),
        (Penalty(kind="box", box=1.0), 0.0, 0.0, True),
    ],
)
def test_a_penalty_knows_its_parts(penalty, l1, l2, active):
    assert (penalty.l1, penalty.l2, penalty.active) == (l1, l2, active)


def test_the_bound_of_the_target_is_one_number_under_two_names():
    facts = Facts(n_rows=5, n_features=2, target_bound=3.0)
    assert facts.target == Target(bound=3.0)
    assert facts == Facts(n_rows=5, n_features=2, target=Target(bound=3.0))
    classes = facts.with_(target=Target(kind="classes"))
    assert (classes.target_bound, classes.target.kind) == (1.0, "classes")
    wider = classes.with_(target_bound=2.0, n_rows=7)
    assert (wider.target, wider.n_rows) == (Target(kind="classes", bound=2.0), 7)
    assert replace(wider, n_rows=8).target == wider.target
    with pytest.raises(ValueError, match="disagree"):
        Facts(n_rows=5, n_features=2, target=Target(bound=3.0), target_bound=4.0)
    with pytest.raises(ValueError, match="disagree"):
        replace(wider, target=Target(bound=5.0))


def test_typical_sizes_are_a_third_of_a_bound_or_one():
    plain, classes = Target(bound=6.0), Target(kind="classes", bound=6.0)
    assert (plain.typical, classes.typical) == (2.0, 1.0)


@pytest.mark.parametrize(
    ("sparse", "row_norm", "documents"), [(True, 1.0, True), (True, 20.0, False), (False, 1.0, False)]
)
def test_documents_are_sparse_rows_that_are_short_for_their_box(sparse, row_norm, documents):
    facts = Facts(n_rows=1000, n_features=400, row_norm=row_norm, sparse=sparse)
    assert facts.documents is documents
    assert facts.heavy_tailed(facts.feature_bound) is (row_norm == 1.0)


def test_rows_are_spiky_up_to_fifteen_in_a_hundred_of_their_box():
    facts = Facts(n_rows=1000, n_features=100, row_norm=1.0, sparse=True)
    edge = math.sqrt(1 / (0.15 * 100))
    assert facts.heavy_tailed(1.001 * edge)
    assert not facts.heavy_tailed(0.999 * edge)


def test_margins_of_classes_and_of_linked_targets_have_size_one_and_those_of_numbers_that_of_a_target():
    assert [Target(kind=kind, bound=6.0).margin for kind in ("numbers", "counts", "events")] == [2.0, 1.0, 1.0]
    assert Target(kind="classes").margin == Target(bound=6.0, linked=True).margin == 1.0
