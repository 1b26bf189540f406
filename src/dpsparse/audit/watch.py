"""Watching a solver: which arrays it brought along."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..fitting import holdings

#: Sparse matrices of both kinds.
Sparse = (sp.spmatrix, sp.sparray)


class LawBroken(AssertionError):
    """A law does not hold; the message says which one and what to look for."""


def check_brings_no_rows(solver: object, X: object, y: object) -> None:
    """Refuse a solver that holds the data: as a field, in a closure, or as a global that its methods use.

    Replay and swap cannot see such a solver: what it brought along stays the same when the oracle's data changes.
    """
    for where, value in holdings(solver):
        for what, data in (("X", X), ("y", y)):
            if _equal(value, data):
                raise LawBroken(
                    f"brings rows: {where} holds {what} itself. A solver may know public facts and "
                    "what its oracle answers, so "
                    "that everything it does is post-processing; take what it needs as an ask."
                )


def _equal(value: object, data: object) -> bool:
    if value is data:
        return True
    if isinstance(value, Sparse) and isinstance(data, Sparse):
        return bool(value.shape == data.shape and not (value != data).nnz)
    if not isinstance(value, np.ndarray) or isinstance(data, Sparse):
        return False
    held = np.asarray(data)
    return held.shape[0] >= 2 and value.shape == held.shape and bool(np.array_equal(value, held))
