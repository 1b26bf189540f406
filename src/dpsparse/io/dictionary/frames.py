"""Tables of any library as names and columns of cells.

Guarantee
---------
Names and the number of rows are looked at; a cell is handed on and never looked at. Refusals speak of names, types of
containers and lengths alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...rows.cells import ROUNDED_FROM
from ..labels import Texts
from .formats import DictionaryError
from .rules import Cells

if TYPE_CHECKING:
    import narwhals as nw

#: Types of narwhals of columns that become floats at once, with the same result as cell by cell.
_NUMBERS = frozenset(("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float32", "Float64"))

EXPECTED = "Give a pandas, polars or pyarrow table, a dict of columns, or a numpy array with named fields."


class Table:
    """Named columns of equal length.

    Parameters
    ----------
    X : data frame, dict of columns, or numpy array
        A plain numpy array has no names; it must have one column for each of `order`, in that order.
    order : sequence of str
        Names for an array without names.
    """

    def __init__(self, X: object, order: Sequence[str]) -> None:
        self._frame: nw.DataFrame[Any] | None = None
        self._columns: Mapping[str, object] = {}
        if isinstance(X, Mapping):
            self._columns = X
            header: list[object] = list(X)
        elif isinstance(X, np.ndarray):
            header = self._from_array(X, order)
        else:
            header = self._from_frame(X)
        foreign = [repr(name) for name in header if not isinstance(name, str)]
        if foreign:
            raise DictionaryError([f"names of columns must be text, got {', '.join(foreign[:5])}."])
        self.header = [str(name) for name in header]
        self.rows = self._length()

    def _from_array(self, X: NDArray[np.void], order: Sequence[str]) -> list[object]:
        if X.dtype.names is not None:
            if X.ndim != 1:
                raise DictionaryError([f"an array with named fields must have one dimension, got {X.ndim}."])
            self._columns = {name: X[name] for name in X.dtype.names}
        elif X.ndim == 2 and X.shape[1] == len(order):
            self._columns = {name: X[:, place] for place, name in enumerate(order)}
        else:
            raise DictionaryError(
                [f"an array without names must have one column for each of the {len(order)} features. {EXPECTED}"]
            )
        return list(self._columns)

    def _from_frame(self, X: object) -> list[object]:
        import narwhals as nw  # takes long to import, and files need none of it

        try:
            self._frame = nw.from_native(X, eager_only=True)
        except TypeError:
            raise TypeError(f"{type(X).__name__} is not a table that can be encoded. {EXPECTED}") from None
        except Exception:  # narwhals refuses a name that occurs twice
            raise DictionaryError(["a name of a column occurs twice in the table. Rename one."]) from None
        return list(self._frame.columns)

    def _length(self) -> int:
        if self._frame is not None:
            return len(self._frame)
        lengths = {len(column) for column in self._columns.values()}  # type: ignore[arg-type]
        if len(lengths) > 1:
            raise DictionaryError(["columns of a table must have the same length."])
        return lengths.pop() if lengths else 0

    def cells(self, name: str) -> Cells:
        """The cells of one column.

        They are floats where the column is stored as numbers that floats hold, texts of a file as
        they are, otherwise a list of Python values.
        """
        if self._frame is not None:
            series = self._frame.get_column(name)
            kind = type(series.dtype).__name__
            if kind in ("Int64", "UInt64"):  # a library may refuse to make floats of large ones
                whole = series.to_numpy()
                if whole.dtype.kind not in "iuf" or _rounded(whole):
                    return series.to_list()
                return np.asarray(whole, dtype=np.float64)
            if kind in _NUMBERS:
                import narwhals as nw

                return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
            return series.to_list()
        column = self._columns[name]
        if isinstance(column, Texts):
            return column
        if isinstance(column, np.ndarray) and column.dtype.kind in "iuf" and column.dtype.itemsize <= 8:
            return column.tolist() if column.dtype.kind in "iu" and _rounded(column) else column.astype(np.float64)
        if isinstance(column, np.ndarray) and column.dtype.kind == "M":
            return list(column)
        listed: list[object] = (
            column.tolist() if isinstance(column, np.ndarray) else list(column)  # type: ignore[call-overload]
        )
        return listed


def _rounded(values: NDArray[np.number]) -> bool:
    """Whether floats may lose digits of whole numbers, which labels are compared by."""
    return bool(np.any((values >= ROUNDED_FROM) | (values <= -ROUNDED_FROM)))
