"""Rows: exact sums, bounded contributions, sanitised records, and silence."""

from __future__ import annotations

import copy
import itertools
import pickle
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from builders import SUM_UNITS, Rows
from dpsparse.core import DataError
from dpsparse.core.facts import Clip, Facts, Target
from dpsparse.losses import LOSSES, Huber, Logistic, Loss, Squared
from dpsparse.rows import lattice as lattice_module
from dpsparse.rows import records as source_module
from dpsparse.rows import shard as shard_module
from dpsparse.rows.kernels import choice, plain
from dpsparse.rows.lattice import Lattice
from dpsparse.rows.sampling import PoissonSample, RandomPartition
from truth.covering import pairwise
from truth.rows import KINDS, Table, adversarial, contributions, integer_norm, table

EVERY_KIND = pytest.mark.parametrize("kind", KINDS)
D = 12
#: Multiples of 2^-6: margins are exact in floats, so that no rounding of theirs can hide or cause a difference.
DYADIC = np.rint(np.random.default_rng(1).normal(0, 1, D + 1) * 64) / 64


def clips(d: int) -> dict[str, Clip]:
    return {
        "norm": Clip(0.5),
        "norm too large to act": Clip(64.0),
        "entry": Clip(0.5, 0.125),
        "slope": Clip(0.5, slope=0.25),
        "columns": Clip(0.5, columns=np.linspace(0.01, 0.3, d)),
        "everything": Clip(0.7, 0.3, 0.2, np.linspace(0.01, 0.3, d)),
    }


def rows_of(given: Table, **options) -> Rows:
    return Rows(given.X, given.y, given.facts, **options)


def weights(given: Table) -> np.ndarray:
    return DYADIC[: given.facts.dimension].copy()


def exact_sum(parts: list[np.ndarray]) -> list[int]:
    """Column sums in whole numbers of any size."""
    return [sum(int(p[j]) for p in parts) for j in range(parts[0].size)]


def shifted_sparse(kind: str, clip: Clip) -> bool:
    return kind == "sparse shifted" and clip.columns is not None


# ------------------------------------------------------------------------------------------------ exact sums


@EVERY_KIND
@pytest.mark.parametrize("intercept", [0.0, 0.5])
@pytest.mark.parametrize("name", clips(1))
def test_a_sum_is_exactly_the_sum_of_its_records(kind, intercept, name):
    given = table(kind, intercept=intercept)
    clip = clips(given.facts.dimension)[name]
    if shifted_sparse(kind, clip):
        pytest.skip("clips per column with shifted sparse rows are refused, which has its own test")
    w = weights(given)
    total = rows_of(given).gradient_sum(Squared(), w, clip)
    parts = [rows_of(given.only(slice(i, i + 1))).gradient_sum(Squared(), w, clip) for i in range(given.y.size)]
    assert total.dtype == np.int64
    assert total.tolist() == exact_sum(parts)


@pytest.mark.parametrize(("kind", "name", "loss", "intercept"), pairwise(KINDS, list(clips(1)), LOSSES, [0.0, 0.5]))
def test_a_sum_is_the_clipped_gradient_of_its_definition(kind, intercept, name, loss):
    """Up to the lattice of rows: an entry is truncated by at most 2^-16 of the largest one."""
    given = table(kind, intercept=intercept)
    clip = clips(given.facts.dimension)[name]
    if shifted_sparse(kind, clip):
        pytest.skip("clips per column with shifted sparse rows are refused, which has its own test")
    w = weights(given)
    rows = rows_of(given)
    expected = contributions(given, loss, w, clip, rows.applied_shift, rows.applied_intercept).sum(axis=0)
    found = rows.gradient_sum(loss, w, clip) * (clip.norm / SUM_UNITS)
    np.testing.assert_allclose(found, expected, atol=2e-3 * min(1.0, clip.norm) * np.sqrt(given.y.size))


@EVERY_KIND
def test_applied_shift_and_intercept_are_close_to_the_declared_ones(kind):
    given = table(kind, intercept=0.5)
    rows = rows_of(given)
    np.testing.assert_allclose(rows.applied_shift, given.facts.shift * np.ones(D), atol=0.005)
    assert rows.applied_intercept == pytest.approx(0.5, abs=1e-4)


@pytest.mark.parametrize("height", [0.05, 0.2357, 0.2887, 0.75])
def test_the_intercept_of_integers_never_vanishes(height):
    given = table("int8 midpoint", intercept=height)
    rows = rows_of(given)
    assert rows.applied_intercept > 0
    assert rows.gradient_sum(Squared(), np.zeros(D + 1), Clip(64.0))[-1] != 0


@EVERY_KIND
@pytest.mark.parametrize("name", ["norm", "columns"])
def test_a_sum_on_a_support_is_that_part_of_the_whole_sum(kind, name):
    given = table(kind, intercept=0.5, d=24)
    clip = clips(given.facts.dimension)[name]
    if shifted_sparse(kind, clip):
        pytest.skip("clips per column with shifted sparse rows are refused, which has its own test")
    w = np.r_[DYADIC, DYADIC[:-1]]
    whole = rows_of(given).gradient_sum(Squared(), w, clip)
    for support in ([3], [24, 0], [7, 2, 24], list(range(24)), list(range(25))):
        found = rows_of(given).gradient_sum(Squared(), w, clip, support=np.array(support))
        np.testing.assert_array_equal(found, whole[support])


