"""Selections that draw noise for a few of many: nobody who could win is left out, and the law is that of the full method.

Chi-square tests have a false-alarm rate of 5e-7.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpsparse.core.mechanisms import gumbel_top_k, permute_and_flip
from dpsparse.core.mechanisms import selection as candidates
from dpsparse.core.mechanisms.selection import FIRST, Exponential, Gumbel, draw_candidates
from truth import audit, lattice

LAWS = [Gumbel(), Exponential()]


def largest_noise(law: Gumbel | Exponential, byte: np.ndarray) -> np.ndarray:
    """The supremum of the noise of numbers that begin with a byte, by its definition."""
    uniform = (byte + (isinstance(law, Exponential))) / 2.0**FIRST
    with np.errstate(divide="ignore"):
        exponential = -np.log1p(-uniform)
        return exponential if isinstance(law, Exponential) else -np.log(exponential)


def first_bytes(size: int, seed: int) -> np.ndarray:
    """What a generator of this seed gives everybody."""
    words = np.random.default_rng(seed).integers(0, 2**64 - 1, -(-size // 8), dtype=np.uint64, endpoint=True)
    return words.view(np.uint8)[:size]


def worlds(size: int) -> dict[str, np.ndarray]:
    """Scores of all shapes: level, spread, few large ones, ties."""
    normal = np.random.default_rng(1).standard_normal(size)
    signal = normal.copy()
    signal[:: size // 20] += 15
    return {
        "level": np.zeros(size),
        "spread": 10 * normal,
        "signal": signal,
        "ties": np.round(normal),
        "sorted": np.sort(normal),
    }


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
@pytest.mark.parametrize("world", worlds(20))
@pytest.mark.parametrize("count", [1, 30])
def test_whoever_is_left_out_could_not_have_won(law, world, count):
    size = 12_000
    scores = worlds(size)[world]
    fewer = 0
    for seed in range(6):
        drawn = draw_candidates(scores, count, 0.7, law, np.random.default_rng(seed))
        others = np.setdiff1d(np.arange(size), drawn.which)
        fewer += others.size > 0
        byte = first_bytes(size, seed).astype(float)
        best = np.sort(drawn.noisy - drawn.reach)[-count]
        most = scores[others] - scores.max() + 0.7 * largest_noise(law, byte[others])
        assert np.all(most < best)
    assert fewer >= 5, "most of the time few are drawn"


def test_few_of_a_million_are_drawn():
    size = 200_000
    for scores in worlds(size).values():
        drawn = draw_candidates(scores, 100, 1.0, Gumbel(), np.random.default_rng(0))
        assert drawn.which.size < size / 6


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_bits_that_were_drawn_are_kept_when_too_few_are_above(law, monkeypatch):
    monkeypatch.setattr(candidates, "_level", lambda scores, *_: (float(scores.max()), 16))
    monkeypatch.setattr(candidates, "LEAST", 1)
    seen = []
    make = candidates.Exponentials
    monkeypatch.setattr(candidates, "Exponentials", lambda words, *rest: seen.append(words) or make(words, *rest))
    drawn = draw_candidates(np.zeros(300), 200, 1.0, law, np.random.default_rng(5))
    few, every = seen
    byte = first_bytes(300, 5)
    assert drawn.which.tolist() == list(range(300))
    assert np.array_equal(every >> np.uint64(56), byte)
    assert np.array_equal(every[law.extreme(byte, 16)], few)


def groups(chosen: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    return np.searchsorted(np.cumsum(sizes), chosen, side="right")


def pair_odds(sizes: tuple[int, ...], scores: tuple[float, ...], scale: float) -> np.ndarray:
    """Of the groups of the first and of the second, when one is peeled after the other."""
    weights = np.array(sizes) * np.exp(np.array(scores) / scale)
    one = np.exp(np.array(scores) / scale)
    left = weights[None, :] - np.diag(one)
    return (weights / weights.sum())[:, None] * left / (weights.sum() - one)[:, None]


@pytest.mark.parametrize("full", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["candidates", "everybody"])
def test_ordered_pairs_of_many_have_the_odds_of_peeling(full, monkeypatch):
    sizes, values, scale = (3, 400, 9000), (8.0, 4.0, 0.0), 1.1
    scores = np.repeat(values, sizes)
    if full:
        monkeypatch.setattr(candidates, "LEAST", 10**9)
    source = audit.Stream(3)
    pairs = np.array([groups(gumbel_top_k(scores, 2, scale, source), sizes) for _ in range(900)])
    found = np.bincount(3 * pairs[:, 0] + pairs[:, 1], minlength=9)
    assert audit.p_value(found, pair_odds(sizes, values, scale).ravel()) > audit.ALARM
    assert audit.p_value(found, pair_odds(sizes, values, 1.2 * scale).ravel()) < audit.ALARM, "control"


@pytest.mark.parametrize("level", [-0.6, 0.1, 1.0], ids=["all above", "some above", "none above"])
def test_odds_of_three_when_the_level_is_anywhere(level, monkeypatch):
    """Whatever the level and the part, also where too few are above and the rest is drawn after the same bytes."""
    monkeypatch.setattr(candidates, "LEAST", 1)
    monkeypatch.setattr(candidates, "_level", lambda *_: (level, 64))
    scores, source = np.array([1.0, 0.2, -0.5]), audit.Stream(8)
    found = np.bincount([int(gumbel_top_k(scores, 1, 0.9, source)[0]) for _ in range(1500)], minlength=3)
    assert audit.p_value(found, lattice.exponential_mechanism(scores, 0.9)) > audit.ALARM
    found = np.bincount([permute_and_flip(scores, 0.9, source) for _ in range(1500)], minlength=3)
    assert audit.p_value(found, lattice.permute_and_flip(scores, 0.9)) > audit.ALARM


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_the_edge_is_the_noise_where_the_part_begins(law):
    for part in candidates.PARTS:
        byte = np.arange(2.0**FIRST)
        others = byte[~law.extreme(byte.astype(np.uint8), part)]
        assert others.size == 2**FIRST - part
        assert law.edge(part) == pytest.approx(largest_noise(law, others).max(), rel=1e-14)


def test_no_number_of_scores_is_too_odd():
    for size in (candidates.LEAST - 1, candidates.LEAST, candidates.LEAST + 1, 10_007):
        chosen = gumbel_top_k(np.linspace(-1, 1, size), 5, 1e-9, audit.Stream(0))
        assert chosen.tolist() == [size - 1 - i for i in range(5)]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_scores_that_are_no_numbers_are_taken_for_some(bad):
    scores = np.zeros(10_000)
    scores[17] = bad
    assert gumbel_top_k(scores, 1, 1.0, audit.Stream(2)).size == 1
