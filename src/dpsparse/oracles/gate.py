r"""The gate: checks, measures and pays for one turn of a plan. Rows are asked with the charge that it returns.

`ChargedOracle` is the base of the oracles that have a gate.

Guarantee
---------
`Gate.next` returns a `Charge` only if the ask is in the plan, has a turn left and is next in order;
the query is of the kind that was planned; its kind may be asked of these rows at this
participation, and its noise protects it; its sensitivity is proven; and the payment is durable.
Everything up to the payment reads public numbers alone. A turn that was paid is spent, whatever
happens afterwards. Who adds up records or noise reads sensitivity, noise scale, divisor and sample
from the charge, and computes none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import RLock
from typing import Any, Generic, NamedTuple, NoReturn, Protocol, Self, TypeVar

from ..core.errors import NotPricedError, PrivacyError
from ..core.facts import Facts
from ..core.plan import Ask, EveryRow, Noise, Plan, PoissonRows
from ..core.statement import Receipt
from ..queries.charge import MADE_BY_THE_GATE, Charge, draws_of
from ..queries.kinds import Gradient, NoiseInfo, Oracle, PerturbedMinimum, Query, RandomizedLabels, Select, SupportVotes
from ..queries.rules import CHOICES, MINIMA, SUMS
from ..queries.table import NOT_BY_UNIT
from ..rows.sampling import PoissonSample

#: Queries that read the rows themselves and not sums of them.
STATISTICS: frozenset[type] = frozenset({*MINIMA, SupportVotes})
#: Queries that a curator answers.
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


class PaymentLike(Protocol):
    """Who pays for a plan."""

    def start(self) -> None:
        """Make it durable that answers begin; called before every answer, and must hold before the first."""
        ...


#: Called with the name of every ask that is charged, for progress bars.
ProgressCallback = Callable[[str], None]


class TurnNoise(NamedTuple):
    """The noise of one turn, as a charge has it: public."""

    sensitivity: float
    strength: float
    rate: float
    divisor: float
    spec: Any = None


class Terms(Protocol):
    """The rules of one way to answer: what it refuses, and how much noise answers get. Public numbers only."""

    @property
    def plan(self) -> Plan:
        """What may be asked."""
        ...

    def branch(self, name: str) -> Self:
        """The terms once a branch of the plan is taken."""
        ...

    def check_plan(self) -> None:
        """Refuse a plan that cannot be answered in this way."""
        ...

    def measure(self, query: Query, ask: Ask, turn: int) -> TurnNoise:
        """The noise of one turn; refuses a query that must not be answered at the price of this ask."""
        ...


class OracleTerms(Terms, NoiseInfo, Protocol):
    """Terms that a solver may look up, too."""


AnyTerms = TypeVar("AnyTerms", bound=Terms)
AnyOracleTerms = TypeVar("AnyOracleTerms", bound=OracleTerms)


class Gate(Generic[AnyTerms]):
    """All turns of one plan.

    Parameters
    ----------
    terms : Terms
    key : callable, optional
        Draws the key of a sample; None where no rows are asked, so that a charge for a sample names
        none, and rows refuse it.
    payment : PaymentLike, optional
        Started before the first answer is computed.
    watcher : callable, optional
        Called at every charge. Nothing depends on it.
    used : mapping of str to int, optional
        Turns that were used before, where a program goes on in another process.
    """

    def __init__(
        self,
        terms: AnyTerms,
        key: Callable[[], int] | None = None,
        payment: PaymentLike | None = None,
        watcher: ProgressCallback | None = None,
        used: Mapping[str, int] | None = None,
    ) -> None:
        if terms.plan.models > 1:
            raise NotPricedError(
                "this plan was priced for several models: each of them runs its own plan at that price."
            )
        terms.check_plan()
        self.terms = terms
        self.receipts: list[Receipt] = []
        self._used = {a.name: 0 for a in terms.plan.asks} | dict(used or {})
        planned = {a.name: a.times for a in terms.plan.asks}
        if any(not 0 <= times <= planned.get(name, -1) for name, times in (used or {}).items()):
            raise PrivacyError("turns that were used before must be turns of the plan.")
        self._lock = RLock()  # a turn that two threads saw free would be paid for once and answered twice
        self._key, self._payment, self._watcher = key, payment, watcher

    def next(self, query: Query, ask: str) -> Charge:
        """Check, measure, pay, and say who takes part: in this order, one turn at a time."""
        with self._lock:
            return self._next(query, ask)

    def _next(self, query: Query, ask: str) -> Charge:
        planned, turn = self._next_turn(ask)
        check_kind(query, planned)
        noise = self.terms.measure(query, planned, turn)
        self._used[ask] = turn + 1
        if self._payment is not None:
            self._payment.start()
        if self._watcher is not None:
            self._watcher(ask)
        rate = planned.sampling_rate
        sample = None if rate == 1 or self._key is None else PoissonSample(rate, self._key())
        return Charge(query, planned, turn, *noise, sample, MADE_BY_THE_GATE)

    def _next_turn(self, name: str) -> tuple[Ask, int]:
        """The ask of this name and the number of its next turn; refuses one that is not priced, or not next in order.

        Nothing is paid and no turn is used up here.
        """
        plan = self.terms.plan
        if name not in self._used:
            raise NotPricedError(f"the plan has no ask {name!r}; it holds {sorted(self._used)}. Add it in plan(facts).")
        ask, turn = plan[name], self._used[name]
        if turn >= ask.times:
            raise NotPricedError(
                f"ask {name!r} was priced for {ask.times} turns and all are used. Price more turns in plan(facts)."
            )
        step = sum(self._used.values())
        if plan.order and plan.order[step] != name:
            raise NotPricedError(f"the plan was priced in an order, and {plan.order[step]!r} comes next, not {name!r}.")
        return ask, turn

    def take_branch(self, branch: str) -> None:
        """Go on with a branch of the plan, at its price, once everything before it was asked."""
        with self._lock:
            if any(self._used[a.name] < a.times for a in self.terms.plan.asks):
                raise NotPricedError(
                    f"branch {branch!r} was chosen before all asks of its plan were used: {self.unused_turns}."
                )
            self.terms = self.terms.branch(branch)
            self._used = {a.name: 0 for a in self.terms.plan.asks}

    @property
    def unused_turns(self) -> dict[str, int]:
        """Turns that were priced and not asked for.

        Exact turns have no price: a loop without privacy may stop when it has converged.
        """
        plan = self.terms.plan
        priced = [a for a in plan.asks if a.noise is not Noise.NONE]
        left = {a.name: a.times - self._used[a.name] for a in priced if self._used[a.name] < a.times}
        return left | ({"one of the branches": 1} if plan.branches else {})


# ------------------------------------------------------------------------------------------------ what may be asked


def check_kind(question: Query, ask: Ask) -> None:
    """Refuse a query of another kind than the ask was planned for."""
    if ask.question is not None and type(question).__name__ != ask.question:
        raise PrivacyError(f"ask {ask.name!r} was planned for {ask.question}, not for {type(question).__name__}.")


def check_query(question: Query, ask: Ask, *, together: bool, noisy: bool = True) -> None:
    """Refuse a query that must not be answered at the price of an ask.

    The one check of every oracle that sums rows or noise.

    Parameters
    ----------
    question : Query
        Its number of selections must be the priced one.
    ask : Ask
    together, noisy : bool
        As in `check_answerable`.
    """
    check_answerable(type(question), ask, together=together, noisy=noisy)
    count = draws_of(question)
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
    if ask.sampling_rate < 1 and not sampled:
        raise PrivacyError(f"ask {ask.name!r}: {kind.__name__} is asked of every row; plan it with EveryRow().")
    if kind in STATISTICS and not together:
        raise PrivacyError(f"{kind.__name__} needs all rows in one place, and this host keeps them apart.")
    if ask.noise not in NOISES[kind] and (noisy or ask.noise is not Noise.NONE):
        raise PrivacyError(f"ask {ask.name!r}: {str(ask.noise)!r} noise cannot protect {kind.__name__}.")


def check_plan(plan: Plan, *, together: bool, noisy: bool = True) -> None:
    """Refuse a plan that names a kind of query which cannot be answered; arguments as in `check_answerable`."""
    for ask in plan.all_asks():
        if ask.question is not None:
            if ask.question not in _NAMED:
                raise PrivacyError(f"ask {ask.name!r}: there is no kind of query {ask.question!r}.")
            check_answerable(_NAMED[ask.question], ask, together=together, noisy=noisy)


def check_by_unit(plan: Plan) -> None:
    """Refuse a plan of which a kind of query bounds what one row adds, and not what all rows of a unit add."""
    if plan.local:
        raise PrivacyError(f"asks of devices {NOT_BY_UNIT} In the local model each person speaks for one record.")
    for ask in plan.all_asks():
        if ask.question is not None and ask.question in _NAMED:
            refuse_rows_alone(_NAMED[ask.question])


def refuse_rows_alone(kind: type) -> None:
    """Refuse a kind of query that bounds what one row adds, and not what all rows of a unit add."""
    rule = SUMS.get(kind) or CHOICES.get(kind)
    known = kind in (Select, SupportVotes) if rule is None else rule.by_unit
    if not known:
        raise PrivacyError(
            f"{kind.__name__} {NOT_BY_UNIT} Use a recipe of sums, such as recipe='auto', or leave units out: "
            "the guarantee then protects one row."
        )


def needs_all_rows(plan: Plan) -> bool:
    """Whether a plan asks for what is no sum, so that rows must be in one place: public."""
    asks = [_NAMED.get(ask.question) for ask in plan.all_asks() if ask.question is not None]
    return plan.local or any(kind in STATISTICS for kind in asks)


class ChargedOracle(Oracle, Generic[AnyOracleTerms]):
    """An oracle that answers what its gate lets through; it is not copied or stored."""

    def __init__(self, facts: Facts, gate: Gate[AnyOracleTerms]) -> None:
        self.facts = facts
        self.plan = gate.terms.plan
        self.passes = 0.0
        self.gate = gate

    def charge(self, query: Query, ask: str) -> Charge:
        """Pay for one turn, and count the part of the data that it reads."""
        charge = self.gate.next(query, ask)
        named = query.support if isinstance(query, Gradient) else None
        self.passes += charge.rate * (1.0 if named is None else named.size / self.facts.dimension)
        return charge

    @property
    def terms(self) -> AnyOracleTerms:
        """How much noise answers get from here on: public."""
        return self.gate.terms

    def deviation(self, question: Query, ask: str, turn: int) -> float:
        """Noise of an answer to a query, as it was priced."""
        return self.terms.deviation(question, ask, turn)

    def take_branch(self, branch: str) -> None:
        """Go on with a branch of the plan, at its price."""
        self.gate.take_branch(branch)
        self.plan = self.gate.terms.plan
        self.choices = (*self.choices, branch)

    @property
    def unused_turns(self) -> dict[str, int]:
        """Turns that were priced and not asked for."""
        return self.gate.unused_turns

    @property
    def receipts(self) -> list[Receipt]:
        """What was drawn so far."""
        return self.gate.receipts

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.plan!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("an oracle holds rows and is not copied or stored.")
