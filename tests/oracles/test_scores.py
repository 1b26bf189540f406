"""Greedy scores: how fast they move, and that the price knows it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from builders import Rows, oracle_of
from dpsparse.core import Adjacency, Ask, Noise, PrivacyError
from dpsparse.core.facts import Clip, Facts, Penalty
from dpsparse.losses import Squared
from dpsparse.queries.kinds import Gradient, Greedy, Grouped, Magnitude, Select, Vertex
from dpsparse.queries.scores import rounding, score_sensitivity, scores_of
from dpsparse.queries.sensitivity import Sensitivity

RULES = ("gs", "gs-s", "gs-r", "gs-q")
PENALTIES = {
    "none": Penalty(),
    "l2": Penalty(kind="l2", alpha=0.7),
    "l1": Penalty(kind="l1", alpha=0.5),
    "elasticnet": Penalty(kind="elasticnet", alpha=1.0, l1_ratio=0.3),
    "box": Penalty(kind="box", box=0.8),
}
POINTS = 200_000


@pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)
@pytest.mark.parametrize("rule", RULES)
def test_scores_are_1_lipschitz_and_no_less(rule, penalty):
    """Random coordinates (a million for each rule), some at zero, at the edge of the box and outside it; half of them unpenalised."""
    rng = np.random.default_rng(1)
    curvature = np.exp(rng.normal(0, 1.5, POINTS))
    w = np.round(rng.normal(0, 1, POINTS) * (rng.random(POINTS) < 0.7), 1)
    g = rng.normal(0, 2, POINTS)
    moved = g + rng.normal(0, 1, POINTS) * 10.0 ** rng.uniform(-4, 1, POINTS)
    score = Greedy(rule, curvature, w, penalty)
    before, after = (scores_of(score, v, POINTS // 2) for v in (g, moved))
    rate = np.abs(after - before) * np.sqrt(curvature) / np.abs(moved - g)
    assert rate.max() <= 1 + 1e-6  # what is beyond 1 is the rounding of differences
    for part in (rate[: POINTS // 2], rate[POINTS // 2 :]):
        assert part.max() > 0.999


@pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)
def test_gs_q_is_the_root_of_twice_the_promised_decrease(penalty):
    rng = np.random.default_rng(2)
    M, g = rng.uniform(0.5, 3, 300), rng.normal(0, 2, 300)
    w = np.clip(rng.normal(0, 1, 300) * (rng.random(300) < 0.6), -0.8, 0.8)
    alpha = np.linspace(-12, 12, 240_001)

    def psi(v: np.ndarray) -> np.ndarray:
        value = penalty.l1 * np.abs(v) + penalty.l2 * v**2 / 2
        return np.where(np.abs(v) > 0.8 + 1e-9, np.inf, 0.0) if penalty.kind == "box" else value

    best = [np.min(g[j] * alpha + M[j] * alpha**2 / 2 + psi(w[j] + alpha) - psi(w[j])) for j in range(300)]
    found = scores_of(Greedy("gs-q", M + penalty.l2, w, penalty), g, 0)
    np.testing.assert_allclose(found, np.sqrt(-2 * np.minimum(best, 0)), atol=1e-3)


@pytest.mark.parametrize("rule", RULES)
def test_without_l1_and_box_all_rules_agree(rule):
    rng = np.random.default_rng(3)
    H, w, g = rng.uniform(0.5, 3, 50), rng.normal(0, 1, 50), rng.normal(0, 1, 50)
    found = scores_of(Greedy(rule, H, w, Penalty(kind="l2", alpha=0.4)), g, 1)
    smooth = g + 0.4 * np.r_[w[:-1], 0.0]
    np.testing.assert_allclose(found, np.abs(smooth) / np.sqrt(H), rtol=1e-9)


@pytest.mark.parametrize("relation", list(Adjacency))
@pytest.mark.parametrize("norm", [0.3, 1.0, 100.0], ids=["one entry fills the norm", "the norm binds", "it does not"])
def test_the_range_of_scores_is_what_two_opposed_coordinates_reach(relation, norm):
    """Nothing within reach moves two scores apart by more, and the worst movement comes close: half would not do."""
    curvature = np.array([1.0, 1.1, 4.0, 9.0])
    entry = np.minimum(norm, np.array([0.8, 0.9, 1.5, 0.2]))
    score = Greedy("gs", curvature, np.zeros(4), Penalty())
    claimed = score_sensitivity(score, Sensitivity(norm, entry), relation, 0)
    rng = np.random.default_rng(4)
    worst, kappa = 0.0, relation.kappa
    g = np.full(4, 50.0)
    moves = rng.uniform(-1, 1, (20_000, 4)) ** 3 * kappa * entry * 4
    moves = np.clip(moves, -kappa * entry, kappa * entry)
    moves *= np.minimum(1.0, kappa * norm / np.linalg.norm(moves, axis=1))[:, None]
    for move in moves:
        change = scores_of(score, g + move, 0) - scores_of(score, g, 0)
        worst = max(worst, float(change.max() - change.min()))
    assert 0.9 * claimed < worst <= claimed * (1 + 1e-9)


@pytest.mark.parametrize("step", [0.2, 1.0, 7.0, -7.0])
@pytest.mark.parametrize("relation", list(Adjacency))
def test_the_range_of_magnitudes_grows_with_the_step(relation, step):
    """Two coordinates of equal magnitude, one record that pushes them apart: the whole range is reached, for every step."""
    reach = Sensitivity(100.0, np.full(3, 0.5))
    score = Magnitude(step, np.full(3, 900.0))
    apart = relation.kappa * np.array([0.5, -0.5, 0.0])
    change = scores_of(score, apart, 0) - scores_of(score, np.zeros(3), 0)
    assert change.max() - change.min() == pytest.approx(score_sensitivity(score, reach, relation, 0))


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_sees_an_iterate_outside_its_box_at_the_edge(rule):
    """The proof speaks of iterates inside the box, so that is where the rules stand."""
    rng = np.random.default_rng(6)
    w, g, H = rng.normal(0, 3, 40), rng.normal(0, 1, 40), rng.uniform(0.5, 2, 40)
    inside = np.clip(w, -0.8, 0.8)
    found, expected = (scores_of(Greedy(rule, H, at, PENALTIES["box"]), g, 0) for at in (w, inside))
    np.testing.assert_array_equal(found, expected)


def test_a_single_candidate_has_a_range_too():
    score = Greedy("gs", np.array([4.0]), np.zeros(1), Penalty())
    assert score_sensitivity(score, Sensitivity(3.0, np.array([3.0])), Adjacency.REPLACE_ONE, 0) == pytest.approx(
        2 * 6.0 / 2.0
    )


@pytest.mark.parametrize("curvature", [[1.0, 0.0], [1.0, -1.0], [1.0, math.nan]])
def test_scores_without_a_positive_curvature_are_refused(curvature):
    score = Greedy("gs", np.array(curvature), np.zeros(2), Penalty())
    with pytest.raises(PrivacyError, match="positive curvatures"):
        score_sensitivity(score, Sensitivity(1.0, np.ones(2)), Adjacency.REPLACE_ONE, 0)


@pytest.mark.parametrize("kind", ["l1", "l2"])
def test_penalties_that_are_not_convex_are_refused(kind):
    """With them a proximal map is not Lipschitz."""
    score = Greedy("gs-r", np.ones(2), np.zeros(2), Penalty(kind=kind, alpha=-0.5))
    with pytest.raises(PrivacyError, match="positive weights"):
        score_sensitivity(score, Sensitivity(1.0, np.ones(2)), Adjacency.REPLACE_ONE, 0)


def test_one_curvature_is_needed_for_every_coordinate():
    score = Greedy("gs", np.ones(3), np.zeros(2), Penalty())
    with pytest.raises(PrivacyError, match="every coordinate"):
        score_sensitivity(score, Sensitivity(1.0, np.ones(2)), Adjacency.REPLACE_ONE, 0)


# ------------------------------------------------------------------------------------------------ groups

GROUPS = np.array([0, 1, 0, 1, 0, 2])
CURVATURES = np.array([1.0, 1.3, 1.1, 1.0, 4.0, 9.0])


@pytest.mark.parametrize("relation", list(Adjacency))
@pytest.mark.parametrize("norm", [0.3, 100.0], ids=["the norm binds", "entries bind"])
@pytest.mark.parametrize(
    ("score", "rates"),
    [(Magnitude(-0.7, np.full(6, 900.0)), 0.7 * np.ones(6)), (Greedy("gs", CURVATURES, np.zeros(6), Penalty()), None)],
    ids=["magnitude", "greedy"],
)
def test_the_range_of_groups_is_what_two_opposed_blocks_reach(score, rates, norm, relation):
    """A record that lengthens one group's scores and shortens another's reaches the range: half would not do."""
    rates = 1 / np.sqrt(CURVATURES) if rates is None else rates
    entry, start = np.minimum(norm, [0.8, 0.9, 0.5, 0.7, 0.6, 0.4]), np.zeros(6)
    grouped, kappa = Grouped(score, GROUPS), relation.kappa
    claimed = score_sensitivity(grouped, Sensitivity(norm, entry), relation, 0)
    block = entry * rates if norm > 1 else np.eye(6)[0] + np.eye(6)[3]  # along the steepest columns, for the norm
    move = np.array([1, -1, 1, -1, 1, 0]) * (entry if norm > 1 else norm * block / math.sqrt(2))
    if isinstance(score, Greedy):
        start = 1e4 * block / rates  # far from zero, along the move, so that norms are linear
    else:
        score = Magnitude(-0.7, 900 * block)
        grouped = Grouped(score, GROUPS)
    moved = scores_of(grouped, start + kappa * move, 0) - scores_of(grouped, start, 0)
    assert np.ptp(moved[:2]) == pytest.approx(claimed, rel=1e-3)


@pytest.mark.parametrize("relation", list(Adjacency))
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)
def test_no_movement_within_reach_moves_groups_beyond_their_range(rule, penalty, relation):
    """Of columns and an intercept, which is a candidate by itself."""
    rng = np.random.default_rng(11)
    kappa = relation.kappa
    for _ in range(100):
        curvature, w = np.exp(rng.normal(0, 1, 7)), np.round(rng.normal(0, 1, 7), 1)
        entry, norm = rng.uniform(0.1, 1, 7), rng.uniform(0.1, 2)
        for score in (Grouped(Greedy(rule, curvature, w, penalty), GROUPS), Grouped(Magnitude(0.3, w), GROUPS)):
            claimed = score_sensitivity(score, Sensitivity(norm, entry), relation, 1)
            moves = kappa * entry * rng.choice([-1, 0, 1, 0.5], (20, 7))
            moves *= np.minimum(1, kappa * norm / np.maximum(np.linalg.norm(moves, axis=1), 1e-9))[:, None]
            g = rng.normal(0, 1, 7)
            changes = [scores_of(score, g + move, 1) - scores_of(score, g, 1) for move in moves]
            assert max(map(np.ptp, changes)) <= claimed * (1 + 1e-9)


def test_a_group_of_one_has_the_score_of_its_column_and_large_numbers_have_norms():
    g, base = np.array([3.0, -4.0, 0.5]), np.zeros(3)
    singles = scores_of(Grouped(Magnitude(1.0, base), np.arange(3)), g, 0)
    np.testing.assert_array_equal(singles, np.abs(g))
    for size in (1.0, 1e200, 1e-200):
        found = scores_of(Grouped(Magnitude(1.0, base), np.array([0, 0, 1])), size * g, 0)
        np.testing.assert_allclose(found, size * np.array([5.0, 0.5]))


@pytest.mark.parametrize("base", [2.0**43, 2.0**52])
def test_a_large_base_moves_groups_no_further_than_is_stated(base):
    score = Grouped(Magnitude(1.0, np.array([base, base / 3, base / 7, 0.0])), np.array([0, 0, 0, 1]))
    rng = np.random.default_rng(12)
    reach = Sensitivity(1e-3, np.full(4, 1e-3))
    stated = score_sensitivity(score, reach, Adjacency.ADD_REMOVE, 0) + rounding(score, 1.0)
    for _ in range(300):
        g = rng.uniform(-1, 1, 4)
        moved = g + 1e-3 * np.eye(4)[rng.integers(4)] * rng.choice([-1, 1])
        assert np.ptp(scores_of(score, g, 0) - scores_of(score, moved, 0)) <= stated


@pytest.mark.parametrize(
    ("score", "said"),
    [
        (Grouped(Magnitude(), np.array([0, 0, 1])), "for each feature"),
        (Grouped(Magnitude(), np.array([0, -1])), "for each feature"),
        (Grouped(Magnitude(), np.array([0, 2**40])), "for each feature"),
        (Grouped(Magnitude(), np.array([0.0, 1.0])), "for each feature"),
        (Grouped(Vertex(), np.array([0, 1])), "scores of columns"),
        (Grouped(Greedy("gs", np.zeros(2), np.zeros(2), Penalty()), np.array([0, 1])), "positive curvatures"),
    ],
)
def test_groups_without_a_proof_are_refused(score, said):
    with pytest.raises(PrivacyError, match=said):
        score_sensitivity(score, Sensitivity(1.0, np.ones(2)), Adjacency.REPLACE_ONE, 0)


# ------------------------------------------------------------------------------------------------ rounding


@pytest.mark.parametrize("base", [2.0**20, 2.0**43, 2.0**47, 2.0**50, 2.0**52])
def test_a_large_base_moves_scores_no_further_than_is_stated(base):
    """A gradient that crosses a boundary of rounding moves a score by the base's last place, whatever its own size."""
    score = Magnitude(1.0, np.array([base, 0.0]))
    step = base * 2.0**-52
    reach = Sensitivity(0.01 * step, np.full(2, 0.01 * step))
    here, there = (np.array([-step * (0.5 + side * 0.005), 0.0]) for side in (-1, 1))
    moved = np.ptp(scores_of(score, here, 0) - scores_of(score, there, 0))
    exact = score_sensitivity(score, reach, Adjacency.ADD_REMOVE, 0)
    assert moved > 10 * exact, "the control: without the rounding too little is stated"
    assert moved <= exact + rounding(score, 1e-300)


