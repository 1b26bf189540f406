"""What oracles with rows share: a till, receipts, and refusals before anything is charged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from ..core.errors import PrivacyError
from ..core.facts import LARGEST_SIZE, SMALLEST_SIZE, Facts, in_range
from ..core.plan import Ask, EveryRow, Noise, Plan, PoissonRows
from ..core.statement import Receipt
from ..queries.kinds import Gradient, Oracle, PerturbedMinimum, Query, RandomizedLabels, Select, SupportVotes
from ..queries.rules import CHOICES, MINIMA, SUMS
from .till import PaymentLike, ProgressCallback, Till

#: Questions that read the rows themselves and not sums of them.
STATISTICS: frozenset[type] = frozenset({*MINIMA, SupportVotes})
#: Questions that a curator answers.
ANSWERED: frozenset[type] = frozenset({*SUMS, *CHOICES, *STATISTICS, Select})
_NAMED = {kind.__name__: kind for kind in (*ANSWERED, RandomizedLabels)}
SELECTING = frozenset({Noise.GUMBEL, Noise.PERMUTE_AND_FLIP})
#: The noise that protects each kind of query.
NOISES: dict[type, frozenset[Noise]] = {
    **dict.fromkeys(SUMS, frozenset({Noise.GAUSSIAN, Noise.DISCRETE_GAUSSIAN, Noise.LAPLACE})),
    **dict.fromkeys((*CHOICES, Select, SupportVotes), SELECTING),
    **dict.fromkeys(MINIMA, frozenset({Noise.GAUSSIAN, Noise.DISCRETE_GAUSSIAN})),
    PerturbedMinimum: frozenset({Noise.OBJECTIVE}),
}


class ChargedOracle(Oracle):
    """An oracle that charges, then computes; it is not copied or stored."""

    def __init__(self, facts: Facts, plan: Plan, payment: PaymentLike | None, watcher: ProgressCallback | None) -> None:
        self.facts = facts
        self.plan = plan
        self.passes = 0.0
        self.till = Till(plan, payment, watcher)

    @property
    def unused_turns(self) -> dict[str, int]:
        """Turns that were priced and not asked for."""
        return self.till.unused_turns

    @property
    def receipts(self) -> list[Receipt]:
        """What was drawn so far."""
        return self.till.answers

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.plan!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("an oracle holds rows and is not copied or stored.")


def check_kind(question: Query, ask: Ask) -> None:
    """Refuse a query of another kind than the ask was planned for."""
    if ask.question is not None and type(question).__name__ != ask.question:
        raise PrivacyError(f"ask {ask.name!r} was planned for {ask.question}, not for {type(question).__name__}.")


def check_query(question: Query, ask: Ask, *, together: bool, noisy: bool = True) -> None:
    """Refuse a query that must not be answered at the price of an ask: the one check of every oracle that sums rows or noise.

    Parameters
    ----------
    question : Question
        Its kind must be the planned one, and its number of selections the priced one.
    ask : Ask
    together, noisy : bool
        As in `check_answerable`.
    """
    check_kind(question, ask)
    check_answerable(type(question), ask, together=together, noisy=noisy)
    count = question.count if isinstance(question, Select | SupportVotes) else 1
    if count != ask.draws and NOISES[type(question)] == SELECTING:
        raise PrivacyError(f"ask {ask.name!r} was priced for {ask.draws} selections a turn, not {count}.")
    if ask.noise is Noise.PERMUTE_AND_FLIP and count != 1:
        raise PrivacyError(f"ask {ask.name!r} cannot select {count} candidates with {str(ask.noise)!r} noise.")


def check_answerable(kind: type, ask: Ask, *, together: bool, noisy: bool = True) -> None:
    """Refuse a kind of query that cannot be answered on these rows, at this participation, with this noise.

    Parameters
    ----------
    kind : type
    ask : Ask
    together : bool
        Whether all rows are in one place.
    noisy : bool
        Whether answers get noise. The exact oracle draws none, and takes plans of either.
    """
    if kind is RandomizedLabels:
        raise PrivacyError("labels are randomised by the people they are about; plan them with OncePerPerson().")
    if kind not in ANSWERED:
        raise TypeError(f"nothing answers {kind.__name__}.")
    if not isinstance(ask.rows, EveryRow | PoissonRows):
        raise PrivacyError(f"ask {ask.name!r} is one of the local model, in which each person answers for themselves.")
    sampled = kind in SUMS and SUMS[kind].sampled
    if sample_rate(ask) is not None and not sampled:
        raise PrivacyError(f"ask {ask.name!r}: {kind.__name__} is asked of every row; plan it with EveryRow().")
    if kind in STATISTICS and not together:
        raise PrivacyError(f"{kind.__name__} needs all rows in one place, and this host keeps them apart.")
    if ask.noise not in NOISES[kind] and (noisy or ask.noise is not Noise.NONE):
        raise PrivacyError(f"ask {ask.name!r}: {str(ask.noise)!r} noise cannot protect {kind.__name__}.")


def check_clipped_mean(ask: Ask, clip: float, *, noisy: bool = True) -> None:
    """Refuse an ask, or a clip, that is none of a mean of clipped vectors with Gaussian noise: what networks, and changes of whole sites, are."""
    check_answerable(Gradient, ask, together=False, noisy=noisy)
    if ask.noise not in (Noise.GAUSSIAN, Noise.NONE) or ask.question not in (None, Gradient.__name__):
        raise PrivacyError(f"ask {ask.name!r} is no mean of clipped vectors with Gaussian noise.")
    if not in_range(clip):
        raise PrivacyError(f"a clip must be positive, between {SMALLEST_SIZE:g} and {LARGEST_SIZE:g}, got {clip!r}.")


def check_plan(plan: Plan, *, together: bool, noisy: bool = True) -> None:
    """Refuse a plan that names a kind of query which cannot be answered; arguments as in `check_answerable`."""
    for ask in _asks(plan):
        if ask.question is not None:
            if ask.question not in _NAMED:
                raise PrivacyError(f"ask {ask.name!r}: there is no kind of question {ask.question!r}.")
            check_answerable(_NAMED[ask.question], ask, together=together, noisy=noisy)


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


def share_of_columns(question: Query, dimension: int) -> float:
    """The part of the coordinates that a question reads: one, unless it names a support."""
    named = question.support if isinstance(question, Gradient) else None
    return 1.0 if named is None else named.size / dimension
