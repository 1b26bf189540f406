r"""Questions about rows with public column weights, as exact sums with how far one record can move them.

Guarantee
---------
* ``WeightedGradient``: row i adds :math:`h\,c_i X_{ij}` to coordinate j of the unweighted sum :math:`G`, with an integer
  :math:`c_i` for which :math:`h|c_i|\,\|X_i\circ a\|_2 \le C` (`PrivateRows.weighted_gradient_sum`). The query is
  :math:`a\circ G`; one record contributes a vector of norm at most C to it, so it moves by at most :math:`\kappa C` in l2
  norm. Only integers get noise, so coordinate j of :math:`G/h` is rounded to :math:`k_j` units and gets Gaussian noise of
  standard deviation :math:`\sigma/u_j` on the lattice of integers, :math:`u_j = a_j k_j h`, before it is multiplied by
  :math:`u_j`. That is noise of standard deviation :math:`\sigma` in every coordinate of the weighted query: the Gaussian
  mechanism on :math:`a\circ G`, with multiplication by public numbers after it. Rounding moves coordinate j of the
  weighted query by at most :math:`u_j/2` in each of two neighbours, so the sensitivity is at most
  :math:`\kappa C + \|u\|_2`, and the noise is :math:`\sigma = (\kappa C + \|u\|_2)/\mu` for a priced
  :math:`\mu`. The steps :math:`k_j` make :math:`u_j` a millionth of C, or one unit where that is more.
* ``AbsoluteMeans``: a row adds :math:`|x_{ij}| \ge 0`, at most :math:`B_j` in coordinate j and :math:`K_2` in norm. Vectors
  that are not negative differ by at most the root of the sum of their squared norms: :math:`\sqrt2 K_2` for replace-one,
  :math:`K_2` for add-remove; in a coordinate by at most :math:`B_j`.
* ``RowSize``: a row adds a number of :math:`[0, \mathrm{top}]`, truncated to whole units: `top` in both relations.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..data.rows import PrivateRows
from ..facts import Vector
from ..losses import Loss
from ..oracle import AbsoluteMeans, Indices, RowSize, Weighted, WeightedGradient
from ..privacy.errors import PrivacyError
from .measure import RELEASE_UNITS, Measurement, Reach


def measure_weighted(
    question: Weighted, rows: PrivateRows, loss: Loss, chosen: NDArray[np.bool_] | None = None
) -> Measurement:
    """The exact sum that answers a weighted question over all rows."""
    if chosen is not None:  # bounds on pairs of records are not what sampling is priced with
        raise PrivacyError(f"{type(question).__name__} is asked of every row; plan it with EveryRow().")
    if isinstance(question, AbsoluteMeans):
        total, unit = rows.absolute_sum()
        norm, entry = rows.norm_bound, rows.coordinate_bounds[: rows.facts.n_features]
        reach = Reach(norm, entry, pair_norm=math.sqrt(2) * norm, pair_entry=entry)
        return Measurement(total, unit, reach, max(1, int(norm / RELEASE_UNITS / unit)))
    weights = checked(question, rows)
    if isinstance(question, RowSize):
        step = question.top / RELEASE_UNITS
        size = np.array([rows.size_sum(weights, question.top, step, question.support)], dtype=np.int64)
        top = np.array([question.top])
        return Measurement(size, step, Reach(question.top, top, pair_norm=question.top, pair_entry=top))
    total, unit = rows.weighted_gradient_sum(loss, question.w, question.norm, weights, support=question.support)
    steps = np.maximum(1, np.floor(question.norm / (RELEASE_UNITS * unit * weights))).astype(np.int64)
    reach = Reach(question.norm, np.full(weights.size, question.norm))
    return Measurement(total, unit * weights, reach, steps)


def exact_weighted(question: Weighted, rows: PrivateRows, loss: Loss, share: float) -> Vector:
    """The same answer without clip or noise, for the exact oracle."""
    if isinstance(question, AbsoluteMeans):
        total, unit = rows.absolute_sum()
        return np.asarray(total * unit / share)
    weights = checked(question, rows)
    if isinstance(question, RowSize):
        return np.array([rows.size_sum(weights, question.top, None, question.support) / share])
    gradient = rows.exact_gradient_sum(loss, question.w)
    return weights * (gradient if question.support is None else gradient[question.support]) / share


def checked(question: WeightedGradient | RowSize, rows: PrivateRows) -> Vector:
    """The weights of a question, one for each coordinate of its support; refuses what the bounds above do not cover."""
    weights = np.asarray(question.weights, dtype=float)
    bound = question.norm if isinstance(question, WeightedGradient) else question.top
    least = np.nextafter(0, 1) if isinstance(question, WeightedGradient) else 0.0
    support: Indices | None = question.support
    dimension = size = rows.facts.dimension
    if support is not None:
        size = support.size
        whole = support.dtype.kind == "i" and support.ndim == 1 and bool(np.all((support >= 0) & (support < dimension)))
        if not whole or np.unique(support).size != size:
            raise PrivacyError("a support holds positions of coordinates, each at most once.")
    if weights.shape != (size,):
        raise PrivacyError(f"{size} weights are needed, one for each coordinate of the answer.")
    if not (np.all(np.isfinite(weights)) and np.all(weights >= least) and math.isfinite(bound) and bound > 0):
        raise PrivacyError("column weights must be positive and finite, and so must the bound on a row's contribution.")
    return weights


__all__ = ["exact_weighted", "measure_weighted"]
