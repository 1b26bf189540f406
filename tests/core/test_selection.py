"""Selections against the exact odds of their definitions. A false alarm has probability 5e-7 unless said otherwise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpsparse.core.mechanisms import Randomness, gumbel_top_k, permute_and_flip
from truth import audit, lattice

SCORES = np.array([1.0, 0.2, -0.5])
N = 12_000


def selections(mechanism, scores: np.ndarray, *arguments, n: int = N, seed: int = 11) -> np.ndarray:
    """Outcomes of many independent selections."""
    source = audit.Stream(seed)
    return np.array([mechanism(scores, *arguments, source) for _ in range(n)])


def odds(scores: np.ndarray, drawn_scale: float, claimed_scale: float) -> float:
    found = np.bincount(selections(gumbel_top_k, scores, 1, drawn_scale)[:, 0], minlength=scores.size)
    return audit.p_value(found, lattice.exponential_mechanism(scores, claimed_scale))


@pytest.mark.parametrize("scale", [0.4, pytest.param(1.3, marks=pytest.mark.slow)])
def test_one_index_has_the_odds_of_the_exponential_mechanism(scale):
    assert odds(SCORES, scale, scale) > audit.ALARM


def test_control_half_of_the_gumbel_scale_is_noticed():
    assert odds(SCORES, 0.65, 1.3) < audit.ALARM
    assert odds(SCORES, 1.0, 1.3) < audit.ALARM


@pytest.mark.slow
def test_ordered_pairs_have_the_odds_of_peeling_one_by_one():
    pairs = selections(gumbel_top_k, SCORES, 2, 0.8)
    found = np.bincount(pairs[:, 0] * 3 + pairs[:, 1], minlength=9)
    assert audit.p_value(found, lattice.peeling(SCORES, 0.8).ravel()) > audit.ALARM
    swapped = np.bincount(pairs[:, 1] * 3 + pairs[:, 0], minlength=9)
    assert audit.p_value(swapped, lattice.peeling(SCORES, 0.8).ravel()) < audit.ALARM, "control: best comes first"


@pytest.mark.parametrize("scale", [pytest.param(0.5, marks=pytest.mark.slow), 2.0])
def test_permute_and_flip_has_the_odds_of_its_definition(scale):
    found = np.bincount(selections(permute_and_flip, SCORES, scale), minlength=3)
    assert audit.p_value(found, lattice.permute_and_flip(SCORES, scale)) > audit.ALARM
    assert audit.p_value(found, lattice.permute_and_flip(SCORES, 2 * scale)) < audit.ALARM, "control"
    assert audit.p_value(found, lattice.exponential_mechanism(SCORES, scale)) < audit.ALARM, "it is not Gumbel"


def test_the_definition_of_permute_and_flip_is_a_law():
    law = lattice.permute_and_flip([1.0, 0.2, -0.5], 0.7)
    assert law.sum() == pytest.approx(1.0)
    assert np.all(np.diff(law) < 0)
    even = lattice.permute_and_flip([0.0, 0.0, 0.0], 1.0)
    assert even == pytest.approx([1 / 3] * 3)


# ------------------------------------------------------------------------------------------------ audit of the price


def shift_of_log_odds(scale: float, gap: float, sensitivity: float = 1.0) -> tuple[float, float]:
    """The worst neighbour raises one score and lowers the other."""
    worlds = [np.array([gap, 0.0]), np.array([gap + sensitivity, -sensitivity])]
    wins = [
        selections(gumbel_top_k, scores, 1, scale, seed=seed)[:, 0] == 0
        for seed, scores in zip((1, 2), worlds, strict=True)
    ]
    return audit.log_odds_shift(*wins)


@pytest.mark.parametrize("gap", [pytest.param(0.0, marks=pytest.mark.slow), -3.0])
def test_the_log_odds_move_by_the_range_over_the_scale_and_no_further(gap):
    eta = 2 * 1.0 / 1.5
    shift, error = shift_of_log_odds(1.5, gap)
    assert abs(shift - eta) < audit.SIGMAS * error, "the bound is attained: this pair is the worst"


@pytest.mark.parametrize("gap", [0.0, pytest.param(-3.0, marks=pytest.mark.slow)])
def test_control_half_of_the_scale_moves_the_log_odds_too_far(gap):
    shift, error = shift_of_log_odds(0.75, gap)
    assert shift - audit.SIGMAS * error > 2 * 1.0 / 1.5


def test_permute_and_flip_is_epsilon_private_at_twice_the_sensitivity_and_no_better():
    """Exact: the definition on a grid of neighbouring scores, against exp(2 sensitivity / scale)."""
    scale, worst = 1.5, 0.0
    for gap in np.linspace(-6, 6, 25):
        for move in ([1.0, -1.0, -1.0], [-1.0, 1.0, 1.0]):
            before = lattice.permute_and_flip([gap, 0.0, -0.5], scale)
            after = lattice.permute_and_flip(np.array([gap, 0.0, -0.5]) + move, scale)
            worst = max(worst, float(np.max(np.abs(np.log(after / before)))))
    assert worst <= 2 / scale + 1e-12
    assert worst > 0.9 * 2 / scale


# ------------------------------------------------------------------------------------------------ behaviour


def test_all_candidates_can_be_selected_and_none_twice():
    for count in range(1, 8):
        chosen = gumbel_top_k(np.zeros(7), count, 1.0, Randomness(count))
        assert chosen.shape == (count,)
        assert len(set(chosen.tolist())) == count


def test_little_noise_gives_the_true_order():
    scores = np.array([0.0, 5.0, -2.0, 3.0])
    assert gumbel_top_k(scores, 4, 1e-6, Randomness(0)).tolist() == [1, 3, 0, 2]
    assert permute_and_flip(scores, 1e-6, Randomness(0)) == 1


def test_scores_are_left_alone():
    scores = np.array([0.0, 5.0])
    gumbel_top_k(scores, 1, 1.0, Randomness(0))
    permute_and_flip(scores, 1.0, Randomness(0))
    assert scores.tolist() == [0.0, 5.0]


@pytest.mark.parametrize("count", [0, -1, 4])
def test_one_cannot_select_none_or_more_than_there_are(count):
    with pytest.raises(ValueError, match="cannot select"):
        gumbel_top_k(np.zeros(3), count, 1.0, Randomness(0))


def test_nobody_can_be_selected_from_nobody():
    with pytest.raises(ValueError, match="cannot select"):
        permute_and_flip(np.zeros(0), 1.0, Randomness(0))


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf])
def test_a_scale_is_positive_and_finite(scale):
    with pytest.raises(ValueError, match="scale"):
        gumbel_top_k(np.zeros(3), 1, scale, Randomness(0))
    with pytest.raises(ValueError, match="scale"):
        permute_and_flip(np.zeros(3), scale, Randomness(0))
