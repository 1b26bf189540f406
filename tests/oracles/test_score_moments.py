"""Score, Gram matrix and meat in one release: neighbours reach the stated distance and never exceed it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from builders import whole_sum
from dpsparse.core import Adjacency, PrivacyError
from dpsparse.core.facts import Facts, Target
from dpsparse.losses import Logistic, Squared
from dpsparse.queries.inference import TIED, pair_square
from dpsparse.queries.kinds import CentredModel, CountWithin, ScoreMoments
from dpsparse.queries.rules import measure
from dpsparse.rows.hosts import MemoryHost


def facts(*, classes: bool = False, d: int = 2) -> Facts:
    target = Target(kind="classes") if classes else Target(bound=1e9)
    return Facts(n_rows=64, n_features=d, lower=-8.0, upper=8.0, row_norm=30.0, intercept=1.0, target=target)


def pilot(d: int = 2, offset: float = 0.0, w: tuple[float, ...] = (0.0, 0.0)) -> CentredModel:
    return CentredModel(np.arange(d), np.zeros(d), np.array(w), offset)


def moments(*, gram: float, meat: float, norm: float = 2.0, residual: float = 1.0, constant: bool = True, model: CentredModel | None = None) -> ScoreMoments:  # fmt: skip
    model = pilot() if model is None else model
    return ScoreMoments(model, np.ones(model.support.size), constant, residual, norm, gram, meat)


def added(question: ScoreMoments, x: np.ndarray, y: float, *, classes: bool = False) -> np.ndarray:
    """What one record adds, in real units."""
    host = MemoryHost(x[None, :], np.array([y]), facts(classes=classes, d=x.size))
    loss = Logistic() if classes else Squared()
    return whole_sum(host, question, loss) * measure(question, host.lattice).unit


def stated(question: ScoreMoments, relation: Adjacency, *, classes: bool = False) -> float:
    d = question.model.support.size
    host = MemoryHost(np.zeros((1, d)), np.zeros(1), facts(classes=classes, d=d))
    return measure(question, host.lattice).reach.l2(relation)


def rows_at(cosine: float, norm: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    """Two records whose rows, with the constant 1, have this norm and this cosine, but for the lattice of rows."""
    side = math.sqrt(norm**2 - 1)
    angle = math.acos(min((cosine * norm**2 - 1) / side**2, 1.0))
    return side * np.array([1.0, 0.0]), side * np.array([math.cos(angle), math.sin(angle)])


@pytest.mark.parametrize(
    ("gram", "meat", "cosine", "square"),
    [(0.4, 0.1, 1.0, 4.0), (0.2, 0.05, 1.0, 4.0), (0.8, 0.2, 0.5, 4.5), (1.2, 0.3, 1 / 3, 5 + 1 / 3)],
)
def test_the_worst_neighbours_reach_the_joint_distance(gram, meat, cosine, square):
    question = moments(gram=gram, meat=meat)
    one, two = rows_at(cosine)
    distance = np.linalg.norm(added(question, one, 1e6) - added(question, two, -1e6))
    assert stated(question, Adjacency.REPLACE_ONE) == pytest.approx(math.sqrt(square), rel=1e-6)
    assert distance == pytest.approx(math.sqrt(square), rel=3e-4)
    assert distance <= stated(question, Adjacency.REPLACE_ONE)


def test_a_record_that_comes_or_goes_reaches_its_norm():
    question = moments(gram=0.2, meat=0.05)
    norm = np.linalg.norm(added(question, rows_at(0.0)[0], -1e6))
    assert stated(question, Adjacency.ADD_REMOVE) == pytest.approx(math.sqrt(1.25), rel=1e-6)
    assert norm == pytest.approx(math.sqrt(1.25), rel=3e-4)
    assert norm <= stated(question, Adjacency.ADD_REMOVE)


def test_no_entry_moves_further_than_is_stated_and_equal_columns_reach_it():
    question = moments(gram=0.2, meat=0.05, constant=False)
    lattice = MemoryHost(np.zeros((1, 2)), np.zeros(1), facts()).lattice
    reach, mixed = measure(question, lattice).reach, [3, 6]  # products of the two columns
    one, two = (added(question, math.sqrt(2) * np.array([1.0, sign]), sign * 1e6) for sign in (1.0, -1.0))
    for found, stated_ in (
        (one, reach.linf(Adjacency.ADD_REMOVE)),
        (one - two, reach.linf(Adjacency.REPLACE_ONE)),
    ):
        assert np.all(np.abs(found) <= stated_)
        np.testing.assert_allclose(np.abs(found)[mixed], stated_[mixed], rtol=3e-4)


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize(("gram", "meat"), [(0.4, 0.1), (0.8, 0.2), (0.1, 0.4)])
def test_no_pair_of_records_is_further_apart(classes, gram, meat):
    rng = np.random.default_rng(5)
    # of classes a steep pilot, so that rows that are nearly parallel can be wrong in both directions
    model = pilot(2, 0.3, (0.0, 200.0) if classes else (0.5, -0.2))
    question = moments(gram=gram, meat=meat, norm=1.5, residual=1.0 if classes else 0.4, model=model)
    X = rng.normal(size=(200, 2)) * np.exp(rng.normal(size=(200, 1))) * (1.0, 0.1 if classes else 1.0)
    y = rng.integers(0, 2, 200).astype(float) if classes else rng.normal(size=200) * np.exp(2 * rng.normal(size=200))
    every = np.array([added(question, x, t, classes=classes) for x, t in zip(X, y, strict=True)])
    gaps = np.linalg.norm(every[:, None, :] - every[None, :, :], axis=2)
    assert gaps.max() <= stated(question, Adjacency.REPLACE_ONE, classes=classes)
    assert gaps.max() > 0.8 * stated(question, Adjacency.REPLACE_ONE, classes=classes)  # the search is not idle
    assert np.linalg.norm(every, axis=1).max() <= stated(question, Adjacency.ADD_REMOVE, classes=classes)


def squared_distance(a, a2, u, u2, c, gram, meat):
    """F of the guarantee: scores of opposite signs, and matrices of rank one whose axes have the cosine c."""
    matrices = gram * (u**2 + u2**2 - 2 * u * u2 * c**2) + meat * (a**4 + a2**4 - 2 * (a * a2 * c) ** 2)
    return a**2 + a2**2 + 2 * a * a2 * c + matrices


def test_the_formula_is_the_distance_of_matrices():
    rng = np.random.default_rng(0)
    for a, a2, u, u2, c in rng.random((20, 5)):
        e, f = np.array([1.0, 0.0]), np.array([c, math.sqrt(1 - c * c)])
        score = a * e + a2 * f
        one = u * np.outer(e, e) - u2 * np.outer(f, f)
        two = a**2 * np.outer(e, e) - a2**2 * np.outer(f, f)
        slow = score @ score + 0.7 * np.sum(one**2) + 0.3 * np.sum(two**2)
        assert squared_distance(a, a2, u, u2, c, 0.7, 0.3) == pytest.approx(slow, rel=1e-12)


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize(("gram", "meat"), [(0.4, 0.1), (0.8, 0.2), (0.83, 0.19), (1.6, 0.4), (1.5, 0.5), (0.3, 0.2)])
def test_the_formula_bounds_every_pair_by_hill_climbing(classes, gram, meat):
    if classes and not (gram + meat <= 0.5 or gram <= TIED * (1 - 2 * meat)):
        with pytest.raises(PrivacyError, match="proven"):
            pair_square(gram, meat, classes=True)
        return
    limit = pair_square(gram, meat, classes=classes)
    rng = np.random.default_rng(11)

    def value(z):
        t, q, t2, q2, c = z  # row lengths, sizes of residuals, cosine; of classes the curvature is tied to the residual
        bend, bend2 = (4 * q * (1 - q), 4 * q2 * (1 - q2)) if classes else (1.0, 1.0)
        return squared_distance(q * t, q2 * t2, bend * t * t, bend2 * t2 * t2, c, gram, meat)

    z, step = rng.random((5, 200)), 0.3
    now = value(z)
    for _ in range(600):
        there = np.clip(z + step * rng.normal(size=z.shape), 0, 1)
        better = value(there) > now
        z, now = np.where(better, there, z), np.where(better, value(there), now)
        step *= 0.98
    best = now.max()
    assert best <= limit * (1 + 1e-12)
    assert best >= limit * 0.995


def test_weights_without_a_proof_are_refused():
    for gram, meat, classes in ((2.0, 0.2, False), (0.6, 0.6, False), (1.39, 1e-9, True), (0.2, 0.5, True)):
        with pytest.raises(PrivacyError, match="proven"):
            pair_square(gram, meat, classes=classes)
    assert pair_square(0.8, 0.2, classes=True) == 4.0


def test_the_bound_for_classes_is_where_its_proof_ends():
    a = np.linspace(1e-3, 1 - 1e-6, 100_000)
    assert TIED <= np.min((1 + a) / (8 * a**2 * (1 - a))) < TIED + 0.01


def test_the_target_is_not_clipped_before_the_residual():
    question = moments(gram=0.4, meat=0.1, residual=1.0, model=pilot(2, 100.0))
    score = added(question, np.zeros(2), 100.5)[0]
    assert score == pytest.approx(0.5 / 2.0, rel=1e-5)  # psi over R Q, at a margin far beyond any bound of targets


def test_moments_are_those_of_a_slow_loop():
    rng = np.random.default_rng(2)
    X, y = rng.integers(-16, 17, (50, 3)) / 16, rng.normal(size=50)
    model = CentredModel(np.array([2, 0]), np.array([0.1, -0.2]), np.array([0.5, 1.0]), 0.3)
    question = ScoreMoments(model, np.array([0.5, 0.8]), True, 0.7, 1.6, 0.8, 0.2)
    host = MemoryHost(X, y, facts(d=3))
    found = whole_sum(host, question, Squared()) * measure(question, host.lattice).unit
    g, H, M = np.zeros(3), np.zeros((3, 3)), np.zeros((3, 3))
    for x, t in zip(X, y, strict=True):
        away = x[[2, 0]] - model.centre
        row = np.r_[1.0, away / question.scale]
        w = min(1.0, 1.6**2 / (row @ row))
        psi = np.clip(t - 0.3 - away @ model.w, -0.7, 0.7)
        g += w * psi * row
        H += w * np.outer(row, row)
        M += (w * psi) ** 2 * np.outer(row, row)
    i, j = np.triu_indices(3)
    off = np.where(i == j, 1.0, math.sqrt(2))
    C = 0.7 * 1.6
    wanted = np.r_[g / C, math.sqrt(0.8) * H[i, j] * off / 1.6**2, math.sqrt(0.2) * M[i, j] * off / C**2]
    np.testing.assert_allclose(found, wanted, atol=1e-4)


def test_rows_within_a_clip_are_counted():
    host = MemoryHost(np.zeros((4, 2)), np.array([0.1, -0.4, 0.6, np.nan]), facts())
    question = CountWithin(pilot(), 0.5)
    assert whole_sum(host, question, Squared()) * measure(question, host.lattice).unit == pytest.approx([2.0])
    for relation in Adjacency:
        assert measure(question, host.lattice).reach.l2(relation) == 1.0


@pytest.mark.parametrize(
    "change",
    [
        {"scale": np.array([1.0])},
        {"scale": np.array([1.0, 0.0])},
        {"residual": 0.0},
        {"norm": math.inf},
        {"gram": -1.0},
        {"model": CentredModel(np.array([0, 0]), np.zeros(2), np.zeros(2), 0.0)},
    ],
)
def test_questions_that_are_none_are_refused(change):
    from dataclasses import replace

    host = MemoryHost(np.zeros((1, 2)), np.zeros(1), facts())
    with pytest.raises(PrivacyError):
        measure(replace(moments(gram=0.4, meat=0.1), **change), host.lattice)


def test_classes_have_no_other_clip_than_one():
    host = MemoryHost(np.zeros((1, 2)), np.zeros(1), facts(classes=True))
    with pytest.raises(PrivacyError, match="clip is 1"):
        measure(moments(gram=0.4, meat=0.1, residual=0.5), host.lattice)


@pytest.mark.parametrize("cosine", [1.0, 0.5])
def test_classes_that_are_wrong_both_ways_stay_within_the_distance(cosine):
    model = CentredModel(np.arange(3), np.zeros(3), np.array([0.0, 0.0, 500.0]), 0.0)
    question = moments(gram=0.8, meat=0.2, model=model)
    one, two = (np.r_[x, tilt] for x, tilt in zip(rows_at(cosine), (-0.05, 0.05), strict=True))
    distance = np.linalg.norm(added(question, one, 1.0, classes=True) - added(question, two, 0.0, classes=True))
    assert distance <= stated(question, Adjacency.REPLACE_ONE, classes=True)
    assert distance > (1.99 if cosine == 1 else 1.7)  # both residuals are 1, and their curvature is none


# ------------------------------------------------------------------------------------------------ numbers of any size


@pytest.mark.parametrize("value", [1e-61, 1e61, math.nan, math.inf, 0.0, -1.0])
@pytest.mark.parametrize("part", ["scale", "norm", "residual", "centre"])
def test_numbers_that_floats_cannot_square_are_refused_before_a_charge(part, value):
    """Overflow would make a record's share no number, and underflow would hide its length."""
    if part == "centre" and abs(value) <= 1:
        pytest.skip("a small centre is one")
    given = {"scale": 1.0, "norm": 2.0, "residual": 1.0, "centre": 0.0, part: value}
    model = CentredModel(np.arange(2), np.full(2, given["centre"]), np.zeros(2), 0.0)
    question = ScoreMoments(model, np.full(2, given["scale"]), True, given["residual"], given["norm"], 0.2, 0.05)
    with pytest.raises(PrivacyError):
        stated(question, Adjacency.REPLACE_ONE)


