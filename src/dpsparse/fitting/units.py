r"""Columns in units of their declared half-widths: public numbers that cost nothing, and that every recipe gains from.

Noise is the same in every coordinate of a gradient, and a norm adds up all columns. A column in
thousands beside others in ones would drown them in both. So where columns have bounds of their own,
each is divided by its half-width before anything else, and coefficients are divided by the same
half-width before they are returned. A column in other units has other bounds, and the quotient is
the same: the model does not depend on the units (law *units*).

The half-width is :math:`h_j = (u_j - l_j)/2` for dense rows with an intercept, which recipes
measure from the midpoint, and :math:`h_j = \max(|l_j|, |u_j|)` where columns are measured from
zero: sparse rows, which a shift would fill, and models without an intercept. A recipe that takes
zero at an end of a column's bounds for absence, and so measures that column from zero
(`Recipe.zero_is_absence`), has its unit from zero too. Where all half-widths are equal, nothing is
divided: one bound for all columns is one common unit.

A declared row norm K speaks of the user's units. Rows in the box :math:`|x_j| \le r_j` with
:math:`\|x\| \le K` have

.. math:: \sum_j x_j^2/h_j^2 \le \max\Bigl\{\sum_j t_j/h_j^2 : 0 \le t_j \le r_j^2,\ \sum_j t_j \le K^2\Bigr\},

a linear programme with one constraint, solved by filling the columns of the least :math:`h_j`
first. Its root is the norm to which shown rows are clipped; it is at most that of the box.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.facts import Facts, Vector

#: Half-widths that differ by no more than this part, as bounds that were written in decimals do, are equal.
ROUNDING = 1e-9


def in_half_widths(facts: Facts, *, absence: bool = False) -> Facts:
    """Declared facts in units of the columns' half-widths; unchanged if these are all equal.

    Parameters
    ----------
    facts : Facts
    absence : bool
        Whether columns with zero at an end of their bounds are measured from zero, so that
        their unit is the larger absolute bound.

    Examples
    --------
    >>> import numpy as np
    >>> low, high = np.array([-1.0, 0.0]), np.array([1.0, 4000.0])
    >>> sizes = {"n_rows": 9, "n_features": 2, "row_norm": 5000.0, "intercept": 1.0}
    >>> facts = Facts(lower=low, upper=high, **sizes)
    >>> shown = in_half_widths(facts)
    >>> shown.scale, shown.upper
    (array([1.e+00, 2.e+03]), array([1., 2.]))
    """
    ones = np.ones(facts.n_features)
    lower, upper = facts.lower * ones, facts.upper * ones
    reach = np.maximum(np.abs(lower), np.abs(upper))
    ends = (lower == 0) | (upper == 0)
    half = np.where(facts.sparse or not facts.intercept or absence & ends, reach, (upper - lower) / 2)
    if not half.size or np.ptp(half) <= ROUNDING * half.max():
        return facts
    return facts.with_(
        lower=lower / half,
        upper=upper / half,
        row_norm=_shown_norm(facts.row_norm, reach, half),
        shift=facts.shift / half if np.any(facts.shift) else facts.shift,
        start=None if facts.start is None else facts.start * half,
        scale=half,
    )


def _shown_norm(norm: float, reach: Vector, half: Vector) -> float:
    """The largest norm of a shown row that kept the declared norm and bounds."""
    box = float(np.linalg.norm(reach / half))
    if norm >= float(np.linalg.norm(reach)):
        return box
    order = np.argsort(half, kind="stable")
    room = norm**2 - np.cumsum(np.r_[0.0, reach[order] ** 2])[:-1]
    used = np.clip(room, 0.0, reach[order] ** 2)
    return min(box, math.sqrt(float(np.sum(used / half[order] ** 2))) * (1 + ROUNDING))
