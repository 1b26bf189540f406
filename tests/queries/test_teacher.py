"""How far a teacher and votes move between neighbours."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from builders import Rows, charge_for
from dpsparse.core import Adjacency, PrivacyError
from dpsparse.core.facts import Clip, Facts, Target
from dpsparse.losses import Logistic, Squared
from dpsparse.queries.kinds import Gradient, PerturbedMinimum, RidgeMinimum, SupportVotes
from dpsparse.queries.minimisers import (
    RECORDS,
    MinimiserSpec,
    perturbed_minimum,
    public_side,
    ridge_minimum,
    ridge_spec,
    tilted_side,
)
from dpsparse.queries.votes import VOTE_RANGE, votes
from dpsparse.rows.lattice import Lattice
from dpsparse.rows.shard import Shard
from dpsparse.rows.support_rows import restricted

K, R = 1.0, 0.5


def charge_on(shards, question):
    """A charge for these rows."""
    return charge_for(question, SimpleNamespace(facts=shards[0].facts, lattice=shards[0].lattice, shards=shards))


def solved(shards, loss, question):
    """The teacher and its sensitivity."""
    _, _, spec = ridge_spec(question, loss, shards[0].facts.n_rows, 1.0)
    values = ridge_minimum(charge_on(shards, question), shards, loss, spec.tolerance)
    assert values.size == spec.size
    return SimpleNamespace(values=values, sensitivity=spec.sensitivity)


def teacher(X, y, ridge, relation=Adjacency.REPLACE_ONE, loss=None, design=None, n_rows=None):
    facts = Facts(
        n_rows=n_rows or y.size,
        n_features=X.shape[1],
        row_norm=1e3,
        lower=-1e3,
        upper=1e3,
        target=Target(bound=1e7),
        intercept=0.0,
    )
    question = RidgeMinimum(np.arange(X.shape[1]), Clip(K * R, slope=R), K, ridge, design)
    return solved(Rows(X, y, facts).shards, loss or Squared(), question)


def base(rng, n=150, s=4):
    X = rng.standard_normal((n, s))
    X *= (K * rng.choice([0.05, 0.3, 1.0]) / np.linalg.norm(X, axis=1))[:, None]
    return X, X @ rng.standard_normal(s) + 0.3 * rng.standard_normal(n)


HOSTILE = [
    (np.array([1e6, 0, 0, 0]), 1e6),
    (np.array([1e-8, 0, 0, 0]), 1e12),
    (np.full(4, np.nan), 1.0),
    (np.array([np.inf, 0, 0, 0]), 1.0),
    (np.zeros(4), 5.0),
    (np.full(4, 0.5), np.inf),
]


@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=["squared", "logistic"])
def test_no_record_moves_a_teacher_beyond_its_sensitivity(loss):
    """A6 for the teacher: random, opposite and hostile records, both adjacencies."""
    rng = np.random.default_rng(0)
    for trial in range(24):
        X, y = base(rng)
        ridge = float(rng.choice([1.0, 5.0, 30.0]))
        direction = rng.standard_normal(4)
        pairs = [(K * direction / np.linalg.norm(direction), 1e6 * sign) for sign in (1, -1)]
        pairs.append(HOSTILE[trial % len(HOSTILE)])
        found = []
        for x, target in pairs:
            X2, y2 = np.vstack([x, X]), np.r_[target, y]
            found.append(teacher(X2, (y2 > 0).astype(float) if loss.classes else y2, ridge, loss=loss))
        without = teacher(X, (y > 0).astype(float) if loss.classes else y, ridge, loss=loss, n_rows=y.size + 1)
        added = teacher(X, y, ridge, Adjacency.ADD_REMOVE, n_rows=y.size + 1).sensitivity
        for i, a in enumerate(found):
            assert np.linalg.norm(a.values - without.values) <= added
            for b in found[:i]:
                assert np.linalg.norm(a.values - b.values) <= a.sensitivity


@pytest.mark.parametrize("relation", list(Adjacency))
def test_the_sensitivity_is_nearly_attained_so_half_of_it_would_be_wrong(relation):
    rng = np.random.default_rng(1)
    X, y = base(rng)
    X *= 0.01
    u = np.array([0.6, -0.8, 0, 0])
    one, other = (np.vstack([u, X]), np.r_[1e6, y]), (np.vstack([u, X]), np.r_[-1e6, y])
    if relation is Adjacency.ADD_REMOVE:  # the first record of the longer one makes its last one leave
        one, other = (np.vstack([u, X, u]), np.r_[1e6, y, -1e6]), (np.vstack([X, u]), np.r_[y, -1e6])
    first, second = (teacher(*w, 5.0, relation, n_rows=y.size + 1) for w in (one, other))
    assert 0.95 < np.linalg.norm(first.values - second.values) / first.sensitivity <= 1.0


#: Numbers of rows that are present where 10 are declared: around the declared one, and hundreds of times as many.
PRESENT = (8, 9, 10, 11, 12, 40, 4_707)


@pytest.mark.parametrize("present", PRESENT)
@pytest.mark.parametrize("minimum", ["teacher", "perturbed"])
def test_minima_are_stable_however_many_rows_are_present(minimum, present):
    """A small ridge and large targets: without a bound on the rows that are used, rounding keeps the search from its tolerance."""
    declared, k = 10, 5
    facts = Facts(n_rows=declared, n_features=k, lower=-1.0, upper=1.0, row_norm=1.0, target=Target(bound=1e4))
    rng = np.random.default_rng(0)
    X, unit = rng.uniform(-1, 1, (6_000, k)) / np.sqrt(k), Lattice(facts).unit
    X = np.trunc(X / unit) * unit
    y = X @ (rng.normal(size=k) * 400)
    support, clip, weight = np.arange(k), Clip(1e-3), 0.002
    tilt = 1e-3 * rng.normal(size=k)
    public = tilted_side(PerturbedMinimum(support, clip, 1.0, weight), Squared(), declared, 1e-3)

    def answer(rows, targets):
        shards = Rows(rows, targets, facts).shards
        if minimum == "teacher":
            return solved(shards, Squared(), RidgeMinimum(support, clip, 1.0, weight))
        question = PerturbedMinimum(support, clip, 1.0, weight)
        found = perturbed_minimum(charge_on(shards, question), shards, Squared(), tilt, public.tolerance())
        return SimpleNamespace(values=found, sensitivity=(RECORDS * clip.norm + 2 * public.tolerance()) / weight)

    following = answer(X[: present + 1], y[: present + 1])
    X, y = X[:present], y[:present]
    without = answer(X, y)
    assert np.linalg.norm(following.values - without.values) <= without.sensitivity
    for place in (0, present // 2, present):
        for target in (1e4, -1e4, np.nan):
            added = answer(np.insert(X, place, 0.4, axis=0), np.insert(y, place, target))
            assert np.linalg.norm(added.values - without.values) <= without.sensitivity


def test_the_first_records_that_are_present_are_used_in_any_partition():
    rng = np.random.default_rng(3)
    X, y = rng.uniform(-1, 1, (40, 3)), rng.normal(size=40)
    y[[0, 7]] = np.nan  # absent records take no place
    facts = Facts(n_rows=12, n_features=3, row_norm=2.0)
    lattice = Lattice(facts)
    for cuts in ([], [5], [1, 14, 15, 30]):
        pieces = [Shard(lattice, [part]) for part in zip(np.split(X, cuts), np.split(y, cuts), strict=True)]
        found = restricted(pieces, np.arange(3), 2.0, 12)
        everything = restricted(pieces, np.arange(3), 2.0)
        np.testing.assert_array_equal(found.x, everything.x[:14])
        np.testing.assert_array_equal(found.y, everything.y[:14])
    assert restricted([Shard(lattice, [(X, y)])], np.arange(3), 2.0, 100).y.size == 40


def test_labels_move_by_the_operator_norm_times_the_teacher():
    rng = np.random.default_rng(2)
    X, y = base(rng)
    design = rng.standard_normal((30, 4)) * [5.0, 1, 1, 1]
    theta, labels = teacher(X, y, 5.0), teacher(X, y, 5.0, design=design)
    np.testing.assert_allclose(labels.values, design @ theta.values)
    assert labels.sensitivity == pytest.approx(theta.sensitivity * np.linalg.norm(design, 2), rel=1e-6)
    assert labels.sensitivity >= theta.sensitivity * np.linalg.norm(design, 2)


@pytest.mark.parametrize("size", [0.0, 1e-61, 1e61, np.nan])
def test_public_rows_whose_products_vanish_or_overflow_are_refused(size):
    X, y = base(np.random.default_rng(2))
    with pytest.raises(PrivacyError, match="public rows to label"):
        teacher(X, y, 5.0, design=size * np.ones((3, 4)))


@pytest.mark.parametrize(("norm", "ridge"), [(1e-61, 1.0), (1.0, 1e61), (1.0, np.nan), (1.0, 0.0)])
def test_minima_with_numbers_that_floats_cannot_square_are_refused(norm, ridge):
    with pytest.raises(PrivacyError, match="a row norm and a positive ridge"):
        public_side(RidgeMinimum(np.arange(2), Clip(1.0), norm, ridge), Squared(), 10).check()


def test_rounding_an_estimate_adds_what_it_says():
    rng = np.random.default_rng(3)
    for _ in range(200):
        m = int(rng.integers(1, 50))
        a = rng.standard_normal(m)
        b = a + 0.1 * (d := rng.standard_normal(m)) / np.linalg.norm(d)
        spec = MinimiserSpec(0.0, 0.1, m, 1.0, units=16.0)
        moved = np.linalg.norm((spec.whole(a) - spec.whole(b)) * spec.unit)
        assert moved <= spec.rounded_sensitivity
    assert MinimiserSpec(0.0, 1e-3, 1, 1.0).whole(np.array([1e30]))[0] == 2**52


# ------------------------------------------------------------------------------------------------ votes


def ballots(X, y, seed=0, parts=8, count=3):
    facts = Facts(n_rows=y.size, n_features=X.shape[1], row_norm=10.0, target=Target(bound=2.0))
    question = SupportVotes(Gradient(np.zeros(X.shape[1]), Clip(1.0)), count, parts)
    host = Rows(X, y, facts)
    return votes(charge_for(question, host), host.shards, Squared(), seed)


def test_one_record_moves_every_number_of_votes_by_at_most_one():
    rng = np.random.default_rng(4)
    largest = 0.0
    for trial in range(60):
        X, y = rng.uniform(-1, 1, (80, 12)), rng.uniform(-1, 1, 80)
        before = ballots(X, y, trial)
        assert before.sum() == 8 * 3
        X[-1], y[-1] = rng.choice([-1, 1], 12), 2.0  # replaced
        for moved in (ballots(X, y, trial), ballots(X[:-1], y[:-1], trial)):
            change = moved - before
            assert np.abs(change).max() <= 1
            assert np.ptp(change) <= VOTE_RANGE
            largest = max(largest, float(np.ptp(change)))
    assert largest == VOTE_RANGE, "attained, so a smaller range would be wrong"


def test_votes_find_the_features_that_matter():
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, (4000, 30))
    found = ballots(X, X[:, 3] - X[:, 7] + X[:, 11], parts=40)
    assert set(np.argsort(-found)[:3]) == {3, 7, 11}
    assert found[[3, 7, 11]].min() > 2 * np.sort(found)[-4]
