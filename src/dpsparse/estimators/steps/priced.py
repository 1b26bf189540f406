"""What transformers share that ask priced queries about the rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import KW_ONLY, dataclass

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ...accounting import PlanCost, PricedPlan, cost_of_units, price
from ...core import Adjacency, Ask, Noise, Plan, Statement
from ...core.checks import ROW
from ...core.facts import Facts, Vector
from ...core.mechanisms import Randomness
from ...fitting import Matrix, noise_of_sums, public_rows, stated_budget, warn_if_seeded
from ...fitting.drawn import Drawn
from ...fitting.session import Payer, session
from ...fitting.statement import complete_step, draft_step
from ...ledger import LedgerArgument, Payment
from ...queries.kinds import Oracle
from ...queries.losses import Squared
from ...rows import Records
from ...rows.hosts import ClusterRows
from ..arguments import BudgetArguments
from ..input_checks import our_tags, protected_unit, read_source, rows_of_units, unless_refused, with_ids
from .row_steps import Bounds


@dataclass(frozen=True, eq=False)
class StepRows:
    """An oracle for one ask, and the draft of its statement."""

    oracle: Oracle
    draft: Statement
    payment: Payment
    paid: PricedPlan

    def statement(self, n_rows: int) -> Statement:
        """What the step guaranteed, on `n_rows` rows."""
        return complete_step(self.draft, Drawn(self.oracle.receipts, self.paid), self.payment, n_rows)


@contextmanager
def asking(
    payer: Payer,
    priced: PricedPlan,
    delta: float,
    what: str,
    X: Records,
    y: Vector,
    facts: Facts,
    on_missing: str,
    randomness: Randomness,
) -> Iterator[StepRows]:
    """An oracle over rows that answers a priced plan, which is paid for before rows are handed over."""
    draft = draft_step(priced, delta, what, facts.n_rows, on_missing, secure=randomness.secure, unit=facts.unit)
    bill = cost_of_units(PlanCost.of(priced), facts.unit)
    with (
        session(payer, bill=bill, label=what, delta=delta, randomness=randomness) as opened,
        opened.open(X, y, facts, Squared(), priced) as oracle,
    ):
        yield StepRows(oracle, draft, opened.payment, priced)


@dataclass(eq=False, repr=False)
class StepArguments(BudgetArguments):
    """Arguments of every step with a budget, as its constructor takes them."""

    _: KW_ONLY
    unit: str | None = None


class PrivateStep(StepArguments, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base of transformers with a budget; not for direct use."""

    #: Name of the one ask.
    ask = ""
    question = ""
    ledger = LedgerArgument()

    statement_: Statement
    #: The unit of the guarantee that is being made.
    _word: str = ROW

    def asks(self, noise: Noise, n_features: int) -> tuple[Ask, ...]:
        """What the step will ask of rows with `n_features` features."""
        return (Ask(name=self.ask, question=self.question, noise=noise),)

    def price(self, n_rows: int, n_features: int, sparse: bool = False) -> tuple[PricedPlan, float]:
        """The plan of the step at its price, and the delta at which epsilon is stated. Reads no data.

        Parameters
        ----------
        n_rows, n_features : int
            Public shape of the rows.
        sparse : bool
            Whether they come sparse.
        """
        noise = noise_of_sums(self.noise, self.random_state)
        budget, delta = stated_budget(self.budget, self.epsilon, self.delta, self.adjacency, n_rows)
        return price(Plan(asks=self.asks(noise, n_features)), budget), delta

    def bounds_after(self, before: Bounds | None, n_features: int) -> Bounds | None:
        """Public bounds of the rows that come out, as they can be foreseen; here, rows pass through unchanged."""
        return before

    def outlook(self, n_rows: int, n_features: int, sparse: bool = False) -> str:
        """What to expect of the step, in words; empty where there is nothing to say. Reads no data."""
        return ""

    def _rows(self, X: object, units: object = None) -> Records:
        """Checked rows; missing values are refused if that was asked for. Messages name no row and no value.

        `units` holds the id of each row, or names the column of a frame that does.
        """
        X, _, units = with_ids(X, None, units)
        self._word = protected_unit(self.unit, units)
        source = read_source(self, X, reset=True, adjacency=Adjacency.named(self.adjacency))
        return rows_of_units(unless_refused(self.on_missing, source), units)

    def _public_rows(self, rows: Records) -> int:
        """The public number of records: rows, or units."""
        return public_rows(vars(self).get("n_rows"), Adjacency.named(self.adjacency), rows.count)

    def _again(self, X: object) -> Records:
        """Rows to be transformed, checked in the same way; there may be no row."""
        return unless_refused(self.on_missing, read_source(self, X, reset=False, adjacency=Adjacency.ADD_REMOVE))

    def transform(self, X: object) -> Matrix | ClusterRows:
        """The rows as they are."""
        check_is_fitted(self, "statement_")
        rows: Matrix = self._again(X).plain()
        return rows

    def _asking(self, X: Records, facts: Facts, what: str, y: Vector | None = None) -> AbstractContextManager[StepRows]:
        """An oracle over the rows that answers the step's asks.

        Priced, and paid for, before the rows are handed over.
        """
        randomness = Randomness(self.random_state)
        priced, delta = self.price(facts.n_rows, facts.n_features, facts.sparse)
        facts = facts.with_(unit=self._word)  # rows that do not know their units any more are refused
        warn_if_seeded(randomness, "step", stacklevel=4)
        targets = np.zeros(X.shape[0]) if y is None else y
        return asking(self, priced, delta, what, X, targets, facts, self.on_missing, randomness)

    def __sklearn_tags__(self) -> Tags:
        return our_tags(super().__sklearn_tags__(), allow_nan=self.on_missing == "empty")