@EVERY_KIND
@pytest.mark.parametrize("intercept", [0.0, 0.5])
def test_a_sampled_sum_is_the_sum_of_the_chosen_records(kind, intercept):
    given = table(kind, intercept=intercept)
    w, clip = weights(given), Clip(0.5)
    for chosen in (np.arange(40) % 3 == 0, np.ones(40, bool), np.zeros(40, bool)):
        found = rows_of(given).gradient_sum(Squared(), w, clip, chosen=chosen)
        expected = rows_of(given.only(np.flatnonzero(chosen))).gradient_sum(Squared(), w, clip)
        np.testing.assert_array_equal(found, expected)
        part = rows_of(given).gradient_sum(Squared(), w, clip, chosen=chosen, support=np.array([2, 0]))
        np.testing.assert_array_equal(part, expected[[2, 0]])


@EVERY_KIND
def test_no_rows_give_a_sum_of_zero_in_every_shape(kind):
    empty = table(kind, intercept=0.5).only(slice(0, 0))
    rows = rows_of(empty)
    w = weights(empty)
    assert rows.gradient_sum(Squared(), w, Clip(1.0)).tolist() == [0] * (D + 1)
    assert rows.gradient_sum(Squared(), w, Clip(1.0), support=np.array([4])).tolist() == [0]
    assert rows.change_sum(Squared(), w, 0 * w, Clip(1.0), 1.0).tolist() == [0] * (D + 1)
    assert rows.square_sum()[0].tolist() == [0] * (D + 1)
    assert rows.exact_gradient_sum(Squared(), w).tolist() == [0.0] * (D + 1)
    assert rows.exact_square_sum().shape == (D + 1,)


# ------------------------------------------------------------------------------------------------ blocks


@EVERY_KIND
@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_blocks_of_any_size_give_the_same_sums(monkeypatch, kind, size):
    given = table(kind, intercept=0.5)
    w, clip = weights(given), Clip(0.5)
    chosen = np.arange(40) % 3 == 0

    def sums() -> list[list[int]]:
        rows = rows_of(given)
        return [
            rows.gradient_sum(Squared(), w, clip).tolist(),
            rows.gradient_sum(Squared(), w, clip, chosen=chosen).tolist(),
            rows.gradient_sum(Squared(), w, clip, support=np.array([1])).tolist(),
            rows.square_sum()[0].tolist(),
            rows.change_sum(Squared(), w, 0 * w, clip, 0.5).tolist(),
        ]

    before = sums()
    for name, value in (("BLOCK_ROWS", size), ("BLOCK_ENTRIES", size * D)):
        monkeypatch.setattr(source_module, name, value)
    assert sums() == before


def test_the_constants_of_the_lattice_leave_room_for_exact_sums():
    """Pinned: each of them halved or doubled changes either the resolution or the room below 2^53."""
    assert SUM_UNITS == lattice_module.RECORD_UNITS == 2.0**36
    assert lattice_module.RECORD_UNITS * lattice_module.BLOCK_ROWS == 2.0**52
    assert lattice_module.RECORD_UNITS * lattice_module.SHARD_ROWS == 2.0**62
    assert lattice_module.LARGEST_ENTRY + 1.5 <= 2**15 - 1
    assert lattice_module.LARGEST_ROWS == 2**31
    assert lattice_module.MARGIN_BITS == 51
    assert Lattice(Facts(n_rows=1, n_features=1)).total_bits == 61
    assert source_module.BLOCK_ENTRIES == 2**22
    assert shard_module.MENDS == 4096


@pytest.mark.parametrize("bits", range(32))
def test_rows_times_units_never_exceed_the_largest_total(bits):
    for n_rows in (2**bits - 1, 2**bits, 2**bits + 1):
        if not 1 <= n_rows <= 2**31:
            continue
        lattice = Lattice(Facts(n_rows=n_rows, n_features=3, intercept=1.0))
        assert 2**30 <= lattice.record_units <= 2**36
        assert lattice.record_units * n_rows <= 2**61
        assert lattice.square_units**2 <= lattice.record_units
        for entry in (1e-9, 0.3, 1.0, 1e9):
            limit, units = lattice.clipped_lattice(entry)
            assert limit * units <= lattice.record_units
            assert units >= 2.0**15


def test_more_than_two_billion_rows_are_refused():
    with pytest.raises(DataError, match="at most"):
        Lattice(Facts(n_rows=2**31 + 1, n_features=3))


