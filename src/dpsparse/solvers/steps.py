"""Step sizes that follow from public things: bounds, and answers that were released."""

from __future__ import annotations

import math

import numpy as np

from ..facts import Clip, Facts, Vector
from ..ops import hard_threshold
from ..oracle import Gradient, Oracle
from ..privacy.plan import Participation, PoissonRows


def coordinate_steps(step: float, facts: Facts) -> Vector:
    r"""The same step for every coordinate, but no more than :math:`1/(\beta_0 h^2)` for the intercept.

    Along the intercept, whose column has the height h in every row, the loss bends by at most :math:`\beta_0 h^2`: known without
    a look at the data, and often much more than along any feature.
    """
    steps = np.full(facts.dimension, step)
    if facts.free:
        steps[-1] = min(step, 1.0 / max(facts.curvature * facts.intercept**2, 1e-300))
    return steps


def curvature_along(change: Vector, moved: Vector, doubt: float = 0.0) -> float:
    """A lower bound on the curvature between two iterates: the change of the gradient along their difference, less `doubt` for its noise."""
    length = float(np.linalg.norm(moved))
    return (float(change @ moved) / length - doubt) / length if length > 0 else 0.0


def sampled_curvature(change: Vector, here: Vector, there: Vector, sparsity: int) -> float:
    r"""A curvature at which thresholded steps along sampled gradients contract: :math:`\|\Delta\|^2/\langle\Delta, v\rangle`.

    Taken where one of the two points, or the threshold of the change :math:`\Delta` itself, is not zero. The square of a sampled
    change holds its variance, so few rows ask for shorter steps.
    """
    support = (here != 0) | (there != 0) | (hard_threshold(change, sparsity) != 0)
    along = float(change @ (here - there))
    return float(np.sum(change[support] ** 2)) / along if along > 0 else 0.0


def follow(old: float, seen: float) -> float:
    """The curvature to go by: what was just seen, forgetting at most a tenth of the old one; the old one if nothing was."""
    return max(seen, 0.9 * old) if seen > 0 else old


def answer_spread(oracle: Oracle, ask: str, clip: Clip, rows: Participation) -> float:
    """Standard deviation of a gradient's answer in one direction: its noise, and the sampling of typical rows."""
    facts = oracle.facts
    share = rows.rate if isinstance(rows, PoissonRows) else 1.0
    row = min(clip.norm, facts.target_bound / 3 * facts.norm_bound) / math.sqrt(facts.n_features)
    return math.hypot(
        oracle.deviation(Gradient(facts.first(), clip), ask, 0), row * math.sqrt((1.0 - share) / (share * facts.n_rows))
    )
