"""A charge: one turn of a plan that is checked, measured and paid. Rows are asked with it, and with nothing else.

Guarantee
---------
Only `oracles.gate.Gate.next` makes charges, once the turn is paid. A charge is frozen, and
`dataclasses.replace` refuses it. Each is used once: code that begins to compute an answer from rows
calls `use`, which refuses a charge that was used, and a copy of one, however it was made. Workers
get a copy in a message: they answer with a part of the sum, for the host that used the charge.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from typing import Any
from weakref import WeakSet

from ..core.errors import PrivacyError
from ..core.plan import Ask
from ..core.statement import Receipt
from ..rows.sampling import PoissonSample
from .kinds import Query, Select, SupportVotes

#: Anyone who makes a charge shows this; the gate does, and a law reads the sources for others.
MADE_BY_THE_GATE = object()
NO_CHARGE = "rows are asked with a Charge, which Gate.next makes once the turn is checked and paid."
USED = "this charge was used, or is a copy of one: every sum over rows has a turn of its own, and its own noise."


def draws_of(query: Query) -> int:
    """How many draws one answer takes: those of a selection, or one."""
    return query.count if isinstance(query, Select | SupportVotes) else 1


@dataclass(frozen=True, eq=False, repr=False)
class Charge:
    """One turn that was paid: what is asked, of whom, and with how much noise it may be released.

    Parameters
    ----------
    query : Query
    ask : Ask
    turn : int
    sensitivity : float
        How far neighbours move what gets noise, in the norm that the noise is made for.
    strength : float
        Sensitivity over noise scale, as it was priced; infinite without noise.
    rate : float
        The expected part of the records that answer: public.
    divisor : float
        What a sum is divided by: public.
    spec : SumSpec, MinimiserSpec, a local randomiser, or None
        How the answer is counted.
    sample : PoissonSample or None
        Which records answer, if not all: **secret**.
    """

    query: Any  # a Query; its reader is found by its type
    ask: Ask
    turn: int
    sensitivity: float
    strength: float
    rate: float
    divisor: float
    spec: Any
    sample: PoissonSample | None
    made_by: InitVar[object]

    def __post_init__(self, made_by: object) -> None:
        if made_by is not MADE_BY_THE_GATE:
            raise TypeError("charges are made by Gate.next alone, which checks and pays first.")
        _UNUSED.add(self)

    @property
    def scale(self) -> float:
        """Scale of the noise, in real units."""
        return self.sensitivity / self.strength

    @property
    def summed(self) -> Any:
        """The sum over records that answers the query: its own, or the one that a selection ranks."""
        return self.query.of if isinstance(self.query, Select) else self.query

    @property
    def receipt(self) -> Receipt:
        """What is drawn for it."""
        ask, draws = self.ask, draws_of(self.query)
        return Receipt(ask.name, ask.noise, draws, self.rate, self.sensitivity, self.scale, ask.offset)


#: Charges that no answer was computed for, by identity, so that no copy is among them.
_UNUSED: WeakSet[Charge] = WeakSet()


def use(charge: object) -> None:
    """Begin to compute the one answer of a charge; refuses what is no charge, was used, or is a copy."""
    if not isinstance(charge, Charge):
        raise PrivacyError(NO_CHARGE)
    try:
        _UNUSED.remove(charge)
    except KeyError:
        raise PrivacyError(USED) from None
