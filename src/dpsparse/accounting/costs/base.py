r"""Bills: what one entry of a ledger costs, as public data that can be stored and priced again.

A bill speaks every language in which a ledger may count: Renyi divergences, a dominating Gaussian,
delta curves and pure epsilon. It holds no number that could disagree with what it describes: prices
are computed from it each time.

A new kind of bill is a frozen dataclass with these methods and a form (`core.codec`), listed in
`_members`, and nothing else: ledgers, their files and ``verify`` work from the protocol.

References
----------
.. [CKS20] Canonne, Kamath and Steinke, NeurIPS 2020, Proposition 12: the tight Renyi to (epsilon, delta) conversion.
"""

from __future__ import annotations

from typing import Any, Protocol, cast, runtime_checkable

from ...core.adjacency import Adjacency
from ...core.codec import FormError, family, read, write_record
from ...core.curves import ORDERS, Curve, renyi_delta, renyi_epsilon
from ...core.errors import PrivacyError


@runtime_checkable
class Cost(Protocol):
    """What an entry costs. All bounds are from above, for every pair of neighbours and in both directions."""

    @property
    def adjacency(self) -> Adjacency:
        """Which datasets count as neighbours."""
        ...

    def renyi(self, orders: Curve = ORDERS) -> Curve:
        """Renyi divergences at these orders (each above 1 and finite); infinite where none is proven."""
        ...

    def pure(self) -> float:
        """Epsilon at delta = 0; infinite if no epsilon bounds it."""
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
        """The same with every rho times `factor`: more noise below 1.

        Says what would fit into a nearly empty ledger.
        """
        ...


def _members() -> tuple[type, ...]:
    """Every kind of bill."""
    from ..random_stopping import SearchCost
    from .fixed import FixedCost
    from .plan import PlanCost
    from .sum import SumCost
    from .unit import UnitCost

    return PlanCost, SumCost, SearchCost, FixedCost, UnitCost


family(Cost, _members)


def write_cost(bill: Cost) -> dict[str, Any]:
    """A bill as JSON types, with its kind."""
    if type(bill) not in _members():
        raise PrivacyError(
            f"bills of type {type(bill).__name__} have no stored form. List them in dpsparse.accounting.costs.base."
        )
    return write_record(bill)


def read_cost(content: object) -> Cost:
    """The inverse of `write_cost`."""
    try:
        return cast(Cost, read(cast(Any, Cost), content, "bill"))
    except FormError as error:
        raise PrivacyError(f"a stored bill is damaged, or of a later release: {error}") from None


def delta_from_renyi(bill: Cost, epsilon: float) -> float:
    """`Cost.delta` for kinds that know nothing better than their Renyi curve [CKS20]_."""
    return renyi_delta(bill.renyi(), epsilon)


def epsilon_from_renyi(bill: Cost, delta: float) -> float:
    """`Cost.epsilon` for kinds that know nothing better than their Renyi curve, and pure epsilon at delta = 0."""
    return bill.pure() if delta == 0 else min(bill.pure(), renyi_epsilon(bill.renyi(), delta))
