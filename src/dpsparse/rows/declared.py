"""Bounds that are declared by name, by an object that knows them, or by the rows themselves.

Made plain for `read_bounds`.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from ..core.errors import MissingBoundError
from ..core.facts import Vector
from .shapes import NumberColumn


@dataclass(frozen=True, eq=False)
class ColumnBounds:
    """Public bounds of encoded rows: column j lies in ``[lower[j], upper[j]]``, and a row within l2 norm `row_norm`.

    `numbers` are the columns that hold numbers, where a dictionary declares them; all others are
    indicators then. Columns of one of the `groups` are kept and dropped together. `base_rate` is the
    share of the rarer class, where the same dictionary declares it of its target: for plans alone.
    """

    lower: Vector
    upper: Vector
    row_norm: float
    numbers: tuple[NumberColumn, ...] = ()
    groups: tuple[tuple[int, ...], ...] = ()
    base_rate: float | None = None

    @classmethod
    def beside(cls, parts: Sequence[ColumnBounds]) -> Self:
        """Bounds of blocks of columns side by side; squares of row norms add up."""
        firsts = [0, *accumulate(part.lower.size for part in parts)]
        return cls(
            np.concatenate([part.lower for part in parts]),
            np.concatenate([part.upper for part in parts]),
            math.sqrt(math.fsum(part.row_norm**2 for part in parts)),
            tuple(one.moved(first) for part, first in zip(parts, firsts, strict=False) for one in part.numbers),
            tuple(
                tuple(j + first for j in group)
                for part, first in zip(parts, firsts, strict=False)
                for group in part.groups
            ),
            next((part.base_rate for part in parts if part.base_rate is not None), None),
        )

    def output_bounds(self) -> ColumnBounds:
        """Itself: bounds with what a dictionary declares may be given as `feature_bound`."""
        return self


@runtime_checkable
class Bounded(Protocol):
    """Something that knows the public bounds of what comes out of it, such as a `dpsparse.tables.TableEncoder`."""

    def output_bounds(self) -> ColumnBounds | None:
        """Bounds of the columns; None where they are not known."""


def bounds_by_name(bounds: Mapping[str, Any], names: Sequence[str]) -> tuple[Vector, Vector]:
    """Bounds that were given as a dict by column name, in the order of the columns.

    Each value is b for [-b, b], or (lo, hi). All names that are missing or unknown are listed at once.

    Examples
    --------
    >>> bounds_by_name({"bmi": (10, 60), "age": 110}, ["age", "bmi"])
    (array([-110.,   10.]), array([110.,  60.]))
    """
    known = list(names)
    complaints = [f"no bound for {name!r}" for name in known if name not in bounds]
    for name in bounds:
        if name not in known:
            close = difflib.get_close_matches(str(name), [n for n in known if n not in bounds], n=1)
            complaints.append(f"no column {name!r}" + (f" (did you mean {close[0]!r}?)" if close else ""))
    if complaints:
        raise MissingBoundError(f"feature_bound by column name: {'; '.join(complaints)}.")
    lower, upper = np.empty(len(known)), np.empty(len(known))
    for j, name in enumerate(known):
        lower[j], upper[j] = _ends(bounds[name], name)
    return lower, upper


def declared_columns(feature_bound: object, carried: ColumnBounds | None = None) -> ColumnBounds:
    """What a dictionary behind the rows declares, which they carry or which was given; nothing without one."""
    known = feature_bound.output_bounds() if carried is None and isinstance(feature_bound, Bounded) else carried
    return ColumnBounds(np.zeros(0), np.zeros(0), 0.0) if known is None else known


def declared_bounds(
    feature_bound: object, row_norm: object, names: Sequence[str] | None, carried: ColumnBounds | None
) -> tuple[Any, Any]:
    """What a user declared, made plain for rows with these column names, as `read_bounds` takes it.

    Parameters
    ----------
    feature_bound, row_norm
        Arguments of an estimator.
    names : sequence of str or None
        Names of the columns; a dict by column name needs them.
    carried : ColumnBounds or None
        Public bounds that the rows brought along; they count where nothing was declared.
    """
    if feature_bound is None and row_norm is None and carried is not None:
        return (carried.lower, carried.upper), carried.row_norm
    if isinstance(feature_bound, Mapping):
        if names is None:
            raise MissingBoundError(
                "feature_bound was given by column name, but the data has no column names. "
                "Use a table with names, or one bound per feature in order."
            )
        return bounds_by_name(feature_bound, names), row_norm
    return feature_bound, row_norm


def plain_bounds(feature_bound: object, row_norm: float | None) -> tuple[Any, float | None]:
    """Numbers in place of an object that knows its bounds, or of a mapping, which is taken in its own order."""
    if isinstance(feature_bound, Bounded):
        known = feature_bound.output_bounds()
        if known is None:
            raise MissingBoundError("feature_bound was given as an object that does not know its bounds.")
        return (known.lower, known.upper), known.row_norm if row_norm is None else min(known.row_norm, row_norm)
    if isinstance(feature_bound, Mapping):
        return bounds_by_name(feature_bound, list(feature_bound)), row_norm
    return feature_bound, row_norm


def _ends(value: object, name: str) -> tuple[float, float]:
    """The two ends of one bound."""
    ends = value if isinstance(value, tuple | list) else (value,)
    plain = all(isinstance(e, int | float | np.number) and not isinstance(e, bool) and np.isfinite(e) for e in ends)
    if not plain or len(ends) not in (1, 2):
        raise MissingBoundError(f"the feature_bound of {name!r} must be b or (lo, hi), got {value!r}.")
    return (-float(ends[0]), float(ends[0])) if len(ends) == 1 else (float(ends[0]), float(ends[1]))
