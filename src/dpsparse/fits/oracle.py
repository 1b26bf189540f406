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

from ..accounting import PricedPlan
from ..data import PrivateRows
from ..facts import Facts, Vector
from ..ledger import Payment
from ..losses import Loss
from ..mechanisms import Randomness
from ..oracle import Oracle
from ..oracles import CentralOracle, ExactOracle, LocalOracle, answering
from ..oracles.till import Till
from .prepare import Prepared

#: Rows as an estimator hands them over.
Matrix: TypeAlias = np.ndarray | sp.csr_matrix | sp.csr_array

#: Told the name of every ask that is charged: public.
Watcher = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Opened:
    """An oracle over rows, and the public numbers that turn its coefficients into those of the user.

    Attributes
    ----------
    oracle : Oracle
    till : Till
        What was charged, and the receipts of what was drawn.
    shift : array of shape (n_features,)
        What was subtracted from every row.
    height : float
        Of the constant column that carries the intercept; 0 for none.
    """

    oracle: Oracle
    till: Till
    shift: Vector
    height: float


def hold_rows(X: Matrix, y: Vector, facts: Facts, *, lattice: bool = True) -> PrivateRows:
    """Hand rows over: clipped to what is public about them, and answering with sums only.

    Parameters
    ----------
    X : array or CSR matrix
    y : array
        Targets: classes coded 0 and 1, or centred outcomes; NaN for a record that counts as empty.
    facts : Facts
    lattice : bool
        False for baselines without privacy only.
    """
    return PrivateRows(X, y, facts, lattice=lattice)


def make_oracle(
    rows: PrivateRows,
    loss: Loss,
    priced: PricedPlan,
    randomness: Randomness,
    payment: Payment | None = None,
    watcher: Watcher | None = None,
) -> CentralOracle | LocalOracle:
    """Who answers a priced plan over rows: people themselves where each speaks once, otherwise a trusted curator."""
    return answering(rows, loss, priced, randomness, _charge(payment, watcher))


def open_oracle(
    prepared: Prepared, X: Matrix, y: Vector, randomness: Randomness, payment: Payment, watcher: Watcher
) -> Opened:
    """The oracle of one model of a fit.

    Audits and laws put another function of this form in its place, by `substitute_oracles`.
    """
    rows = hold_rows(X, y, prepared.facts, lattice=prepared.recipe.private)
    oracle: CentralOracle | LocalOracle | ExactOracle
    if prepared.of_one_model is None:
        charge = _charge(payment, watcher)
        oracle = ExactOracle(rows, prepared.loss, prepared.plan, randomness.generator(), charge)
    else:
        oracle = make_oracle(rows, prepared.loss, prepared.of_one_model, randomness, payment, watcher)
    return Opened(oracle, oracle.till, rows.applied_shift, rows.applied_intercept)


def _charge(payment: Payment | None, watcher: Watcher | None) -> Callable[[str], None] | None:
    """What happens at a charge: first the ledger's durable start, then who watches is told."""
    if payment is None and watcher is None:
        return None

    def charge(name: str) -> None:
        if payment is not None:
            payment.start()
        if watcher is not None:
            watcher(name)

    return charge
