"""What the private recipes of rounds across sites have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..algorithms.federated import FedHT
from ..core.budget import Budget
from ..core.facts import Facts
from .base import PrivateRecipe
from .defaults.federated import LOCAL_STEPS, private_rounds
from .defaults.fields import check_positive, check_whole


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
        """Local steps and average, with the rules of the docstring."""
        return private_rounds(
            facts,
            budget,
            rounds=self.rounds,
            local_steps=self.local_steps,
            step_size=self.step_size,
            clip=self.clip,
            batch_size=batch_size,
            every_row=every_row,
            sparsity=self.sparsity,
        )
