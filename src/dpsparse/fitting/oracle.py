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

from ..core.facts import Vector
from ..core.mechanisms import Randomness
from ..ledger import Payment
from ..oracles import make_oracle
from ..queries.kinds import Oracle
from ..rows.records import Records
from .place import open_host
from .prepare import FitPlan

#: Rows as numbers.
Matrix: TypeAlias = np.ndarray | sp.csr_matrix | sp.csr_array
#: Rows as they are handed over.
Rows: TypeAlias = Matrix | Records

#: Told the name of every ask that is charged: public.
ProgressCallback = Callable[[str], None]


def nothing_to_close() -> None:
    """Rows in memory are given back when nobody refers to them."""


@dataclass(frozen=True, eq=False)
class Session:
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


def rescaled_rows(prepared: FitPlan, X: Rows) -> Records:
    """Rows in the units of the prepared facts, as a host takes them."""
    return Records.of(X).rescaled(prepared.facts.scale)


def open_oracle(
    prepared: FitPlan, X: Rows, y: Vector, randomness: Randomness, payment: Payment, watcher: ProgressCallback
) -> Session:
    """The oracle of one model of a fit.

    Audits and laws put another function of this form in its place, by `with_oracles`.
    """
    host = open_host(prepared, rescaled_rows(prepared, X), y, watcher)
    try:
        oracle = make_oracle(host, prepared.loss, prepared.of_one_model or prepared.plan, randomness, payment, watcher)
    except BaseException:
        host.close()
        raise
    return Session(oracle, host.lattice.applied_shift, host.lattice.applied_intercept, host.close)
