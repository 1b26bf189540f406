"""Laws over every registered loss."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsparse.losses import LOSSES, Huber, Loss

EVERY_LOSS = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
MARGINS = np.r_[np.linspace(-6, 6, 2401), -40.0, 40.0, -1e3, 1e3]


def targets(loss: Loss) -> np.ndarray:
    return np.array([0.0, 1.0]) if loss.classes else np.array([-2.0, 0.0, 0.7])


def grid(loss: Loss) -> tuple[np.ndarray, np.ndarray]:
    """All margins with all targets."""
    return tuple(np.ravel(a) for a in np.meshgrid(MARGINS, targets(loss)))


@EVERY_LOSS
def test_a_loss_has_everything_that_the_protocol_names(loss):
    assert isinstance(loss, Loss)
    assert isinstance(loss.name, str)
    assert loss.curvature > 0
    assert loss.slope_bound > 0


@EVERY_LOSS
def test_the_slope_is_the_finite_difference_of_the_value(loss):
    m, y = grid(loss)
    h = 1e-5 * (1 + np.abs(m))
    difference = (loss.value(m + h, y) - loss.value(m - h, y)) / (2 * h)
    np.testing.assert_allclose(loss.slope(m, y), difference, rtol=1e-5, atol=2e-5)


@EVERY_LOSS
def test_the_slope_bound_holds_and_is_nearly_attained(loss):
    m, y = grid(loss)
    slopes = np.abs(loss.slope(m, y))
    if math.isinf(loss.slope_bound):
        assert slopes.max() > 100
    else:
        assert slopes.max() <= loss.slope_bound
        assert slopes.max() > 0.999 * loss.slope_bound


@EVERY_LOSS
def test_the_curvature_bound_holds_and_is_nearly_attained(loss):
    h = 1e-4
    m, y = (np.ravel(a) for a in np.meshgrid(np.linspace(-6, 6, 2401), targets(loss)))
    second = (loss.slope(m + h, y) - loss.slope(m - h, y)) / (2 * h)
    assert second.max() <= loss.curvature * (1 + 1e-6)
    assert second.max() > 0.99 * loss.curvature, "up to the step of the grid"


@pytest.mark.parametrize("loss", [x for x in LOSSES if getattr(x, "convex", True)], ids=lambda loss: loss.name)
@given(st.floats(-50, 50), st.floats(-50, 50), st.floats(0, 1), st.integers(0, 2))
def test_a_loss_is_convex_in_its_margin(loss, a, b, part, which):
    y = np.array([targets(loss)[which % targets(loss).size]])
    at = lambda v: loss.value(np.array([v]), y)[0]  # noqa: E731
    middle = at(part * a + (1 - part) * b)
    assert middle <= part * at(a) + (1 - part) * at(b) + 1e-9 * (1 + abs(middle))
    slope = lambda v: loss.slope(np.array([v]), y)[0]  # noqa: E731
    assert (slope(a) - slope(b)) * (a - b) >= -1e-12


@EVERY_LOSS
def test_losses_are_finite_and_never_negative_far_out(loss):
    m, y = (np.ravel(a) for a in np.meshgrid([-1e150, -1e6, 1e6, 1e150], targets(loss)))
    if not math.isinf(loss.slope_bound):
        assert np.all(np.isfinite(loss.value(m, y)))
    assert np.all(np.isfinite(loss.slope(m, y)))
    m, y = grid(loss)
    assert np.all(loss.value(m, y) >= 0)


@EVERY_LOSS
def test_rows_do_not_see_each_other(loss):
    """A slope of one row never depends on another: clipping row by row would not bound it otherwise."""
    m, y = grid(loss)
    alone = np.array([loss.slope(m[i : i + 1], y[i : i + 1])[0] for i in range(0, m.size, 97)])
    np.testing.assert_array_equal(alone, loss.slope(m, y)[::97])


def test_different_losses_print_differently():
    """Rows remember sums by the printed loss."""
    assert len({repr(loss) for loss in LOSSES}) == len(LOSSES)


@pytest.mark.parametrize("threshold", [0.0, -1.0, math.nan, math.inf])
def test_a_huber_threshold_is_positive_and_finite(threshold):
    with pytest.raises(ValueError, match="threshold"):
        Huber(threshold=threshold)
