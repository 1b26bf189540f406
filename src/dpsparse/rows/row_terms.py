r"""Offsets and weights of records: what a fit adds to a margin, and what it multiplies a slope with.

Guarantee
---------
The offset and the weight of a record are clipped to public bounds, whatever came in; a record
whose offset or weight is no finite number is ignored. They enter only where a loss meets rows
(`slopes`): the slope of a record is :math:`w\,\phi'(m + o, y)`, in front of every clip. A clip bounds
what a record contributes for any slope, so no sensitivity depends on them. They are not printed,
copied or stored.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..core.errors import PrivacyError
from ..core.facts import Facts, Vector


class RowTerms:
    """The offset and the weight of each record: **private**.

    Parameters
    ----------
    offset : array of shape (rows,) or None
        Added to the margin; None: nothing is.
    weight : array of shape (rows,) or None
        Factor of the slope; None: one.
    """

    def __init__(self, offset: Vector | None = None, weight: Vector | None = None) -> None:
        self.offset, self.weight = offset, weight

    def take(self, which: Any) -> RowTerms:
        """Those of some rows, by a slice or by their numbers."""
        return RowTerms(*(None if part is None else part[which] for part in (self.offset, self.weight)))

    def within(self, facts: Facts, rows: int) -> tuple[RowTerms, NDArray[np.bool_]]:
        """Both within the bounds of the facts, and which records have finite ones; refuses another number of them."""
        finite, held = np.ones(rows, dtype=bool), list[Vector | None]()
        weights = None if facts.weight_bound is None else (0.0, facts.weight_bound)
        for part, bounds in ((self.offset, facts.offset_bound), (self.weight, weights)):
            if (part is None) is not (bounds is None) or (part is not None and part.shape != (rows,)):
                raise PrivacyError("rows have an offset, or a weight, exactly where a bound for it is declared.")
            if part is None or bounds is None:
                held.append(None)
                continue
            good = np.isfinite(part)
            finite &= good
            held.append(np.clip(np.where(good, part, 0.0), *bounds))
        return RowTerms(*held), finite

    def __repr__(self) -> str:
        return "RowTerms()"

    def __reduce__(self) -> NoReturn:
        raise TypeError("private rows are not copied or stored.")
