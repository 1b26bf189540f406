"""Rows in memory, in one process."""

from __future__ import annotations

import ctypes
import sys
from typing import Any, NoReturn

import numpy as np

from ...core.errors import DataError
from ...core.facts import Facts, Vector
from ...queries.charge import Charge, use
from ...queries.losses import Loss
from ...queries.rules import partial_sum
from ...queries.sensitivity import Integers
from ..lattice import Lattice
from ..records import Records
from ..shard import Shard, build_shards
from .base import Total, check_units

#: Entries (rows times features) from which on freed memory is returned: for fewer it does not pay.
LARGE = 2**24


def give_back(facts: Facts) -> None:
    """Return the memory of freed rows to the operating system, after a fit of many entries on Linux.

    The C library of Linux keeps blocks below 32 MB that lie under anything allocated later: of
    20,000 x 5,000 rows 214 MB stayed after a fit.
    """
    if sys.platform == "linux" and facts.n_rows * facts.n_features >= LARGE:
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # other C libraries have none, and need none
        if trim is not None:
            trim(0)


class MemoryHost:
    """Clipped rows in memory, which answer only with sums.

    Parameters
    ----------
    X : Records, array, scipy sparse matrix or frame of shape (rows, n_features)
    y : array of shape (rows,)
        Targets: classes coded 0, 1, ..., or centred outcomes; NaN makes a record empty.
    facts : Facts
        Bounds to enforce, the shift, and the height of the intercept column.
    exact : bool
        True keeps floats: for the non-private baselines only.
    parts : int
        Into how many shards rows are cut. No answer depends on it.
    """

    def __init__(
        self, X: Any, y: Vector, facts: Facts, *, exact: bool = False, parts: int = 1, lattice: Lattice | None = None
    ) -> None:
        source = Records.of(X)
        if source.shape[1] != facts.n_features or source.shape[0] != np.shape(y)[0]:
            raise DataError(f"expected rows with {facts.n_features} features and one target each.")
        self.facts = facts
        self.lattice = lattice or Lattice(facts, exact)
        if source.sparse and not self.lattice.holds_zero:
            raise DataError("sparse rows hold zeros, so feature_bound must contain zero for every feature.")
        check_units(source, facts)
        if source.units is not None:
            source, order = source.grouped()
            y = np.asarray(y, dtype=float)[order]
        self.shards: tuple[Shard, ...] = build_shards(self.lattice, source, np.asarray(y, dtype=float), parts)

    def total(self, charge: Charge, loss: Loss) -> Integers:
        """Sum of a part over all shards, one after the other: **private**."""
        use(charge)
        total = Total(self.lattice.largest_total)
        for shard in self.shards:
            total.add(partial_sum(charge, shard, loss))
        return total.value()

    def close(self) -> None:
        """Rows in memory are given back when nobody refers to them."""

    def __repr__(self) -> str:
        return f"MemoryHost({self.facts.n_features} features)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("private rows are not copied or stored.")
