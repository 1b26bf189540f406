"""Who answers a plan."""

from __future__ import annotations

from ..accounting.pricing import PricedPlan
from ..core.mechanisms import Randomness
from ..core.plan import Plan
from ..queries.losses import Loss
from ..rows.hosts import Host
from .central import CentralOracle
from .exact import ExactOracle
from .gate import PaymentLike, ProgressCallback
from .local import LocalOracle


def make_oracle(
    host: Host,
    loss: Loss,
    plan: PricedPlan | Plan,
    randomness: Randomness,
    payment: PaymentLike | None = None,
    watcher: ProgressCallback | None = None,
) -> CentralOracle | LocalOracle | ExactOracle:
    """Who answers: people themselves where each speaks once, otherwise a trusted curator.

    Nobody protects a plan without a price.
    """
    if isinstance(plan, Plan):
        return ExactOracle(host, loss, plan, randomness.generator(), payment, watcher)
    kind = LocalOracle if plan.plan.local else CentralOracle
    return kind(host, loss, plan, randomness, payment, watcher)
