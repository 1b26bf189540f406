"""The till: charges an ask before anything is computed, and keeps the receipts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..core.errors import NotPricedError
from ..core.plan import Ask, Noise, Plan
from ..core.statement import Receipt


class PaymentLike(Protocol):
    """Who pays for a plan."""

    def start(self) -> None:
        """Make it durable that answers begin; called before every answer, and must hold before the first."""
        ...


#: Told the name of every ask that is charged, for progress bars.
ProgressCallback = Callable[[str], None]


class Till:
    """Counts the turns of a plan.

    Parameters
    ----------
    plan : Plan
    payment : Payment, optional
        Started before the first answer is computed.
    watcher : callable, optional
        Told of every charge. Nothing depends on it.

    Guarantee
    ---------
    `charge` raises before anything is looked at when an ask is not in the plan, or all its turns are used. A turn that
    was charged is spent, whatever happens afterwards; and the payment is durable before anything is computed.
    """

    def __init__(self, plan: Plan, payment: PaymentLike | None = None, watcher: ProgressCallback | None = None) -> None:
        if plan.models > 1:
            raise NotPricedError(
                "this plan was priced for several models: each of them runs its own plan at that price."
            )
        self.plan = plan
        self.answers: list[Receipt] = []
        self._used = {a.name: 0 for a in plan.asks}
        self._payment = payment
        self._watcher = watcher

    def next(self, name: str) -> tuple[Ask, int]:
        """The ask and the turn that `charge` would pay for; charges nothing, and refuses what was not priced."""
        if name not in self._used:
            raise NotPricedError(f"the plan has no ask {name!r}; it holds {sorted(self._used)}. Add it in plan(facts).")
        ask, turn = self.plan[name], self._used[name]
        if turn >= ask.times:
            raise NotPricedError(
                f"ask {name!r} was priced for {ask.times} turns and all are used. Price more turns in plan(facts)."
            )
        step = sum(self._used.values())
        if self.plan.order and self.plan.order[step] != name:
            raise NotPricedError(
                f"the plan was priced in an order, and {self.plan.order[step]!r} comes next, not {name!r}."
            )
        return ask, turn

    def charge(self, name: str) -> tuple[Ask, int]:
        """Pay for one turn; returns the ask and its turn."""
        ask, turn = self.next(name)
        self._used[name] = turn + 1
        if self._payment is not None:
            self._payment.start()
        if self._watcher is not None:
            self._watcher(name)
        return ask, turn

    def take_branch(self, branch: str) -> None:
        """Go on with a branch of the plan, once everything before it was asked."""
        if any(self._used[a.name] < a.times for a in self.plan.asks):
            raise NotPricedError(
                f"branch {branch!r} was chosen before all asks of its plan were used: {self.unused_turns}."
            )
        self.plan = self.plan.branch(branch)
        self._used = {a.name: 0 for a in self.plan.asks}

    def receipt(self, answer: Receipt) -> None:
        """Keep what was drawn."""
        self.answers.append(answer)

    @property
    def unused_turns(self) -> dict[str, int]:
        """Turns that were priced and not asked for. Exact turns have no price: a loop without privacy may stop when it has converged."""
        priced = [a for a in self.plan.asks if a.noise is not Noise.NONE]
        left = {a.name: a.times - self._used[a.name] for a in priced if self._used[a.name] < a.times}
        return left | ({"one of the branches": 1} if self.plan.branches else {})
