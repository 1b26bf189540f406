r"""Bills: what one entry of a ledger costs, as public data that can be stored and priced again.

A bill speaks every language in which a ledger may count: Renyi divergences, a dominating Gaussian, delta curves and pure
epsilon. It holds no number that could disagree with what it describes: prices are computed from it each time.

A new kind of bill is a frozen dataclass with these methods, a line in `HOMES`, and nothing else: ledgers, their files and
``verify`` work from the protocol.

References
----------
.. [CKS20] Canonne, Kamath and Steinke, NeurIPS 2020, Proposition 12: the tight Renyi to (epsilon, delta) conversion.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

from ...core.adjacency import Adjacency
from ...core.curves import ORDERS, Curve, renyi_delta, renyi_epsilon
from ...core.errors import PrivacyError


@runtime_checkable
class Cost(Protocol):
    """What an entry costs. All bounds are from above, for every pair of neighbours and in both directions.

    Attributes
    ----------
    kind : str
        Under which it is stored; a key of `HOMES`.
    """

    kind: ClassVar[str]

    @property
    def adjacency(self) -> Adjacency:
        """Which datasets count as neighbours."""
        ...

    def renyi(self, orders: Curve = ORDERS) -> Curve:
        """Renyi divergences at these orders (each above 1 and finite); infinite where none is proven."""
        ...

    def pure(self) -> float:
        """Epsilon at delta = 0; infinite where there is none."""
        ...

    def mu(self) -> float:
        """A mu for which the whole is mu-GDP, from closed forms; infinite where none is proven."""
        ...

    def delta(self, epsilon: float) -> float:
        """Hockey-stick divergence at an epsilon >= 0."""
        ...

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon that is certified at `delta`."""
        ...

    def scaled(self, factor: float) -> Cost:
        """The same with every rho times `factor`: more noise below 1. Says what would fit into a nearly empty ledger."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types, complete: `from_dict` gives an equal bill."""
        ...

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`."""
        ...


#: Kinds of bills, and where in this room each lives: (module, class). Imported when met in a file.
HOMES: dict[str, tuple[str, str]] = {
    "plan": ("costs.plan", "PlanCost"),
    "sum": ("costs.sum", "SumCost"),
    "search": ("random_stopping", "SearchCost"),
    "promise": ("costs.fixed", "FixedCost"),
}


def stored_cost(bill: Cost) -> dict[str, Any]:
    """A bill as plain JSON types, with its kind."""
    if bill.kind not in HOMES:
        raise PrivacyError(
            f"bills of kind {bill.kind!r} are not registered. List them in dpsparse.accounting.costs.base.HOMES."
        )
    return {"kind": bill.kind, **bill.to_dict()}


def restored_cost(fields: Mapping[str, Any]) -> Cost:
    """The inverse of `stored_cost`."""
    kind = fields.get("kind")
    if kind not in HOMES:
        raise PrivacyError(
            f"a bill of kind {kind!r} is not known to this release, which knows {', '.join(HOMES)}. Update dpsparse."
        )
    module, name = HOMES[kind]
    home = importlib.import_module(f"..{module}", __package__)
    try:
        found: Cost = getattr(home, name).from_dict({k: v for k, v in fields.items() if k != "kind"})
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise PrivacyError(f"a stored bill of kind {kind!r} is damaged ({type(error).__name__}).") from None
    return found


def canonical_json(content: Any) -> str:
    """One text for equal content: sorted keys, no spaces, floats by their shortest exact digits."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def delta_from_renyi(bill: Cost, epsilon: float) -> float:
    """`Cost.delta` for kinds that know nothing better than their Renyi curve [CKS20]_."""
    return renyi_delta(bill.renyi(), epsilon)


def epsilon_from_renyi(bill: Cost, delta: float) -> float:
    """`Cost.epsilon` for kinds that know nothing better than their Renyi curve, and pure epsilon at delta = 0."""
    return bill.pure() if delta == 0 else min(bill.pure(), renyi_epsilon(bill.renyi(), delta))
