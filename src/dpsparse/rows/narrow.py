"""Numbers in the narrowest type that gives every one of them back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Types that numbers are stored in; a file knows them by their place here.
TYPES = tuple(np.dtype(code) for code in ("<i1", "<u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8", "|b1"))

_INTEGERS = tuple(np.dtype(code) for code in ("<i1", "<i2", "<i4"))


def narrow(values: NDArray[Any]) -> NDArray[Any]:
    """The same numbers in one byte, two or four, where that is no loss; as they are otherwise.

    Guarantee
    ---------
    Every number is given back exactly, but for the sign of zero. NaN stays NaN.

    Examples
    --------
    >>> narrow(np.array([1.0, -3.0])).dtype, narrow(np.array([0.5, np.nan])).dtype, narrow(np.array([0.1])).dtype
    (dtype('int8'), dtype('float32'), dtype('float64'))
    """
    values = values.astype(values.dtype.newbyteorder("<"), copy=False)
    if not values.size or values.dtype.itemsize == 1:
        return values
    low, high = values.min(), values.max()  # NaN where there is one: then no integer holds it
    for kind in _INTEGERS:
        held = np.iinfo(kind)
        if kind.itemsize < values.dtype.itemsize and held.min <= low and high <= held.max:
            whole = values.astype(kind)
            if values.dtype.kind in "iu" or np.array_equal(whole, values):
                return whole
            break
    if values.dtype == np.float64:
        with np.errstate(all="ignore"):
            half = values.astype(np.float32)
        if np.array_equal(half, values, equal_nan=True):
            return half
    return values
