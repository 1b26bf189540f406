"""Clips of single columns: a sum on some coordinates is that part of the whole sum, whichever way it was computed."""

import numpy as np
import pytest

from builders import Rows
from dpsparse.core.facts import Clip
from dpsparse.losses import Squared
from truth.rows import contributions, table


@pytest.mark.parametrize("kind", ["dense", "dense shifted", "int8 midpoint", "bool", "sparse"])
@pytest.mark.parametrize("intercept", [0.0, 0.5])
def test_a_sum_on_a_support_is_the_part_of_the_whole_sum(kind, intercept):
    given = table(kind, n=50, d=16, intercept=intercept)
    d = given.facts.dimension
    clip = Clip(0.8, columns=np.linspace(0.01, 0.3, d))
    w = np.linspace(-0.5, 0.5, d)
    rows = Rows(given.X, given.y, given.facts)
    exact = contributions(given, Squared(), w, clip, rows.applied_shift, rows.applied_intercept).sum(axis=0)
    for support in (np.array([0]), np.array([d - 1]), np.array([d - 1, 3])):
        part = Rows(given.X, given.y, given.facts).gradient_sum(Squared(), w, clip, support=support)
        whole = rows.gradient_sum(Squared(), w, clip)
        np.testing.assert_array_equal(part, whole[support])
        np.testing.assert_allclose(part * (0.8 / 2**36), exact[support], atol=50 * 3e-4)


def test_exact_sums_take_a_support_too():
    given = table("sparse", n=50, intercept=0.5)
    rows = Rows(given.X, given.y, given.facts, lattice=False)
    w = np.linspace(-1, 1, 13)
    whole = rows.exact_gradient_sum(Squared(), w)
    np.testing.assert_allclose(rows.exact_gradient_sum(Squared(), w, support=np.array([12, 4])), whole[[12, 4]])
