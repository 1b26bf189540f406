"""Gaussian and Laplace noise on the lattice: its law, its scale, and its support. A false alarm has probability 5e-7."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpsparse.core.mechanisms import Randomness, lattice_gaussian, lattice_laplace
from truth import audit, lattice

MECHANISMS = {"gaussian": lattice_gaussian, "laplace": lattice_laplace}
LAWS = {"gaussian": lattice.rounded_gaussian, "laplace": lattice.rounded_laplace}
DEVIATION = {"gaussian": 1.0, "laplace": math.sqrt(2)}
N = 200_000


def chi_square(kind: str, drawn_scale: float, claimed_scale: float, seed: int | None = 5) -> float:
    """p-value of noise drawn at one scale against the exact law at another."""
    noise = MECHANISMS[kind](np.zeros(N, dtype=np.int64), drawn_scale, Randomness(seed)).astype(int)
    reach = math.ceil(40 * claimed_scale)
    counts = np.bincount(np.clip(noise, -reach, reach) + reach, minlength=2 * reach + 1)
    return audit.p_value(counts, LAWS[kind](claimed_scale, np.arange(-reach, reach + 1)))


@pytest.mark.parametrize("kind", MECHANISMS)
@pytest.mark.parametrize("scale", [0.3, 1.0, 7.3])
def test_noise_has_the_exact_rounded_law(kind, scale):
    assert chi_square(kind, scale, scale) > audit.ALARM


@pytest.mark.parametrize("kind", MECHANISMS)
def test_noise_from_the_operating_system_has_the_exact_rounded_law(kind):
    assert chi_square(kind, 3.0, 3.0, seed=None) > audit.ALARM


@pytest.mark.parametrize("kind", MECHANISMS)
@pytest.mark.parametrize("wrong", [0.5, 0.98, 1.02])
def test_control_another_scale_is_noticed(kind, wrong):
    assert chi_square(kind, 3.0 * wrong, 3.0) < audit.ALARM


@pytest.mark.parametrize("kind", MECHANISMS)
def test_at_the_scales_of_oracles_the_standard_deviation_is_the_promised_one(kind):
    """Scale 2^22: the sample deviation is within 5 standard errors (kurtosis 3 or 6), halved scales are far outside."""
    scale = 2.0**22
    noise = MECHANISMS[kind](np.zeros(N, dtype=np.int64), scale, Randomness(1))
    error = math.sqrt({"gaussian": 2, "laplace": 5}[kind] / N) / 2
    assert noise.std() / (scale * DEVIATION[kind]) == pytest.approx(1.0, abs=audit.SIGMAS * error)
    assert abs(noise.mean()) < audit.SIGMAS * scale * DEVIATION[kind] / math.sqrt(N)
    law = {"gaussian": "norm", "laplace": "laplace"}[kind]
    assert audit.ks_p_value(noise / scale, law) > audit.ALARM
    assert audit.ks_p_value(noise / scale / 2, law) < audit.ALARM, "control"


@pytest.mark.parametrize("kind", MECHANISMS)
@pytest.mark.parametrize("value", [0, 1])
def test_no_output_is_off_the_lattice_in_a_million(kind, value):
    """The attack on floating-point noise finds low bits in 16 % of naive outputs; here in none."""
    out = MECHANISMS[kind](np.full(1_000_000, value, dtype=np.int64), 370.0, Randomness(2))
    assert out.dtype == np.float64
    assert not np.any(out != np.rint(out))
    parity = np.mean(out % 2)
    assert abs(parity - 0.5) < audit.SIGMAS * 0.5 / 1000, "both parities are as likely, whatever the data"


def test_control_naive_noise_is_off_the_lattice():
    generator = Randomness(2).generator()
    naive = [np.ldexp(value + generator.standard_normal(1_000_000), 53) for value in (0.0, 1.0)]
    hits = [int(np.sum((np.abs(v) < 2.0**51) & (v != np.rint(v)))) for v in naive]
    assert hits[0] > 100_000
    assert hits[1] == 0


@pytest.mark.parametrize("kind", MECHANISMS)
def test_noise_does_not_depend_on_the_data(kind):
    totals = np.array([-(2**50), -1, 0, 1, 2**50], dtype=np.int64)
    shifted = MECHANISMS[kind](totals, 100.0, Randomness(3)) - totals
    plain = MECHANISMS[kind](np.zeros(5, dtype=np.int64), 100.0, Randomness(3))
    np.testing.assert_array_equal(shifted, plain)


@pytest.mark.parametrize("kind", MECHANISMS)
def test_coordinates_and_calls_get_independent_noise(kind):
    """Correlations within 5 standard errors."""
    source = Randomness(4)
    one, two = (MECHANISMS[kind](np.zeros((N // 4, 2), dtype=np.int64), 50.0, source) for _ in range(2))
    table = np.corrcoef(np.c_[one, two].T)
    assert np.max(np.abs(table - np.eye(4))) < audit.SIGMAS * 2 / math.sqrt(N)


@pytest.mark.parametrize("kind", MECHANISMS)
@pytest.mark.parametrize("total", [np.zeros(3), np.zeros(3, dtype=np.float32), np.zeros(3, dtype=bool)])
def test_only_integers_get_lattice_noise(kind, total):
    with pytest.raises(TypeError, match="integers"):
        MECHANISMS[kind](total, 1.0, Randomness(0))


@pytest.mark.parametrize("kind", MECHANISMS)
@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf])
def test_a_scale_is_positive_and_finite(kind, scale):
    with pytest.raises(ValueError, match="scale"):
        MECHANISMS[kind](np.zeros(3, dtype=np.int64), scale, Randomness(0))


@pytest.mark.parametrize("kind", MECHANISMS)
def test_the_query_itself_is_left_alone(kind):
    total = np.arange(5, dtype=np.int64)
    MECHANISMS[kind](total, 10.0, Randomness(0))
    np.testing.assert_array_equal(total, np.arange(5))
