"""Bounds are enforced: whatever a row function gives, one record adds a vector of the declared set, in whole units."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from builders import charge_for, checked
from dpsparse.core import Adjacency, PrivacyError
from dpsparse.losses import Squared
from dpsparse.queries.bounds import Bound, ball, bounded_sum, interval
from dpsparse.queries.kinds import (
    CentredGradient,
    ClippedShare,
    ColumnMeans,
    Count,
    CountWithin,
    Curvature,
    ResidualMean,
)
from dpsparse.queries.rules import SUMS
from dpsparse.rows.hosts import MemoryHost
from dpsparse.rows.lattice import Lattice
from questions import FACTS, QUESTIONS, D

BOUNDS = {
    "numbers around zero": interval(-0.7, 0.7),
    "numbers from zero": interval(0.0, 3e-7),
    "only zero above": interval(-2.0, 0.0),
    "box": Bound(-np.array([0.0, 1.0, 1e-9]), np.array([1e9, 0.3, 0.0])),
    "ball": ball(0.3, 5),
    "wide ball": ball(1e55, 60),
    "small ball": ball(1e-60, 3),
    "ball cut by a box": Bound(-np.array([0.1, 2.0]), np.array([3.0, 0.5]), 1.0),
}


def hostile(size: int, rng: np.random.Generator) -> np.ndarray:
    rows = rng.normal(size=(80, size)) * 10.0 ** rng.uniform(-80, 80, (80, 1))
    rows[::7] *= 10.0 ** rng.uniform(-60, 60, (len(rows[::7]), size))
    wild = np.array([np.nan, np.inf, -np.inf, 1e308, -1e308, 0.0, -0.0, 5e-324])
    rows[::5] = rng.choice(wild, (len(rows[::5]), size))
    return rows


def squared_norm(row: np.ndarray) -> Fraction:
    return sum((Fraction(float(v)) ** 2 for v in row), Fraction(0))


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("n_rows", [10, 2**31 - 1])
def test_any_floats_become_rows_of_the_set_in_whole_units(name, n_rows):
    bound, rng = BOUNDS[name], np.random.default_rng(0)
    spec = bound.spec(Lattice(FACTS.with_(n_rows=n_rows)))
    near = rng.normal(size=(80, bound.lower.size))
    near *= (min(bound.norm, 1e60) * rng.choice([1 - 1e-15, 1, 1 + 1e-15], 80) / np.linalg.norm(near, axis=1))[:, None]
    for values in (hostile(bound.lower.size, rng), near, np.tile(bound.upper, (2, 1)), np.tile(bound.lower, (2, 1))):
        held = bound.clipped(values)
        assert np.all(np.isfinite(held))
        assert np.all((held >= bound.lower) & (held <= bound.upper))
        whole = np.trunc(held / spec.unit)
        for row, counted in zip(held, whole, strict=True):
            if bound.norm < np.inf:
                assert squared_norm(row) <= Fraction(bound.norm) ** 2
                assert squared_norm(counted) <= Fraction(spec.record) ** 2
            assert np.all(np.abs(counted) <= spec.record)
        np.testing.assert_allclose(bound.clipped(held), held, rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("name", BOUNDS)
def test_two_records_are_no_further_apart_than_is_stated(name):
    bound, rng = BOUNDS[name], np.random.default_rng(1)
    spec = bound.spec(Lattice(FACTS))
    values = bound.clipped(np.vstack([hostile(bound.lower.size, rng), bound.lower, bound.upper]))
    added = np.clip(np.trunc(values / spec.unit), -spec.record, spec.record) * spec.unit
    one, pairs = added, added[:, None] - added[None, :]
    room = 1 + 1e-9
    assert np.max(np.linalg.norm(one, axis=1)) <= spec.reach.l2(Adjacency.ADD_REMOVE) * room
    assert np.max(np.linalg.norm(pairs, axis=2)) <= spec.reach.l2(Adjacency.REPLACE_ONE) * room
    assert np.all(np.abs(one) <= spec.reach.linf(Adjacency.ADD_REMOVE) * room)
    assert np.all(np.abs(pairs) <= spec.reach.linf(Adjacency.REPLACE_ONE) * room)


def test_a_row_is_held_alike_in_any_company():
    bound, values = BOUNDS["ball"], hostile(5, np.random.default_rng(2))
    together = bound.clipped(values)
    for i, row in enumerate(values):
        np.testing.assert_array_equal(bound.clipped(row[None])[0], together[i])


def test_what_is_inside_is_not_copied():
    values = 0.01 * np.ones((4, 5))
    assert BOUNDS["ball"].clipped(values) is values


@pytest.mark.parametrize(("low", "high"), [(0.1, 1.0), (-1.0, -0.1), (-np.inf, 1.0), (0.0, np.nan)])
def test_sets_without_zero_or_without_end_are_refused(low, high):
    with pytest.raises(PrivacyError, match="box around 0"):
        interval(low, high)


@pytest.mark.parametrize("values", [np.nan, np.inf, -np.inf, 1e300, -5.0])
def test_a_wild_row_function_moves_a_sum_by_one_record_and_no_more(values):
    rule = bounded_sum(
        lambda q, lattice: interval(0.0, 2.0),
        lambda q, shard, loss: (np.full((b.y.size, 1), values) for b in shard.blocks),
    )
    host = MemoryHost(np.zeros((3, D)), np.zeros(3), FACTS.with_(counts_unread=0))
    spec = rule.measure(None, host.lattice)
    total = rule.part(None, spec, host.shards[0], Squared()) * spec.unit
    assert total == (0.0 if values < 0 else 6.0)


#: Sums whose bounds clean rows do not reach.
HELD = (ResidualMean, CountWithin, CentredGradient, Curvature, Count, ClippedShare, ColumnMeans)


def test_row_functions_are_within_their_bounds_on_clean_rows(monkeypatch):
    """A bound that clips what is right would hide a wrong row function."""
    moved: dict[str, float] = {}
    asked: list[str] = []
    ordinary = Bound.clipped

    def watched(self: Bound, values: np.ndarray) -> np.ndarray:
        found = ordinary(self, values)
        moved[asked[-1]] = max(moved.get(asked[-1], 0.0), float(np.max(np.abs(found - values), initial=0.0)))
        return found

    monkeypatch.setattr(Bound, "clipped", watched)
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-0.1, 0.1, (61, D)), 0.01 * rng.normal(size=61)
    host = MemoryHost(checked(X, FACTS.counts_unread), y, FACTS)
    for name, question in QUESTIONS.items():
        if type(question) in HELD:
            asked.append(name)
            SUMS[type(question)].part(question, charge_for(question, host).spec, host.shards[0], Squared())
    assert len(moved) >= len(HELD)
    assert {name: size for name, size in moved.items() if size > 2.0**-30} == {}


@pytest.mark.parametrize("norm", [1e-170, 0.9e-100, 1.1e100])
def test_a_ball_whose_squares_could_vanish_or_overflow_is_refused(norm):
    """Control: without the range, 1e-170 holds a vector of nearly three times its radius."""
    with pytest.raises(PrivacyError, match="must be between 1e-100"):
        ball(norm, 9)
    longest = ball(1e-100, 9).clipped(np.full((1, 9), 1e-100))
    assert np.linalg.norm(longest / 1e-100) <= 1.0
