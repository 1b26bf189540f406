"""What transformers share that ask one priced question about the rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from ..accounting import PricedPlan, price
from ..accounting.costs.plan import PlanBill
from ..data.rows import PrivateRows
from ..facts import Facts
from ..ledger import LedgerArgument, paying
from ..losses import Squared
from ..mechanisms import Randomness
from ..mechanisms.exact import require_opendp
from ..oracles import CentralOracle
from ..privacy import Adjacency, Ask, Budget, Noise, NonPrivateRandomnessWarning, Plan, PrivacyError, Statement
from ..privacy.statement import records
from ..privacy.versions import versions


@dataclass(frozen=True, eq=False)
class Opened:
    """An oracle for one ask, and what its statement needs."""

    oracle: CentralOracle
    delta: float
    secure: bool
    what: str
    ledger: Mapping[str, Any] | None

    def statement(self, n_rows: int) -> Statement:
        """What the step promised."""
        priced = self.oracle.priced
        return Statement(
            private=True,
            epsilon=priced.epsilon(self.delta),
            delta=self.delta,
            rho=priced.rho,
            mu=priced.mu,
            adjacency=str(priced.budget.relation),
            unit="one row",
            recipe=self.what,
            loss="no",
            n_rows=n_rows,
            asks=records(self.oracle.till.answers),
            accountant=priced.accountant,
            caveats=() if self.secure else ("made with a fixed seed: not private",),
            versions=versions(),
            ledger=self.ledger,
        )


class PricedStep(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Base of transformers with a budget; not for direct use."""

    #: Name of the one ask.
    ask = ""
    ledger = LedgerArgument()

    def _checked(self, X: Any) -> Any:
        """Shapes, types and finite values; messages name no row."""
        return validate_data(self, X, accept_sparse="csr", dtype="numeric", ensure_min_samples=1)

    def _budget(self, n_rows: int) -> tuple[Budget, float]:
        """The budget, and the delta at which epsilon is stated."""
        delta = min(1e-6, 1 / (10 * n_rows)) if self.delta is None else self.delta
        budget = Budget.approx(self.epsilon, delta) if self.budget is None else self.budget
        if not isinstance(budget, Budget):
            raise PrivacyError(f"budget must be a dpsparse Budget such as Budget.zcdp(0.1), got {self.budget!r}.")
        return budget.under(self.adjacency), float(delta if budget.delta is None else budget.delta)

    def _priced(self, n_rows: int) -> tuple[PricedPlan, float]:
        """The plan of one ask at its price, and delta."""
        if self.noise not in ("lattice", "exact"):
            raise ValueError(f"noise must be 'lattice' or 'exact', got {self.noise!r}.")
        if self.noise == "exact":
            if self.random_state is not None:
                raise ValueError("noise='exact' cannot be seeded; leave random_state=None.")
            require_opendp()
        noise = Noise.DISCRETE_GAUSSIAN if self.noise == "exact" else Noise.GAUSSIAN
        budget, delta = self._budget(n_rows)
        return price(Plan(asks=(Ask(name=self.ask, noise=noise),)), budget), delta

    def _public_rows(self, X: Any) -> int:
        """The public number of rows."""
        if Adjacency.named(self.adjacency) is Adjacency.ADD_REMOVE:
            if self.n_rows is None:
                raise PrivacyError(
                    "under add-remove adjacency the number of rows is private, so n_rows must be declared, or counted first with NoisyCount."
                )
            return int(self.n_rows)
        if self.n_rows is not None and self.n_rows != X.shape[0]:
            raise PrivacyError(
                f"n_rows={self.n_rows!r} was declared, but the data has another number of rows; under replace-one they must agree."
            )
        return int(X.shape[0])

    @contextmanager
    def _asking(self, X: Any, facts: Facts, what: str) -> Iterator[Opened]:
        """An oracle over the rows that answers the one ask; priced, and paid for, before the rows are handed over."""
        randomness = Randomness(self.random_state)
        priced, delta = self._priced(facts.n_rows)
        if not randomness.secure:
            warnings.warn(
                "random_state was given: the noise can be reproduced, so this is not private. Use random_state=None for a release.",
                NonPrivateRandomnessWarning,
                stacklevel=4,
            )
        with paying(self.ledger, self.dataset, PlanBill.of(priced), label=what, delta=delta) as payment:
            rows = PrivateRows(X, np.zeros(X.shape[0]), facts)
            oracle = CentralOracle(rows, Squared(), priced, randomness, payment.before(lambda _: None))
            yield Opened(oracle, delta, randomness.secure, what, payment.record)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = True
        return tags


def positive(value: Any, what: str) -> float:
    """A positive finite number."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not (math.isfinite(value) and value > 0):
        raise ValueError(f"{what} must be a positive finite number, got {value!r}.")
    return float(value)
