r"""Steps of second order, where records are many beside columns.

.. math:: w \leftarrow w - g_t H^{-1}\bigl(\tilde\nabla(w) + \lambda w\bigr)

Each step is a noisy estimate of the whole way that is left; in the last phase estimates are averaged
by their precision (:math:`g_t` is the part that a step's budget has in all of them so far), so that
all of the last phase's budget is in the result. H is the curvature at the class share in whitened
coordinates, where columns are alike, and after the first two phases a noisy Hessian where the path
stands, with the edge of its noise added to its eigenvalues.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.facts import Vector
from ..queries.kinds import Hessian, ProjectedGradient
from .constants import TABLES
from .polish_steps import symmetric
from .table_descent import Descent
from .table_schedule import DescentStage


def newton(descent: Descent, square: float) -> Descent:
    """Run all phases; `square` is the mean square of a coordinate of whitened rows."""
    inverse = _first_inverse(descent, square)
    for phase in descent.schedule.phases:
        descent.clip = descent.schedule.class_clip if descent.schedule.classes else descent.ask_clip(phase.clip)
        last, spent = phase is descent.schedule.phases[-1], 0.0
        for turn, weight in enumerate(phase.weights):
            spent += weight
            gain = weight / spent if last and turn > 1 else 1.0
            descent.w = descent.w - gain * _step(descent, phase, inverse, square)
            if descent.path is not None:
                descent.path.add(descent.full(), descent.queries.oracle)
        if descent.schedule.hessian and not last:
            inverse = _inverse(descent, phase)
    # that of the whole last phase
    noise = 2 * (descent.clip or 0.0) / (descent.schedule.level * math.sqrt(phase.share))
    descent.reached = 1.0
    descent.left = noise * float(np.linalg.norm(inverse[: descent.columns])) / math.sqrt(descent.columns)
    return descent


def _step(descent: Descent, phase: DescentStage, inverse: Vector, square: float) -> Vector:
    """The way to the minimum that a noisy gradient gives, clipped to what margins may move at once."""
    assert descent.clip is not None
    answer, _ = descent.queries.noisy(ProjectedGradient(descent.model(), descent.clip), phase.gradient)
    step = inverse @ (answer + descent.ridge * descent.w)
    moved = float(np.linalg.norm(step[: descent.columns])) * math.sqrt(square)
    reach = TABLES.newton_reach * (1.0 if descent.schedule.classes else descent.clip)
    return np.asarray(step * min(1.0, reach / max(moved, 1e-300)))


def _first_inverse(descent: Descent, square: float) -> Vector:
    """The inverse of the curvature of independent columns, of classes at the class share."""
    bend = descent.facts.curvature
    if descent.schedule.classes:  # of numbers the start is a median, in any units
        share = 1 / (1 + math.exp(-descent.start))
        bend = share * (1 - share) + TABLES.least_bend
    squares = np.r_[np.full(descent.columns, square), [descent.frame.constant**2] * descent.frame.free]
    return np.diag(1 / (bend * squares + descent.ridge))


def _inverse(descent: Descent, phase: DescentStage) -> Vector:
    """The inverse of a noisy Hessian: eigenvalues at least 0, and the edge of the noise more."""
    assert descent.clip is not None
    size, top = descent.frame.size, descent.facts.curvature
    query = Hessian(descent.model(), descent.clip, TABLES.hessian_norm)
    answer, noise = descent.queries.noisy(query, phase.hessian)
    matrix = symmetric(answer, size) * top
    values, vectors = np.linalg.eigh(matrix)
    values = (
        np.maximum(values, 0.0) + noise * top * math.sqrt(2 * size) + TABLES.gram_ridge * abs(np.diag(matrix).mean())
    )
    return np.linalg.inv((vectors * values) @ vectors.T + np.diag(descent.ridge))
