"""The tests of noise pass ours, and fail what is broken in one way each."""

from __future__ import annotations

import numpy as np
import pytest

from dpsparse import audit
from dpsparse.audit.noise import ks_p_value, p_value

rng = np.random.default_rng(0)
SCALE = 1000.0


def names(found):
    return [one.name for one in found if one.violated]


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_our_noise_is_what_it_says(law):
    assert names(audit.check_noise(law=law)) == []


def rounded(values):
    return lambda q: q + np.rint(values(q.shape))


BROKEN = {
    "floats": (lambda q: q + SCALE * rng.standard_normal(q.shape), ["support"]),
    "too little": (rounded(lambda shape: 0.9 * SCALE * rng.standard_normal(shape)), ["law"]),
    "another law": (rounded(lambda shape: SCALE * rng.laplace(0, 0.5**0.5, shape)), ["law"]),
    "one draw for all": (
        rounded(lambda shape: SCALE * rng.standard_normal() * np.ones(shape)),
        ["law", "independence within an answer"],
    ),
    "a fixed seed": (
        rounded(lambda shape: SCALE * np.random.default_rng(7).standard_normal(shape)),
        ["independence between answers"],
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_noise_is_caught_by_the_test_of_its_name(name):
    draw, expected = BROKEN[name]
    assert set(expected) <= set(names(audit.check_noise(draw, scale=SCALE)))


def test_a_sampler_of_independent_coins_passes():
    assert names(audit.check_sampler()) == []


def fixed_size():
    mask = np.zeros(60, dtype=bool)
    mask[rng.permutation(60)[:18]] = True
    return mask


def in_pairs():
    return np.repeat(rng.random(30) < 0.3, 2)


SAMPLERS = {
    "fixed size": (fixed_size, "batch size"),
    "too often": (lambda: rng.random(60) < 0.33, "inclusion"),
    "neighbours together": (in_pairs, "pairs"),
    "some rows more": (lambda: rng.random(60) < np.linspace(0.25, 0.35, 60), "inclusion"),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_broken_sampler_is_caught_by_the_test_of_its_name(name):
    sample, expected = SAMPLERS[name]
    assert expected in names(audit.check_sampler(sample))


def test_p_values():
    assert p_value([50, 50, 900], [0.05, 0.05, 0.9]) == pytest.approx(1.0)
    assert p_value([100, 0], [1.0, 0.0]) > 0.5
    assert p_value([99, 1], [1.0, 0.0]) < 1e-3
    assert ks_p_value(rng.random(1000), "uniform") > 1e-6


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="law must be one of"):
        audit.check_noise(law="cauchy")
    with pytest.raises(ValueError, match="at least 100"):
        audit.check_noise(scale=1.0)
