"""What oracles with rows share: a till, receipts, and refusals before anything is charged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from ..answers import CHOICES, MINIMA, SUMS
from ..facts import Facts
from ..hosts import Host
from ..oracle import Gradient, Labels, Oracle, Question, Select, SupportVotes
from ..privacy.errors import PrivacyError
from ..privacy.plan import Ask, Plan, PoissonRows
from ..privacy.statement import Answer
from .till import Payment, Till, Watcher

#: Questions that read the rows themselves and not sums of them.
STATISTICS: frozenset[type] = frozenset({*MINIMA, SupportVotes})
#: Questions that a curator answers.
ANSWERED: frozenset[type] = frozenset({*SUMS, *CHOICES, *STATISTICS, Select})
_NAMED = {kind.__name__: kind for kind in (*ANSWERED, Labels)}


class ChargedOracle(Oracle):
    """An oracle that charges, then computes; it is not copied or stored."""

    def __init__(self, facts: Facts, plan: Plan, payment: Payment | None, watcher: Watcher | None) -> None:
        self.facts = facts
        self.plan = plan
        self.passes = 0.0
        self.till = Till(plan, payment, watcher)

    @property
    def unused(self) -> dict[str, int]:
        """Turns that were priced and not asked for."""
        return self.till.unused

    @property
    def receipts(self) -> list[Answer]:
        """What was drawn so far."""
        return self.till.answers

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.plan!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("an oracle holds rows and is not copied or stored.")


def check_kind(question: Question, ask: Ask) -> None:
    """Refuse a question of another kind than the ask was planned for."""
    if ask.question is not None and type(question).__name__ != ask.question:
        raise PrivacyError(f"ask {ask.name!r} was planned for {ask.question}, not for {type(question).__name__}.")


def check_answerable(kind: type, ask: Ask, host: Host) -> None:
    """Refuse a kind of question that a curator of this host cannot answer on these rows."""
    if kind is Labels:
        raise PrivacyError("labels are randomised by the people they are about; plan them with OncePerPerson().")
    if kind not in ANSWERED:
        raise TypeError(f"nothing answers {kind.__name__}.")
    sampled = kind in SUMS and SUMS[kind].sampled
    if sample_rate(ask) is not None and not sampled:
        raise PrivacyError(f"ask {ask.name!r}: {kind.__name__} is asked of every row; plan it with EveryRow().")
    if kind in STATISTICS and host.shards is None:
        raise PrivacyError(f"{kind.__name__} needs all rows in one place, and this host keeps them apart.")


def check_plan(plan: Plan, host: Host) -> None:
    """Refuse a plan that names a kind of question which a curator of this host cannot answer."""
    for ask in _asks(plan):
        if ask.question is not None:
            if ask.question not in _NAMED:
                raise PrivacyError(f"ask {ask.name!r}: there is no kind of question {ask.question!r}.")
            check_answerable(_NAMED[ask.question], ask, host)


def needs_all_rows(plan: Plan) -> bool:
    """Whether a plan asks for what is no sum, so that rows must be in one place: public."""
    asks = [_NAMED.get(ask.question) for ask in _asks(plan) if ask.question is not None]
    return plan.local or any(kind in STATISTICS for kind in asks)


def _asks(plan: Plan) -> Iterator[Ask]:
    yield from plan.asks
    for follower in (*(branch for _, branch in plan.branches), *plan.parts):
        yield from _asks(follower)


def sample_rate(ask: Ask) -> float | None:
    """The public rate at which rows are drawn for an ask; None where every row answers."""
    return ask.rows.rate if isinstance(ask.rows, PoissonRows) else None


def share_of_rows(ask: Ask) -> float:
    """The expected part of the rows that answer an ask: public, unlike the part that does."""
    rate = sample_rate(ask)
    return 1.0 if rate is None else rate


def share_of_columns(question: Question, dimension: int) -> float:
    """The part of the coordinates that a question reads: one, unless it names a support."""
    named = question.support if isinstance(question, Gradient) else None
    return 1.0 if named is None else named.size / dimension