def test_the_range_of_a_selection_holds_the_rounding_of_its_base():
    facts = Facts(n_rows=10, n_features=2, lower=-1.0, upper=1.0, row_norm=2.0, target_bound=1.0)
    question = Select(Gradient(np.zeros(2), Clip(1.0)), Magnitude(1.0, np.array([2.0**52, 0.0])), 1)
    oracle = oracle_of(Rows(np.zeros((10, 2)), np.zeros(10), facts), Squared(), Ask(name="select", noise=Noise.GUMBEL))
    oracle.answer(question, "select")
    assert oracle.receipts[0].sensitivity >= 32.0


@pytest.mark.parametrize("rule", ["gs", "gs-s", "gs-r", "gs-q"])
@pytest.mark.parametrize("size", [1.0, 1e8, 1e15])
def test_greedy_scores_of_a_long_iterate_move_no_further_than_is_stated(rule, size):
    rng = np.random.default_rng(1)
    H, w = rng.uniform(0.5, 2.0, 6), size * rng.standard_normal(6)
    score = Greedy(rule, H, w, Penalty(kind="l1", alpha=0.1))
    reach = Sensitivity(1e-3, np.full(6, 1e-3))
    stated = score_sensitivity(score, reach, Adjacency.ADD_REMOVE, 0) + rounding(score, 1.0)
    for _ in range(300):
        g = rng.uniform(-1, 1, 6)
        moved = g + 1e-3 * np.eye(6)[rng.integers(6)] * rng.choice([-1, 1])
        assert np.ptp(scores_of(score, g, 0) - scores_of(score, moved, 0)) <= stated


def test_what_is_not_finite_still_selects():
    score = Magnitude(1.0, np.array([np.nan, np.inf, -np.inf]))
    assert np.all(np.isfinite(scores_of(score, np.ones(3), 0)))
    assert np.isfinite(rounding(score, 1.0))
