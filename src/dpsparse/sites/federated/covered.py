"""Whether a statement guarantees no more than its bill covers.

Every number in it that is repeated to people is priced again.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache

import numpy as np

from ...accounting import Cost, PlanCost
from ...accounting.costs.base import read_cost, write_cost
from ...accounting.draws import TurnCost
from ...core import PoissonRows, PrivacyError, Statement
from ...core.codec import canonical_json
from ...core.statement import COST_NAMES

#: By what part of itself a stated epsilon may be below that of its bill: searches may end elsewhere
#: in other releases of NumPy and SciPy, and statements print six digits.
TOLERANCE = 1e-6
#: The same for numbers that no search finds: space for the rounding of sums and quotients.
ROUNDING = 1e-12


def covered(said: Statement, bill: Cost) -> bool:
    """Whether a statement guarantees no more than its bill.

    Epsilon, rho, mu and the cost of each ask in the statement must be at least those of its bill,
    and all else that it says of its asks must be the same.

    False for bills whose draws are not known, and for numbers that no accountant takes.
    """
    if not isinstance(bill, PlanCost) or not 0 < said.delta < 1 or len(said.asks) != len(bill.plan.asks):
        return False
    try:
        costs = bill.account.costs
        exact = [(costs.rho, said.rho), (costs.mu, said.mu)]
        for ask, told in zip(bill.plan.asks, said.asks, strict=True):
            rate = ask.rows.rate if isinstance(ask.rows, PoissonRows) else 1.0
            drawn = TurnCost(ask.noise, bill.rho_scale * ask.weights()[0], rate, ask.offset).strength
            own = replace(
                told,
                name=ask.name,
                times=ask.times,
                draws=ask.draws,
                noise=str(ask.noise),
                rate=rate,
                offset=ask.offset,
                cost_name=COST_NAMES[ask.noise],
                part="",
            )
            if told != own:
                return False
            exact += [(drawn, told.cost), (drawn, told.sensitivity / told.scale)]
        if not all(least <= stated * (1 + ROUNDING) for least, stated in exact):
            return False
        return epsilon_of(bill, said.delta) <= said.epsilon * (1 + TOLERANCE)
    except (PrivacyError, ValueError, TypeError, ArithmeticError):
        return False


def epsilon_of(bill: Cost, delta: float) -> float:
    """What a bill costs at `delta`, priced again; once for equal bills, which sites of one protocol often have."""
    return _priced(canonical_json(write_cost(bill)), delta)


@lru_cache(maxsize=1024)
def _priced(bill: str, delta: float) -> float:
    with np.errstate(all="ignore"):  # a bill may hold any number
        return read_cost(json.loads(bill)).epsilon(delta)
