"""DP-IGHT: private iterative gradient hard thresholding."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ..facts import Clip, Facts
from ..privacy.budget import Budget
from ..solvers import IHT, PeeledIHT
from .base import centred, positive, whole


@dataclass(frozen=True, kw_only=True)
class DPIGHT:
    r"""Private iterative gradient hard thresholding."""

    name: ClassVar[str] = "dp_ight"
    private: ClassVar[bool] = True
    penalties: ClassVar[tuple[str, ...]] = ("l2",)
    needs: ClassVar[tuple[str, ...]] = ()

    steps: int | None = None
    step_size: float | None = None
    clip: float | None = None
    mechanism: str = "auto"
    radius: float | None = None

    def __post_init__(self) -> None:
        whole(self.steps, "steps")
        positive(self.step_size, "step_size")
        positive(self.clip, "clip")
        positive(self.radius, "radius")
        if self.mechanism not in ("auto", "dense", "peel"):
            raise ValueError(f"mechanism must be 'auto', 'dense' or 'peel', got {self.mechanism!r}.")

    def view(self, facts: Facts) -> Facts:
        return centred(facts, facts.intercept > 0)

    def solver(self, facts: Facts, budget: Budget | None):
        assert budget is not None
        s = facts.cap if facts.sparsity else 10
        s = min(s, facts.n_features)
        peel = self.mechanism == "peel" or (
            self.mechanism == "auto"
            and facts.norm_bound / facts.entry_bound > math.sqrt(s * math.log(max(facts.n_features, 2)))
        )
        R = 0.5 if facts.loss == "logistic" else facts.target_bound / 3
        C = self.clip or R * facts.norm_bound
        step = self.step_size or 1 / (facts.curvature * facts.norm_bound**2 / facts.dimension)
        T = self.steps or 6
        if peel:
            return PeeledIHT(
                sparsity=s,
                step_sizes=(step,) * T,
                clip=Clip(C, C * facts.entry_bound / facts.norm_bound),
                ridge=facts.penalty.l2,
                radius=self.radius,
            )
        return IHT(sparsity=s, step_sizes=(step,) * T, clip=Clip(C), ridge=facts.penalty.l2, radius=self.radius)

    def assumptions(self, facts: Facts) -> tuple[str, ...]:
        return ()
