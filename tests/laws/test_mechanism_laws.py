"""Laws that every mechanism keeps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpsparse.core.mechanisms import Randomness, gumbel_top_k, lattice_gaussian, lattice_laplace, permute_and_flip

ADDITIVE = [lattice_gaussian, lattice_laplace]
TOTALS = hnp.arrays(np.int64, st.integers(0, 20), elements=st.integers(-(2**50), 2**50))
SCORES = hnp.arrays(float, st.integers(1, 20), elements=st.floats(-1e6, 1e6))
SCALES = st.floats(-6, 9).map(lambda e: 10.0**e)
SEEDS = st.integers(0, 2**32)


@pytest.mark.parametrize("add", ADDITIVE)
@given(total=TOTALS, scale=SCALES, seed=SEEDS)
def test_noise_is_on_the_lattice_and_independent_of_the_query(add, total, scale, seed):
    noisy = add(total, scale, Randomness(seed))
    noise = add(np.zeros_like(total), scale, Randomness(seed))
    assert noisy.shape == total.shape
    np.testing.assert_array_equal(noisy, np.rint(noisy))
    np.testing.assert_array_equal(noisy, total + noise)


@pytest.mark.parametrize("add", ADDITIVE)
@given(scale=SCALES, seed=SEEDS)
def test_noise_grows_with_its_scale(add, scale, seed):
    zeros = np.zeros(50, dtype=np.int64)
    small, large = (np.abs(add(zeros, s, Randomness(seed))) for s in (scale, 2 * scale))
    assert np.all(large >= small)


@given(scores=SCORES, scale=SCALES, seed=SEEDS, data=st.data())
def test_top_k_are_distinct_candidates_and_nested(scores, scale, seed, data):
    count = data.draw(st.integers(1, scores.size))
    chosen = gumbel_top_k(scores, count, scale, Randomness(seed))
    assert len(set(chosen.tolist())) == count
    assert set(chosen.tolist()) <= set(range(scores.size))
    if np.unique(scores).size == scores.size:
        everyone = gumbel_top_k(scores, scores.size, scale, Randomness(seed))
        np.testing.assert_array_equal(everyone[:count], chosen)


@given(scores=SCORES, scale=SCALES, seed=SEEDS)
def test_a_common_shift_of_all_scores_changes_nothing(scores, scale, seed):
    scores = np.rint(scores)
    for select in (
        lambda s: gumbel_top_k(s, 1, scale, Randomness(seed))[0],
        lambda s: permute_and_flip(s, scale, Randomness(seed)),
    ):
        one, two = select(scores), select(scores + 4096.0)
        assert one == two or scale < 1e-3, "up to ties that rounding makes"