def test_in_the_worst_case_every_float_stays_below_two_to_the_53(monkeypatch):
    """A full block of records that all hit their clip in the same direction, with the products watched."""
    largest = 0.0
    ordinary = plain._sum

    def watched(x, factor, rows):
        nonlocal largest
        largest = max(largest, float(np.max(abs(x[rows]).astype(float).T @ np.abs(factor[rows]))))
        return ordinary(x, factor, rows)

    monkeypatch.setenv("DPSPARSE_KERNELS", "plain")
    choice.forget_kernels()
    monkeypatch.setattr(plain, "_sum", watched)
    for kind in KINDS:
        given = table(kind, n=1, d=1, intercept=1e-4)
        at_the_shift = float(np.ravel(given.facts.shift)[0])
        for entry in (1.0, 1e-4, at_the_shift):  # short rows, also after the shift, have large factors
            x = np.full((lattice_module.BLOCK_ROWS, 1), entry)
            X = sp.csr_matrix(x) if kind.startswith("sparse") else x.astype(given.X.dtype)
            for intercept in (0.0, 1e-4):
                facts = given.facts.with_(n_rows=x.shape[0], intercept=intercept)
                rows = Rows(X, np.full(x.shape[0], -1e9), facts)
                rows.gradient_sum(Squared(), np.zeros(facts.dimension), Clip(1e-9))
    assert 2.0**51 < largest <= 2.0**53


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_wide_integers_near_their_midpoint_are_summed_exactly(sparse):
    """After the shift such rows are short and their factors large, while the unshifted products are enormous."""
    rng = np.random.default_rng(8)
    X = (2**14 + rng.integers(-2, 3, (1300, 2))).astype(np.int32)
    facts = Facts(n_rows=1300, n_features=2, lower=0.0, upper=2.0**15, shift=2.0**14, row_norm=1e6, target_bound=3.0)
    given = Table(sp.csr_matrix(X) if sparse else X, np.full(1300, -3.0), facts)
    clip, w = Clip(1e-9), np.zeros(2)
    parts = [rows_of(given.only(slice(i, i + 1))).gradient_sum(Squared(), w, clip) for i in range(1300)]
    assert rows_of(given).gradient_sum(Squared(), w, clip).tolist() == exact_sum(parts)
    assert max(integer_norm(p)[1] for p in parts) > 2**20


# ------------------------------------------------------------------------------------------------ one record's bound


def single(kind: str, x: np.ndarray, y: float, intercept: float) -> Table:
    given = table(kind, n=1, intercept=intercept)
    if kind.startswith("sparse"):
        X = sp.csr_matrix(np.atleast_2d(x))
    elif given.X.dtype.kind in "iub":
        with np.errstate(invalid="ignore"):
            X = np.clip(np.nan_to_num(np.atleast_2d(x)), -128, 127).astype(given.X.dtype)
    else:
        X = np.atleast_2d(x)
    return Table(X, np.array([y]), given.facts)


def allowed(rows: Rows, clip: Clip) -> list[Fraction]:
    """What a clip allows in each coordinate, in units of the sum, as an exact number."""
    out = []
    for j in range(rows.facts.dimension):
        bounds = [Fraction(clip.norm)]
        if clip.entry is not None:
            bounds.append(Fraction(clip.entry))
        if clip.slope is not None:
            bounds.append(Fraction(clip.slope) * Fraction(float(rows.coordinate_bounds[j])))
        if clip.columns is not None:
            bounds.append(Fraction(float(clip.columns[j])))
        out.append(min(bounds) * int(SUM_UNITS) / Fraction(clip.norm))
    return out


ITERATES = {
    "zero": np.zeros(D + 1),
    "ordinary": DYADIC,
    "sparse": np.where(np.arange(D + 1) == 3, 0.7, 0.0),
    "long": 1e4 * DYADIC,
    "enormous": 1e200 * np.ones(D + 1),
}


@EVERY_KIND
@pytest.mark.parametrize("intercept", [0.0, 0.5])
@pytest.mark.parametrize("name", clips(1))
def test_no_record_contributes_more_than_its_clip_in_whole_numbers(kind, intercept, name):
    for x, y in adversarial(D):
        given = single(kind, x, y, intercept)
        clip = clips(given.facts.dimension)[name]
        if shifted_sparse(kind, clip):
            pytest.skip("clips per column with shifted sparse rows are refused, which has its own test")
        rows = rows_of(given)
        limits = allowed(rows, clip)
        for w in ITERATES.values():
            for loss in (Squared(), Logistic(), Huber(threshold=0.25)):
                found = rows.gradient_sum(loss, w[: given.facts.dimension], clip)
                assert integer_norm(found)[0] <= int(SUM_UNITS) ** 2
                assert all(abs(int(v)) <= limit for v, limit in zip(found, limits, strict=True))
                sampled = rows.gradient_sum(loss, w[: given.facts.dimension], clip, chosen=np.array([True]))
                assert integer_norm(sampled)[0] <= int(SUM_UNITS) ** 2
                assert all(abs(int(v)) <= limit for v, limit in zip(sampled, limits, strict=True))


