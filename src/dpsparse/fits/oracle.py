"""Where rows meet an oracle: the one file of this room that touches `data` and `oracles`.

Guarantee
---------
Rows are handed over together with a priced plan, and only noisy answers to what it priced come back. The ledger's durable
start is written before the first of them is computed; who watches is told apart from that, and only the names of asks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from ..data.source import Source
from ..facts import Vector
from ..ledger import Payment
from ..mechanisms import Randomness
from ..oracle import Oracle
from ..oracles import make_oracle
from .place import open_host
from .prepare import Prepared

#: Rows as numbers.
Matrix: TypeAlias = np.ndarray | sp.csr_matrix | sp.csr_array
#: Rows as they are handed over.
Rows: TypeAlias = Matrix | Source

#: Told the name of every ask that is charged: public.
Watcher = Callable[[str], None]


def nothing_to_close() -> None:
    """Rows in memory are given back when nobody refers to them."""


@dataclass(frozen=True, eq=False)
class Opened:
    """An oracle over rows, and the public numbers that turn its coefficients into those of the user.

    Attributes
    ----------
    oracle : Oracle
    shift : array of shape (n_features,)
        What was subtracted from every row.
    height : float
        Of the constant column that carries the intercept; 0 for none.
    close : function
        Gives back what rows take on a disk; nothing is answered after it.
    """

    oracle: Oracle
    shift: Vector
    height: float
    close: Callable[[], None] = nothing_to_close


def shown(prepared: Prepared, X: Rows) -> Source:
    """Rows in the units of the prepared facts, as a host takes them."""
    return Source.of(X).in_units(prepared.facts.scale)


def open_oracle(
    prepared: Prepared, X: Rows, y: Vector, randomness: Randomness, payment: Payment, watcher: Watcher
) -> Opened:
    """The oracle of one model of a fit.

    Audits and laws put another function of this form in its place, by `substitute_oracles`.
    """
    host = open_host(prepared, shown(prepared, X), y, watcher)
    try:
        oracle = make_oracle(host, prepared.loss, prepared.of_one_model or prepared.plan, randomness, payment, watcher)
    except BaseException:
        host.close()
        raise
    return Opened(oracle, host.lattice.applied_shift, host.lattice.applied_intercept, host.close)
