"""What the private recipes of rounds across sites have in common: how many rounds of how many local steps.

The path of a site is that of DP-SGD-HT (`defaults.schedules`), cut into rounds: the same clip, the same
path, the same pace within a round. The noise that matters is that of *one* site, since each site
thresholds its own model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ..algorithms.federated import FedHT
from ..algorithms.sgd import SGD
from ..core.budget import Budget
from ..core.facts import Facts, Penalty
from ..core.plan import EveryRow
from .base import PrivateRecipe, check_positive, check_whole
from .defaults.schedules import DefaultSchedule, batches, default_rate, default_turns
from .defaults.sparsity import kept

#: Local steps of a round in [L22]_, section 6.4.
LOCAL_STEPS = 10


@dataclass(frozen=True, kw_only=True)
class PrivateRounds(PrivateRecipe):
    """Rounds of K private local steps; `DPFedSGDHT` says what the parameters mean."""

    penalties: ClassVar[tuple[str, ...]] = ("l2",)

    rounds: int | None = None
    local_steps: int = LOCAL_STEPS
    step_size: float | None = None
    clip: float | None = None
    sparsity: int | None = None

    def __post_init__(self) -> None:
        for name in ("rounds", "local_steps", "sparsity"):
            check_whole(getattr(self, name), name)
        check_positive(self.step_size, "step_size")
        check_positive(self.clip, "clip")

    def loop(self, facts: Facts, budget: Budget, batch_size: float | None, *, every_row: bool) -> FedHT:
        """The loop, with the rules of `DefaultSchedule` for fields that are None."""
        count = kept(self.sparsity, facts, budget)
        times = self.rounds or max(1, math.ceil(default_turns(facts, budget, count) / self.local_steps))
        turns = times * self.local_steps
        path = DefaultSchedule.of(facts, budget, count, turns, self.clip, self.step_size)
        local = SGD(
            step_sizes=(path.piece,) * self.local_steps,
            clip=path.clip,
            rows=EveryRow() if every_row else batches(batch_size, facts, default_rate(budget, turns)),
            sparsity=count,
            penalty=Penalty(kind="l2", alpha=facts.penalty.l2),
            step_rule=path.step_rule,
        )
        return FedHT(local=local, rounds=times, sparsity=count)