@EVERY_KIND
def test_the_clip_is_used_up_by_a_record_that_pulls_hard(kind):
    """The bound is not far from what a record reaches: a clip halved by mistake would be seen."""
    given = single(kind, np.r_[0.9, 0.4, np.zeros(D - 2)] if "int" not in kind else np.full(D, 2.0), -1e9, 0.0)
    found = rows_of(given).gradient_sum(Squared(), np.zeros(D), Clip(0.01))
    assert integer_norm(found)[0] > (0.999 * SUM_UNITS) ** 2
    entry = rows_of(given).gradient_sum(Squared(), np.zeros(D), Clip(0.01, 0.001))
    assert integer_norm(entry)[1] > 0.0999 * SUM_UNITS
    slope = rows_of(given).gradient_sum(Squared(), np.zeros(D), Clip(1.0, slope=0.01)) / SUM_UNITS
    assert np.abs(slope).max() > 0.0099 * 0.5


@EVERY_KIND
@pytest.mark.parametrize("intercept", [0.0, 0.5])
def test_no_record_changes_by_more_than_it_may(kind, intercept):
    for x, y in adversarial(D):
        given = single(kind, x, y, intercept)
        rows = rows_of(given)
        for w in ITERATES.values():
            for change in (1e-6, 0.1, 10.0):
                w_, anchor = w[: given.facts.dimension], DYADIC[: given.facts.dimension]
                found = rows.change_sum(Squared(), w_, anchor, Clip(0.5), change)
                assert integer_norm(found)[0] <= int(SUM_UNITS) ** 2


@EVERY_KIND
def test_a_change_is_the_difference_of_two_clipped_gradients(kind):
    given = table(kind, intercept=0.5)
    rows, clip, w = rows_of(given), Clip(0.5), weights(given)
    found = rows.change_sum(Squared(), w, 0 * w, clip, 1.0) * (1.0 / SUM_UNITS)
    here, there = (rows_of(given).gradient_sum(Squared(), at, clip) * (0.5 / SUM_UNITS) for at in (w, 0 * w))
    np.testing.assert_allclose(found, here - there, atol=1e-4)
    assert rows.change_sum(Squared(), w, w, clip, 1e-6).tolist() == [0] * given.facts.dimension


@EVERY_KIND
@pytest.mark.parametrize("intercept", [0.0, 0.5])
def test_squares_are_bounded_by_what_the_rows_state(kind, intercept):
    for x, y in adversarial(D):
        rows = rows_of(single(kind, x, y, intercept))
        total, unit = rows.square_sum()
        squares = [int(v) * Fraction(unit) for v in total]
        assert all(v >= 0 for v in squares)
        bounds = [Fraction(float(b)) ** 2 for b in rows.coordinate_bounds]
        slack = 1 + Fraction(1, 10**12)
        assert all(v <= b * slack for v, b in zip(squares, bounds, strict=True))
        norm2 = sum(v * v for v in squares)
        assert norm2 <= (Fraction(float(rows.coordinate_bounds.max())) * Fraction(rows.norm_bound)) ** 2 * slack


def test_a_shift_that_is_rounded_to_the_lattice_is_within_the_stated_bounds():
    """A unit of 1 by the first column; in the second, -10 less a shift of 5.5 that is rounded to 6 is 16, not 15.5."""
    facts = Facts(
        n_rows=1,
        n_features=2,
        lower=np.array([-32765.0, -10.0]),
        upper=np.array([32765.0, 0.0]),
        row_norm=1e9,
        shift=np.array([0.0, 5.5]),
        sparse=True,
    )
    rows = Rows(sp.csr_matrix([[0.0, -10.0]]), np.zeros(1), facts)
    total, unit = rows.square_sum()
    assert unit == 1.0
    assert total[1] == 16**2
    assert rows.coordinate_bounds[1] >= 16


