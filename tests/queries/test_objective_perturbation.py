"""Constants of objective perturbation and of the teacher, from their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from builders import Rows
from dpsparse.core.facts import Clip, Facts
from dpsparse.losses import Logistic, Squared
from dpsparse.queries.kinds import PerturbedMinimum, RidgeMinimum
from dpsparse.queries.minimisers import (
    perturbed_spec,
    proven_offset,
    public_side,
    ridge_spec,
    split,
    tilted_side,
)

CLIP = Clip(2.0, slope=1.0)


def test_tilt_and_output_noise_share_what_was_priced():
    """m_o^2 + mu_out^2 = m^2: together they stay on the curve of m."""
    for m in (0.01, 1.0, 30.0):
        tilted, finished = split(m)
        assert math.hypot(tilted, finished) == pytest.approx(m, rel=1e-12)
        assert 0 < finished < tilted


@pytest.mark.parametrize("n_rows", [10, 10_000])
def test_two_approximate_minima_are_twice_their_tolerance_over_the_ridge_apart(n_rows):
    question = PerturbedMinimum(np.arange(2), CLIP, 1.0, 0.25 * n_rows)
    public = tilted_side(question, Squared(), n_rows, 3.0)
    assert public.tolerance() == pytest.approx(2.0 * max(1e-8, 1e-10 * n_rows))
    _, _, spec = perturbed_spec(question, Squared(), n_rows, 1.0)
    assert spec.sensitivity == pytest.approx(2 * spec.tolerance / (0.25 * n_rows))
    assert spec.tolerance == pytest.approx(public.tolerance())


def test_the_offset_is_the_log_determinant_of_one_row_of_the_largest_curvature():
    question = PerturbedMinimum(np.arange(2), CLIP, 3.0, 0.5)
    assert proven_offset(question, Squared()) == pytest.approx(math.log(1 + 9.0 / 0.5))
    assert proven_offset(question, Logistic()) == pytest.approx(math.log(1 + 0.25 * 9.0 / 0.5))


def test_a_teacher_counts_its_records_and_its_tolerance_on_both_sides():
    rows = Rows(np.ones((4, 1)), np.zeros(4), Facts(n_rows=4, n_features=1, target_bound=1.0))
    question = RidgeMinimum(np.array([0]), CLIP, 1.0, 0.1)
    _, _, found = ridge_spec(question, Squared(), rows.facts.n_rows, 1.0)
    tau = public_side(question, Squared(), 4).tolerance()
    assert tau == 2e-8
    assert found.sensitivity == pytest.approx((2 * 2.0 + 2 * tau) / 0.1, rel=1e-12)
