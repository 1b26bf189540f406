"""The loss of many classes: its slope, its bounds, and that rows do not see each other."""

from __future__ import annotations

import numpy as np
import pytest

from dpsparse.losses import JOINT, Custom, Logistic, Softmax, joint_of, user_defined

EVERY = pytest.mark.parametrize("loss", JOINT, ids=repr)


def points(loss: Softmax, rows: int = 300) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    size = np.r_[np.full(rows - 20, 2.0), np.full(10, 40.0), np.full(10, 1e3)]
    return size[:, None] * rng.standard_normal((rows, loss.n_classes)), rng.integers(0, loss.n_classes, rows).astype(
        float
    )


@EVERY
def test_the_slope_is_the_finite_difference_of_the_value(loss):
    m, y = points(loss)
    for k in range(loss.n_classes):
        h = 1e-5 * (np.arange(loss.n_classes) == k)
        difference = (loss.value(m + h, y) - loss.value(m - h, y)) / 2e-5
        np.testing.assert_allclose(loss.slope(m, y)[:, k], difference, rtol=1e-4, atol=2e-6)


@EVERY
def test_slopes_sum_to_zero_and_their_norm_is_bounded_and_nearly_attained(loss):
    m, y = points(loss)
    slope = loss.slope(m, y)
    np.testing.assert_allclose(slope.sum(axis=1), 0.0, atol=1e-12)
    norms = np.linalg.norm(slope, axis=1)
    assert 0.999 * loss.slope_bound < norms.max() <= loss.slope_bound * (1 + 1e-12)


@EVERY
def test_the_curvature_bound_holds_in_every_direction_and_is_attained(loss):
    rng = np.random.default_rng(1)
    m, y = points(loss)
    m[:50] = np.where(np.arange(loss.n_classes) < 2, 0.0, -50.0)
    direction = rng.standard_normal(m.shape)
    direction[:50] = np.r_[1.0, -1.0, np.zeros(loss.n_classes - 2)]
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    bend = ((loss.slope(m + 1e-4 * direction, y) - loss.slope(m - 1e-4 * direction, y)) * direction).sum(axis=1) / 2e-4
    assert bend.max() == pytest.approx(loss.curvature, rel=1e-4)
    assert bend.min() > -1e-9


@EVERY
def test_rows_do_not_see_each_other(loss):
    m, y = points(loss)
    alone = np.vstack([loss.slope(m[i : i + 1], y[i : i + 1]) for i in range(300)])
    np.testing.assert_array_equal(alone, loss.slope(m, y))
    np.testing.assert_array_equal(loss.slope(m, y[:, None]), loss.slope(m, y))


def test_values_are_finite_far_out_and_a_target_that_is_no_class_has_a_bounded_slope():
    loss = Softmax(3)
    far = np.array([[1e150, -1e150, 0.0]])
    assert np.all(np.isfinite(loss.slope(far, np.array([1.0]))))
    assert np.linalg.norm(loss.slope(np.zeros((1, 3)), np.array([0.5]))) <= 1


def test_it_is_the_form_of_the_logistic_loss_for_many_classes_and_no_loss_of_others():
    assert joint_of(Logistic(), 5) == Softmax(5)
    assert joint_of(Logistic(), 2) is None
    assert joint_of(Custom(derivative=Logistic().slope, curvature=0.25, classes=True, name="own"), 5) is None
    assert not user_defined(Softmax(5))
    for wrong in (2, 2**16 + 1):
        with pytest.raises(ValueError, match="classes"):
            Softmax(wrong)
