"""What oracles share: a gate, receipts, and public numbers about answers."""

from __future__ import annotations

from typing import Any, NoReturn

from ..core.facts import Facts
from ..core.statement import Receipt
from ..queries.kinds import Gradient, Oracle, Query
from ..queries.rules import Charge
from .gate import Gate


class ChargedOracle(Oracle):
    """An oracle that asks rows with charges of its gate; it is not copied or stored."""

    def __init__(self, facts: Facts, gate: Gate[Any]) -> None:
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