@EVERY_KIND
def test_squares_are_those_of_the_shifted_rows(kind):
    given = table(kind, intercept=0.5)
    rows = rows_of(given)
    x = np.clip(given.dense(), given.facts.lower, given.facts.upper)
    x *= np.minimum(1, given.facts.row_norm / np.maximum(np.linalg.norm(x, axis=1), 1e-9))[:, None]
    expected = np.r_[((x - rows.applied_shift) ** 2).sum(axis=0), 40 * rows.applied_intercept**2]
    total, unit = rows.square_sum()
    np.testing.assert_allclose(total * unit, expected, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(rows_of(given, lattice=False).exact_square_sum()[:D], expected[:D], rtol=5e-3, atol=1e-3)


@pytest.mark.parametrize(("dtype", "lower", "upper"), [(np.uint8, -5.0, -1.0), (np.int8, 200.0, 300.0)])
def test_integers_that_cannot_lie_within_their_bounds_still_keep_the_stated_ones(dtype, lower, upper):
    """Bounds that the type cannot hold: the stored entries must obey what `coordinate_bounds` tells the oracle."""
    shift = (lower + upper) / 2
    facts = Facts(n_rows=1, n_features=2, lower=lower, upper=upper, shift=shift, row_norm=1e4, target_bound=1.0)
    rows = Rows(np.array([[0, 100]], dtype=dtype), np.array([1.0]), facts)
    total, unit = rows.square_sum()
    assert np.all(total * unit <= rows.coordinate_bounds**2 * (1 + 1e-9))


# ------------------------------------------------------------------------------------------------ sanitising

POISON = [(np.nan, 1.0), (np.inf, 1.0), (-np.inf, 1.0), (0.5, np.nan), (0.5, np.inf), (0.5, -np.inf)]
BAD = 7


def poisoned(kind: str, intercept: float) -> list[tuple[Table, Table]]:
    """Tables with one record that is not finite, and the same tables without it."""
    given = table(kind, intercept=intercept)
    others = np.flatnonzero(np.arange(40) != BAD)
    out = []
    for entry, target in POISON:
        if given.X.dtype.kind in "iub" and not np.isfinite(entry):
            continue  # integers are finite
        x, y = given.dense(), given.y.copy()
        x[BAD, 3], y[BAD] = entry, target
        bad = Table(sp.csr_matrix(x) if kind.startswith("sparse") else x.astype(given.X.dtype), y, given.facts)
        out.append((bad, bad.only(others)))
    return out


def answers(given: Table, loss: Loss, chosen: np.ndarray | None) -> dict[str, np.ndarray]:
    rows, w, clip = rows_of(given), weights(given), Clip(0.5)
    return {
        "gradient": rows.gradient_sum(loss, w, clip, chosen=chosen),
        "support": rows.gradient_sum(loss, w, clip, support=np.array([1]), chosen=chosen),
        "change": rows.change_sum(loss, w, 0 * w, clip, 1.0, chosen=chosen),
        "squares": rows.square_sum()[0],
        "exact": rows_of(given, lattice=False).exact_gradient_sum(loss, w, chosen=chosen).round(9) + 0.0,
    }


@EVERY_KIND
@pytest.mark.parametrize("intercept", [0.0, 0.5])
@pytest.mark.parametrize("sampled", [False, True])
def test_a_record_that_is_not_finite_contributes_exactly_nothing(kind, intercept, sampled):
    """Also to the intercept, to shifted columns, and when it is sampled."""
    chosen = np.ones(40, bool) if sampled else None
    for bad, without in poisoned(kind, intercept):
        for loss in (Squared(), Logistic()):
            one, two = answers(bad, loss, chosen), answers(without, loss, None if chosen is None else chosen[1:])
            for question, answer in one.items():
                np.testing.assert_array_equal(answer, two[question], err_msg=question)


@pytest.mark.parametrize("kind", ["dense", "sparse", "int8 midpoint"])
def test_columns_of_a_record_without_a_finite_target_are_zero(kind):
    given = table(kind)
    y = np.asarray(given.y, dtype=float).copy()
    y[0] = np.nan
    shard = Rows(given.X, y, given.facts).only
    [columns] = shard.columns(np.arange(3))
    assert not columns[0].any()
    assert not shard.blocks[0].present[0]
    assert columns[1:].any()


def test_duplicate_entries_of_a_sparse_row_are_added_before_they_are_bounded():
    X = sp.csr_matrix((np.full(6, 0.9), [0, 0, 0, 0, 1, 1], [0, 6]), shape=(1, 2))
    merged = sp.csr_matrix(np.array([[3.6, 1.8]]))
    facts = Facts(n_rows=1, n_features=2, lower=-1.0, upper=1.0, row_norm=1.2, target=Target(bound=1.0), sparse=True)
    w = np.array([0.5, -0.25])
    first, second = (Rows(m, np.ones(1), facts).gradient_sum(Squared(), w, Clip(9.0)) for m in (X, merged))
    np.testing.assert_array_equal(first, second)
    assert X.nnz == 6, "the caller's matrix keeps its duplicates"


def test_duplicates_that_overflow_empty_their_record():
    X = sp.csr_matrix((np.array([1.7e308, 1.7e308, 0.5]), [0, 0, 0], [0, 2, 3]), shape=(2, 1))
    facts = Facts(n_rows=2, n_features=1, target_bound=1.0, sparse=True)
    total = Rows(X, np.ones(2), facts).gradient_sum(Squared(), np.zeros(1), Clip(1.0))
    alone = Rows(X[1:], np.ones(1), facts).gradient_sum(Squared(), np.zeros(1), Clip(1.0))
    np.testing.assert_array_equal(total, alone)


def test_empty_rows_at_every_place_of_a_sparse_matrix_do_not_mix_up_their_neighbours():
    dense = np.zeros((9, 4))
    dense[[1, 4, 5], [0, 2, 3]] = [np.nan, 0.5, 0.25]
    facts = Facts(n_rows=9, n_features=4, target=Target(bound=1.0), sparse=True, intercept=0.5, shift=0.25)
    w = DYADIC[:5]
    found = Rows(sp.csr_matrix(dense), np.ones(9), facts).gradient_sum(Squared(), w, Clip(1.0))
    keep = np.arange(9) != 1
    expected = Rows(sp.csr_matrix(dense[keep]), np.ones(8), facts).gradient_sum(Squared(), w, Clip(1.0))
    np.testing.assert_array_equal(found, expected)


def test_negative_zero_and_subnormal_entries_count_as_zero():
    facts = Facts(n_rows=1, n_features=3, target=Target(bound=1.0), intercept=0.5)
    for value in (-0.0, 5e-324, -5e-324, 1e-300):
        for X in (np.full((1, 3), value), sp.csr_matrix(np.full((1, 3), value))):
            found = Rows(X, np.ones(1), facts).gradient_sum(Squared(), np.zeros(4), Clip(1.0))
            assert found[:3].tolist() == [0, 0, 0]
            assert found[3] != 0


@EVERY_KIND
@pytest.mark.parametrize("iterate", ["enormous", "infinite", "nan", "largest"])
def test_wild_iterates_raise_no_warning_and_no_bound(kind, iterate):
    """A warning would depend on the data: it is a message about them."""
    value = {"enormous": 1e300, "infinite": np.inf, "nan": np.nan, "largest": 1.7e308}[iterate]
    given = table(kind, intercept=0.5)
    w = np.full(D + 1, value) * np.where(np.arange(D + 1) % 2, 1, -1)
    chosen = np.arange(40) % 2 == 0
    for found in (
        rows_of(given).gradient_sum(Squared(), w, Clip(0.5)),
        rows_of(given).gradient_sum(Squared(), w, Clip(0.5), chosen=chosen),
        rows_of(given).change_sum(Squared(), w, np.zeros_like(w), Clip(0.5), 0.5),
    ):
        assert np.all(np.abs(found) <= 40 * SUM_UNITS)


# ------------------------------------------------------------------------------------------------ memory


@EVERY_KIND
def test_what_rows_remember_does_not_change_what_they_answer(kind):
    """Sums and margins are mended from step to step: the answer is that of fresh rows, to the last unit."""
    given = table(kind, n=60, d=24, intercept=0.5)
    rng = np.random.default_rng(3)
    rows, w = rows_of(given), np.zeros(25)
    for turn in range(30):
        w = w.copy()
        w[rng.integers(0, 25, 2)] += rng.normal(0, 0.5, 2)
        if turn % 10 == 9:
            w = rng.normal(0, 1, 25)
        clip = [Clip(0.5), Clip(0.25), Clip(0.5, 0.1)][turn % 3]
        loss = [Squared(), Huber(threshold=0.5)][turn % 2]
        support = None if turn % 4 else np.array([1, 24])
        found = rows.gradient_sum(loss, w, clip, support=support)
        fresh = rows_of(given).gradient_sum(loss, w, clip, support=support)
        np.testing.assert_array_equal(found, fresh)


def test_changing_an_answer_does_not_change_the_next_one():
    given = table("dense")
    rows, w = rows_of(given), weights(given)
    first = rows.gradient_sum(Squared(), w, Clip(0.5))
    kept = first.copy()
    try:
        first += 12345
    except ValueError:  # an answer that cannot be written to is as good
        assert not first.flags.writeable
    np.testing.assert_array_equal(rows.gradient_sum(Squared(), w, Clip(0.5)), kept)
    np.testing.assert_array_equal(rows.gradient_sum(Squared(), w + 0.0, Clip(0.5)), kept)


def test_a_clip_that_was_changed_in_place_is_noticed():
    """A clip is public and frozen; the array of its columns must not be a way around that."""
    given = table("dense")
    rows, w = rows_of(given), weights(given)
    columns = np.full(D, 0.4)
    clip = Clip(0.5, columns=columns)
    rows.gradient_sum(Squared(), w, clip)
    columns[:] = 1e-6
    found = rows.gradient_sum(Squared(), w, clip)
    limit = float(np.max(clip.columns)) / 0.5 * SUM_UNITS * given.y.size
    assert np.max(np.abs(found)) <= limit


def test_a_remembered_sum_is_not_taken_for_that_of_another_clip():
    """Clips of columns leave every factor as it is: only the clip itself tells the two sums apart."""
    given = table("dense")
    w, tight = weights(given), Clip(0.5, columns=np.full(D, 0.01))
    rows = rows_of(given)
    rows.gradient_sum(Squared(), w, Clip(0.5))
    np.testing.assert_array_equal(
        rows.gradient_sum(Squared(), w, tight), rows_of(given).gradient_sum(Squared(), w, tight)
    )


def test_the_array_of_an_iterate_may_be_reused():
    given = table("dense")
    rows, w = rows_of(given), weights(given)
    rows.gradient_sum(Squared(), w, Clip(0.5))
    w *= -1
    expected = rows_of(given).gradient_sum(Squared(), w.copy(), Clip(0.5))
    np.testing.assert_array_equal(rows.gradient_sum(Squared(), w, Clip(0.5)), expected)


# ------------------------------------------------------------------------------------------------ manners


@pytest.mark.parametrize("kind", ["sparse", "sparse shifted"])
@pytest.mark.parametrize("intercept", [0.0, 0.5])
def test_sparse_rows_are_never_made_dense(monkeypatch, kind, intercept):
    given = table(kind, intercept=intercept)

    def refuse(*_, **__):
        raise AssertionError("a sparse matrix was made dense")

    for cls in (sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.csc_array, sp.coo_matrix, sp.coo_array):
        for method in ("toarray", "todense", "__array__"):
            monkeypatch.setattr(cls, method, refuse, raising=False)
    rows = rows_of(given)
    w, chosen = weights(given), np.arange(40) % 2 == 0
    rows.gradient_sum(Squared(), w, Clip(0.5))
    rows.gradient_sum(Squared(), w, Clip(0.5), support=np.array([2]))
    rows.gradient_sum(Squared(), w, Clip(0.5), chosen=chosen)
    rows.gradient_sum(Squared(), np.where(np.arange(w.size) == 1, 1.0, 0.0), Clip(0.5))
    rows.change_sum(Squared(), w, 0 * w, Clip(0.5), 0.5, chosen=chosen)
    rows.square_sum()
    rows_of(given, lattice=False).exact_gradient_sum(Squared(), w)
    if kind == "sparse":
        rows.gradient_sum(Squared(), w, Clip(0.5, columns=np.full(w.size, 0.1)))


@pytest.mark.parametrize(("lower", "upper"), [(0.5, 1.0), (-1.0, -0.5), (np.array([-1.0, 0.1]), 1.0)])
def test_bounds_of_sparse_rows_must_contain_zero(lower, upper):
    facts = Facts(n_rows=1, n_features=2, lower=lower, upper=upper, sparse=True)
    with pytest.raises(DataError, match="zero"):
        Rows(sp.csr_matrix((1, 2)), np.zeros(1), facts)


def test_clips_of_columns_and_shifted_sparse_rows_are_refused_together():
    given = table("sparse shifted")
    with pytest.raises(DataError, match="column"):
        rows_of(given).gradient_sum(Squared(), weights(given), Clip(0.5, columns=np.full(D, 0.1)))


@EVERY_KIND
def test_rows_are_silent(kind):
    given = table(kind, n=41)
    rows = rows_of(given)
    shown = repr(rows) + str(rows)
    assert "41" not in shown, "the number of rows may be private"
    assert str(D) in shown
    assert not any(f"{v:.3f}" in shown for v in given.y)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_rows_are_never_copied_or_stored(duplicate):
    rows = rows_of(table("dense"))
    for private in (rows, rows.only):
        with pytest.raises(TypeError, match="not copied"):
            duplicate(private)


@EVERY_KIND
def test_the_callers_arrays_are_left_alone_and_not_kept(kind):
    given = table(kind, intercept=0.5)
    X, y = given.X.copy(), given.y.copy()
    rows = rows_of(given)
    before = rows.gradient_sum(Squared(), weights(given), Clip(0.5))
    difference = abs(sp.csr_matrix(given.X.astype(float)) - sp.csr_matrix(X.astype(float)))
    assert difference.nnz == 0
    np.testing.assert_array_equal(given.y, y)
    (given.X.data if kind.startswith("sparse") else given.X)[:] = 0
    given.y[:] = 0.0
    np.testing.assert_array_equal(rows.gradient_sum(Squared(), weights(given) + 0.0, Clip(0.5)), before)
    np.testing.assert_array_equal(
        rows.gradient_sum(Squared(), weights(given), Clip(0.5), chosen=np.ones(40, bool)), before
    )


@pytest.mark.parametrize("shape", [(3, 2), (4, 3)])
def test_shapes_must_agree(shape):
    facts = Facts(n_rows=3, n_features=3)
    with pytest.raises(DataError, match="3 features"):
        Rows(np.zeros(shape), np.zeros(3), facts)


def test_rows_without_a_lattice_answer_the_exact_oracle_only():
    given = table("dense")
    rows = rows_of(given, lattice=False)
    for ask in (
        lambda: rows.gradient_sum(Squared(), weights(given), Clip(1.0)),
        lambda: rows.change_sum(Squared(), weights(given), weights(given), Clip(1.0), 1.0),
    ):
        with pytest.raises(TypeError, match="exact oracle"):
            ask()


@EVERY_KIND
@pytest.mark.parametrize("intercept", [0.0, 0.5])
def test_exact_sums_are_unclipped_gradients(kind, intercept):
    given = table(kind, intercept=intercept)
    rows, w = rows_of(given, lattice=False), weights(given)
    everything = Clip(1e9)
    expected = contributions(given, Squared(), w, everything, given.facts.shift, intercept)
    np.testing.assert_allclose(rows.exact_gradient_sum(Squared(), w), expected.sum(axis=0), rtol=1e-9, atol=1e-9)
    chosen = np.arange(40) % 3 == 0
    np.testing.assert_allclose(
        rows.exact_gradient_sum(Squared(), w, chosen=chosen), expected[chosen].sum(axis=0), rtol=1e-9, atol=1e-9
    )


# ------------------------------------------------------------------------------------------------ sampling


def test_a_sample_has_one_independent_coin_per_row():
    """Inclusion frequencies: false alarm 40 x 5.7e-7 would be too much, so the limit is 6 standard errors (8e-8)."""
    draws = np.array([PoissonSample(0.3, key).mask(0, 40) for key in range(4000)])
    assert draws.shape == (4000, 40)
    error = np.sqrt(0.3 * 0.7 / 4000)
    assert np.max(np.abs(draws.mean(axis=0) - 0.3)) < 6 * error
    pairs = np.corrcoef(draws.T.astype(float))
    assert np.max(np.abs(pairs - np.eye(40))) < 6.5 / np.sqrt(4000)
    sizes = draws.sum(axis=1)
    assert sizes.var() == pytest.approx(40 * 0.3 * 0.7, rel=6 * np.sqrt(2 / 4000)), "a fixed batch size has variance 0"


def test_parts_are_dealt_by_one_independent_coin_per_row():
    """Every row is in one part; parts have the sizes of a binomial law, not equal ones. Six standard errors."""
    dealt = np.array([[RandomPartition(4, key).owners(0, 40) == part for part in range(4)] for key in range(1000)])
    assert np.all(dealt.sum(axis=1) == 1)
    assert np.max(np.abs(dealt.mean(axis=0) - 0.25)) < 6 * np.sqrt(0.25 * 0.75 / 1000)
    assert dealt[:, 0].sum(axis=1).var() == pytest.approx(40 * 0.25 * 0.75, rel=6 * np.sqrt(2 / 1000))


def test_draws_follow_the_number_of_a_row_and_nothing_else():
    for draw in (
        lambda first, count: PoissonSample(0.3, 77).mask(first, count),
        lambda f, c: RandomPartition(5, 77).owners(f, c),
    ):
        whole = draw(0, 100)
        for edges in ([0, 1, 50, 100], [0, 33, 34, 99, 100]):
            parts = [draw(a, b - a) for a, b in itertools.pairwise(edges)]
            np.testing.assert_array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("rate", [1e-30, 0.1, 1 / 3, 0.5, 1 - 2.0**-53])
def test_a_row_is_never_drawn_more_often_than_its_rate(monkeypatch, rate):
    """The largest word that is drawn, plus one, over 2^64 is at most the rate, and within 2^-64 of it."""
    from dpsparse.rows import sampling as module

    below = int(Fraction(rate) * 2**64)
    words = np.array([0, max(below - 1, 0), min(below, 2**64 - 1), 2**64 - 1], dtype=np.uint64)
    monkeypatch.setattr(module, "_words", lambda *_: words)
    drawn = PoissonSample(rate, 0).mask(0, 4)
    assert drawn.tolist() == [below > 0, below > 0, False, False]
    assert 0 <= Fraction(rate) - Fraction(below, 2**64) < Fraction(1, 2**64)


def test_more_rows_than_a_sum_of_integers_holds_are_not_put_into_one_part(monkeypatch):
    monkeypatch.setattr(shard_module, "SHARD_ROWS", 3)
    facts = Facts(n_rows=7, n_features=2, row_norm=1.0)
    assert [s.rows for s in Rows(np.zeros((7, 2)), np.zeros(7), facts).shards] == [2, 2, 3]
    with pytest.raises(DataError, match="at most 3 rows"):
        shard_module.Shard(Lattice(facts), [(np.zeros((4, 2)), np.zeros(4))])


def test_rows_that_are_clipped_below_their_bounds_keep_the_stated_ones():
    """A clip of the norm moves entries towards zero, also out of bounds that do not hold it."""
    facts = Facts(n_rows=1, n_features=4, lower=0.5, upper=1.0, row_norm=0.2, shift=0.75, target_bound=1.0)
    rows = Rows(np.ones((1, 4)), np.ones(1), facts)
    total, unit = rows.square_sum()
    assert np.all(total * unit <= rows.coordinate_bounds**2)
    assert np.all(total * unit > 0.6**2)


@pytest.mark.parametrize(
    ("values", "kind"), [((0, 1, 2), "int8"), ((-127, 127), "int8"), ((0, 200), "float32"), ((0, 0.5), "float32"), ((0, 0.1), "float64")]
)  # fmt: skip
def test_rows_of_a_baseline_are_stored_in_the_narrowest_type_that_holds_their_numbers(values, kind):
    X = np.resize(np.array(values, dtype=float), (9, 4))
    facts = Facts(n_rows=9, n_features=4, lower=-200.0, upper=200.0, row_norm=1e3, target=Target(bound=1.0))
    given = Rows(X, np.linspace(-1, 1, 9), facts, lattice=False)
    [block] = given.shards[0].blocks
    assert block.x.dtype == kind
    assert block.x.tolist() == X.tolist()
    w = np.linspace(-1, 1, 4)
    assert given.shards[0].margins(w)[0] == pytest.approx(X @ w, rel=1e-12)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems take freed space back themselves")
def test_space_of_freed_rows_goes_back_to_the_system_after_a_large_fit_alone():
    """In a process of its own: blocks of 8 MB that lie under small arrays, as those of a fit do."""
    program = """
import ctypes, resource, numpy as np
from dpsparse.core.facts import Facts
from dpsparse.rows.hosts.memory import give_back
held = lambda: int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() >> 20
del (largest := [np.ones(2**22 - 2**17)])[:]  # from here on the C library keeps blocks up to this size
blocks = [(np.ones(2**20), np.ones(2**15)) for _ in range(25)]
pins = [pin for _, pin in blocks]
del blocks
before = held()
for rows in (10, 2**14):
    give_back(Facts(n_rows=rows, n_features=2**10))
    print(before - held(), hasattr(ctypes.CDLL(None), "malloc_trim"))
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    (few, _), (many, trims) = (line.split() for line in run.stdout.splitlines())
    assert int(few) < 20
    assert int(many) > 150 or trims == "False"
