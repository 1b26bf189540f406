"""Arrays that know the public bounds of their columns, and which cells of the table behind them were not understood."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

import numpy as np

from ...rows.declared import ColumnBounds
from ...rows.unread import UnreadCells, unread_of

#: Functions that put blocks side by side; `ColumnTransformer` and `FeatureUnion` use the first.
_SIDE_BY_SIDE = (np.hstack, np.concatenate, np.column_stack)


class BoundedArray(np.ndarray):
    """A numpy array of encoded rows with the public bounds of its columns.

    It behaves as the plain array it is. Bounds are known right after encoding and after blocks with
    bounds were put side by side (`numpy.hstack`, as `ColumnTransformer` does). Whatever else is
    made from it (a slice, a product) has none, so no array claims bounds that it may not keep. The
    same holds for `unread_cells`, which is for a priced count (`check_cells`).

    Guarantee
    ---------
    Bounds are constants of a dictionary. A private estimator clips rows to the bounds it is given,
    so a guarantee does not depend on the bounds being true.
    """

    _bounds: ColumnBounds | None
    unread_cells: UnreadCells | None

    @classmethod
    def of(cls, values: np.ndarray, bounds: ColumnBounds, unread: UnreadCells | None = None) -> Self:
        """Attach bounds to the rows of an array, without copying it; and which cells were not understood."""
        found = np.asarray(values).view(cls)
        found._bounds = bounds
        found.unread_cells = unread
        return found

    def __array_finalize__(self, source: object) -> None:
        self._bounds = None
        self.unread_cells = None

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """What arithmetic makes of it is a plain array, or a number."""
        return array[()] if return_scalar else np.asarray(array)

    def __array_function__(
        self, func: Callable[..., Any], types: Iterable[type], args: Iterable[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        result = super().__array_function__(func, types, args, kwargs)
        if func in _SIDE_BY_SIDE and isinstance(result, np.ndarray) and result.ndim == 2:
            blocks = list(next(iter(args)))
            known = [part for part in map(carried_bounds, blocks) if part is not None]
            if len(known) == len(blocks) and sum(part.lower.size for part in known) == result.shape[1]:
                unread = [part for block in blocks if (part := unread_of(block, result.shape[0])) is not None]
                whole = UnreadCells.beside(unread) if len(unread) == len(blocks) else None
                return BoundedArray.of(result, ColumnBounds.beside(known), whole)
        return result

    def __reduce__(self) -> Any:
        return np.asarray(self).__reduce__()  # stored and sent as a plain array

    def output_bounds(self) -> ColumnBounds | None:
        """Bounds of the columns; None where they are not known."""
        return self._bounds


def carried_bounds(X: object) -> ColumnBounds | None:
    """The bounds that rows carry; None for rows without."""
    if isinstance(X, BoundedArray):
        return X.output_bounds()
    found = getattr(X, "dpsparse_bounds", None)  # a CSR matrix, marked by the encoder
    return found if isinstance(found, ColumnBounds) else None
