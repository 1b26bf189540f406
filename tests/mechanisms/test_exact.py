"""The exact discrete Gaussian. Its randomness cannot be seeded: a false alarm has probability 5e-7."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from dpsparse.mechanisms import discrete_gaussian
from truth import audit, lattice

pytest.importorskip("opendp")


def chi_square(drawn_scale: float, claimed_scale: float, n: int = 20_000) -> float:
    noise = discrete_gaussian(np.zeros(n, dtype=np.int64), drawn_scale).astype(int)
    reach = int(40 * claimed_scale)
    counts = np.bincount(np.clip(noise, -reach, reach) + reach, minlength=2 * reach + 1)
    return audit.p_value(counts, lattice.discrete_gaussian(claimed_scale, np.arange(-reach, reach + 1)))


@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_it_has_its_exact_law(scale):
    assert chi_square(scale, scale) > audit.ALARM


def test_control_half_of_the_scale_is_noticed():
    """A missed alarm is as unlikely as a false one: the two laws differ by hundreds of standard errors."""
    assert chi_square(1.0, 2.0) < audit.ALARM


@pytest.mark.parametrize("value", [2**31, -(2**40), 2**52])
def test_sums_of_many_rows_do_not_overflow(value):
    """An error here would happen for some data and not for others, and would print the exact sum."""
    out = discrete_gaussian(np.array([value, 0], dtype=np.int64), 5.0)
    assert np.all(np.abs(out - [value, 0]) < 200)


def test_shapes_are_kept_and_outputs_are_integers():
    out = discrete_gaussian(np.zeros((2, 3), dtype=np.int64), 3.0)
    assert out.shape == (2, 3)
    assert out.dtype == np.float64
    np.testing.assert_array_equal(out, np.rint(out))


def test_only_integers_and_positive_scales_are_taken():
    with pytest.raises(TypeError, match="integers"):
        discrete_gaussian(np.zeros(2), 1.0)
    with pytest.raises(ValueError, match="scale"):
        discrete_gaussian(np.zeros(2, dtype=np.int64), 0.0)


def test_without_opendp_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "opendp", None)
    with pytest.raises(ImportError, match=r"dpsparse\[exact\]"):
        discrete_gaussian(np.zeros(2, dtype=np.int64), 1.0)
