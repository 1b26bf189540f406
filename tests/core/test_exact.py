"""The exact discrete Gaussian. Draws have fixed seeds; a false alarm of the referee, which cannot be seeded, has probability 5e-7."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from dpsparse.core.mechanisms import Randomness, discrete_gaussian, exact
from truth import audit, lattice


def draws(scale: float, size: int = 20_000, seed: int = 4) -> np.ndarray:
    return discrete_gaussian(np.zeros(size, dtype=np.int64), scale, Randomness(seed)).astype(int)


def chi_square(noise: np.ndarray, claimed_scale: float) -> float:
    reach = int(40 * claimed_scale) + 1
    counts = np.bincount(np.clip(noise, -reach, reach) + reach, minlength=2 * reach + 1)
    return audit.p_value(counts, lattice.discrete_gaussian(claimed_scale, np.arange(-reach, reach + 1)))


@pytest.mark.parametrize("scale", [0.3, 0.5, 1.0, 2.0, 5.3, 60.0])
def test_it_has_its_exact_law(scale):
    assert chi_square(draws(scale), scale) > audit.ALARM


@pytest.mark.parametrize("claimed", [2.0, 1.1])
def test_control_another_scale_is_noticed(claimed):
    assert chi_square(draws(1.0), claimed) < audit.ALARM


@pytest.mark.parametrize("scale", [2.0**20 * 1.37, 2.0**33])
def test_large_scales_are_normal_in_bulk_and_even_in_the_last_bit(scale):
    noise = draws(scale, 40_000)
    z = np.sort(noise / scale)
    assert abs(z.mean()) < 5.5 / 200
    assert abs(z.std() - 1) < 5.5 / np.sqrt(2 * z.size)
    assert abs(np.mean(noise % 2) - 0.5) < 5.5 * 0.5 / 200
    assert abs(np.mean(z > 1) - 0.15865525) < 5.5 * 0.3654 / 200


@pytest.mark.parametrize("scale", [0.7, 3.0])
@pytest.mark.parametrize(
    "all_doubted", ["both", pytest.param("size", marks=pytest.mark.slow), pytest.param("turn", marks=pytest.mark.slow)]
)
def test_the_law_is_the_same_where_floats_are_never_believed(scale, all_doubted, monkeypatch):
    if all_doubted != "turn":
        monkeypatch.setattr(exact, "UNIT", 1.0)
        monkeypatch.setattr(exact, "EDGE", 2.0)
    if all_doubted != "size":
        monkeypatch.setattr(exact, "SURE", 2.0**40)
    assert chi_square(draws(scale, 800), scale) > audit.ALARM


def test_the_referee_agrees():
    """OpenDP samples the same law with integers alone."""
    pytest.importorskip("opendp")
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
    theirs = np.array(dp.m.make_gaussian(*space, scale=4.3)([0] * 10_000))
    assert chi_square(theirs, 4.3) > audit.ALARM
    ours = draws(4.3, 10_000)
    edges = np.arange(-12, 13)
    both = np.array([np.bincount(np.digitize(x, edges), minlength=edges.size + 1) for x in (ours, theirs)])
    assert audit.p_value(both[0], both.sum(axis=0) / both.sum()) > audit.ALARM


# ------------------------------------------------------------------------------------------------ floats


def exact_gamma(n: int, sigma: float) -> Fraction:
    square = Fraction(sigma) ** 2
    return (n - square / (int(sigma) + 1)) ** 2 / (2 * square)


@pytest.mark.parametrize("sigma", [0.31, 1.0, 7.9, 2.0**20 * 1.37, 2.0**31 + 0.5])
def test_what_floats_say_of_acceptance_is_right_to_half_of_what_is_allowed(sigma):
    generator = np.random.default_rng(0)
    n = np.unique(np.floor(np.abs(generator.standard_normal(60)) * 4 * sigma))
    gamma = (n - sigma * sigma / (np.floor(sigma) + 1)) ** 2 * (-0.5 / (sigma * sigma))
    floats = np.exp(gamma) * 2.0**exact.TURN_BITS
    with localcontext(prec=60):
        for value, found in zip(n, floats, strict=True):
            true = exact_gamma(int(value), sigma)
            real = (-Decimal(true.numerator) / Decimal(true.denominator)).exp() * 2**exact.TURN_BITS
            assert abs(real - Decimal(float(found))) < Decimal(exact.SURE / 2)


@pytest.mark.parametrize("first", [1, 2, 77, 2**20 + 1, 2**43 - 1, 2**43, 2**52 + 1, 2**53 - 1])
@pytest.mark.parametrize("t", [1, 6, 2**20 + 3, 2**34])
def test_sizes_are_within_their_radius(first, t):
    e = -np.log((first + 0.5) * 2.0**-exact.SIZE_BITS)
    radius = t * (0.5 / first + exact.UNIT * (2 + 34 * e))
    if first >= 2**43:
        assert radius < t * exact.NEAR, "what is not looked at closely"
    with localcontext(prec=60):
        ends = [-t * (Decimal(m) / 2**exact.SIZE_BITS).ln() for m in (first, first + 1)]
        assert all(abs(end - Decimal(float(t * e))) <= Decimal(float(radius)) for end in ends)


def test_digits_go_on_from_the_bits_that_were_drawn():
    """For every first bits the decision is that of some number that begins with them."""
    generator = np.random.default_rng(1)
    for first in (0, 1, 5, 2**52, 2**53 - 1):
        found = exact._whole_part(first, 1000, generator)
        most = np.inf if first == 0 else -1000 * np.log(first * 2.0**-53)
        assert -1000 * np.log((first + 1) * 2.0**-53) - 1 <= found <= most
    gamma = float(exact_gamma(3, 1.7))
    edge = int(np.exp(-gamma) * 2.0**exact.TURN_BITS)
    assert exact._accepts(edge - 1, 3, 1.7, generator)
    assert not exact._accepts(edge + 1, 3, 1.7, generator)


# ------------------------------------------------------------------------------------------------ behaviour


@pytest.mark.parametrize("value", [2**31, -(2**40), 2**52])
def test_sums_of_many_rows_do_not_overflow(value):
    """An error here would happen for some data and not for others, and would print the exact sum."""
    out = discrete_gaussian(np.array([value, 0], dtype=np.int64), 5.0, Randomness(0))
    assert np.all(np.abs(out - [value, 0]) < 200)


def test_shapes_are_kept_and_outputs_are_integers():
    out = discrete_gaussian(np.zeros((2, 3), dtype=np.int64), 3.0, Randomness(0))
    assert out.shape == (2, 3)
    assert out.dtype == np.float64
    np.testing.assert_array_equal(out, np.rint(out))
    assert discrete_gaussian(np.zeros(0, dtype=np.int64), 3.0, Randomness(0)).shape == (0,)


def test_every_number_may_have_a_scale_of_its_own():
    scales = np.repeat([0.5, 40.0, 2.0**25], 6000).reshape(3, 6000)
    out = discrete_gaussian(np.zeros((3, 6000), dtype=np.int64), scales, Randomness(3))
    assert chi_square(out[0].astype(int), 0.5) > audit.ALARM
    assert chi_square(out[1].astype(int), 40.0) > audit.ALARM
    assert abs(out[2].std() / 2.0**25 - 1) < 5.5 / np.sqrt(12_000)


def test_no_scale_is_too_small():
    assert np.all(draws(1e-8, 500) == 0)


def test_only_integers_and_positive_scales_are_taken():
    with pytest.raises(TypeError, match="integers"):
        discrete_gaussian(np.zeros(2), 1.0, Randomness(0))
    with pytest.raises(ValueError, match="scale"):
        discrete_gaussian(np.zeros(2, dtype=np.int64), 0.0, Randomness(0))


def test_what_the_first_bits_leave_open_is_drawn_and_not_taken_from_floats():
    """U begins with 8 of 2^53 parts: E = -log U is known to 1/8, so the integer below 1000 E is open, and more bits decide it."""
    first, found = np.array([8 / 2.0**exact.SIZE_BITS]), set()
    for seed in range(30):
        e, t = np.log(first), np.array([1000.0])
        n = np.floor(-e * t)
        exact._correct(n, np.array([0.5]), first, e, t, Randomness(seed).generator())
        found.add(int(n[0]))
    low, high = (-1000 * np.log(k / 2.0**exact.SIZE_BITS) for k in (9, 8))
    assert len(found) > 10
    assert low - 1 <= min(found) <= max(found) <= high