@pytest.mark.filterwarnings(
    "ignore:overflow encountered in dot", "error:overflow encountered in (square|divide)", "error:invalid"
)
@pytest.mark.parametrize("scale", [1e-60, 1e60])
@pytest.mark.parametrize("norm", [1e-60, 1e60])
@pytest.mark.parametrize("centre", [0.0, 1e60])
@pytest.mark.parametrize("bound", [1e-150, 8.0, 1e250])
def test_no_record_adds_more_than_is_stated_whatever_the_sizes(scale, norm, centre, bound):
    """At the ends of what is allowed, and for bounds of columns and targets at the ends of floats: in silence."""
    held = Facts(n_rows=64, n_features=4, lower=-bound, upper=bound, row_norm=2 * bound, target=Target(bound=1e300))
    model = CentredModel(np.arange(4), np.full(4, centre), np.zeros(4), 0.0)
    question = ScoreMoments(model, np.full(4, scale), False, 1e-60, norm, 0.2, 0.05)
    host = MemoryHost(np.full((1, 4), bound), np.array([1e300]), held)
    measured = measure(question, host.lattice)
    norm_found = np.linalg.norm(whole_sum(host, question, Squared()) * measured.unit)
    assert norm_found <= measured.reach.l2(Adjacency.ADD_REMOVE)
