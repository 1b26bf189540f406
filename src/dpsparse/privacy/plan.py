"""The plan: what a solver will ask, written down before a row is read.

A plan is data. It can be printed, stored, priced and refused; it never holds a row. Each `Ask` names a door of the
oracle, says which noise protects its answer, how often it will be used, on which rows, and which share of the budget
it takes. Shares are relative: `price` scales them all by one number until the budget is met.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from .errors import PrivacyError


class Noise(StrEnum):
    """What protects an answer."""

    GAUSSIAN = "gaussian"
    DISCRETE_GAUSSIAN = "discrete-gaussian"
    LAPLACE = "laplace"
    GUMBEL = "gumbel"
    PERMUTE_AND_FLIP = "permute-and-flip"
    NONE = "none"

    @property
    def pure(self) -> bool:
        """Whether one answer is epsilon-DP with delta = 0."""
        return self in (Noise.LAPLACE, Noise.GUMBEL, Noise.PERMUTE_AND_FLIP)


@dataclass(frozen=True)
class EveryRow:
    """Every row answers every turn."""

    def __str__(self) -> str:
        return "every row"


@dataclass(frozen=True)
class PoissonRows:
    """Each row answers a turn independently with probability `rate`; sums are divided by rate * n afterwards."""

    rate: float

    def __post_init__(self) -> None:
        if not 0 < self.rate < 1:
            raise PrivacyError(
                f"a sampling rate must lie strictly between 0 and 1, got {self.rate!r}; use EveryRow() for all rows."
            )

    def __str__(self) -> str:
        return f"each row with probability {self.rate:.6g}"


Participation = EveryRow | PoissonRows


@dataclass(frozen=True, kw_only=True)
class Ask:
    """One kind of noisy answer.

    Parameters
    ----------
    name : str
        By which the solver asks for it; unique in a plan.
    noise : Noise
        The mechanism that answers.
    times : int
        Turns: how often it will be asked.
    draws : int
        Mechanisms composed within one turn; a top-k selection is k selections.
    rows : EveryRow or PoissonRows
        Which rows answer.
    share : float
        Weight of all turns together in the budget.
    schedule : tuple of float or None
        Relative weight of each turn; None: all alike.
    """

    name: str
    noise: Noise
    times: int = 1
    draws: int = 1
    rows: Participation = EveryRow()
    share: float = 1.0
    schedule: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.times < 1 or self.draws < 1:
            raise PrivacyError(
                f"ask {self.name!r}: times and draws must be at least 1, got {self.times} and {self.draws}."
            )
        if not (math.isfinite(self.share) and self.share > 0):
            raise PrivacyError(f"ask {self.name!r}: share must be positive, got {self.share!r}.")
        if self.schedule is not None and (
            len(self.schedule) != self.times or not all(math.isfinite(v) and v > 0 for v in self.schedule)
        ):
            raise PrivacyError(f"ask {self.name!r}: schedule must hold {self.times} positive weights, one per turn.")
        if isinstance(self.rows, PoissonRows) and self.noise not in (Noise.GAUSSIAN, Noise.NONE):
            raise PrivacyError(
                f"ask {self.name!r}: sampled rows can only be priced with Gaussian noise, not {str(self.noise)!r}. Use EveryRow() or noise='lattice'."
            )

    def weights(self) -> tuple[float, ...]:
        """Weight of one draw, for each turn."""
        schedule = self.schedule or (1.0,) * self.times
        total = math.fsum(schedule)
        return tuple(self.share * v / (total * self.draws) for v in schedule)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything a solver will ask.

    Parameters
    ----------
    asks : tuple of Ask
    public : mapping
        Public choices drawn when the plan was made (an order of coordinates, a random number of steps).
    """

    asks: tuple[Ask, ...]
    public: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = [a.name for a in self.asks]
        if len(set(names)) != len(names):
            raise PrivacyError(f"a plan must not name an ask twice, got {names}.")

    def __getitem__(self, name: str) -> Ask:
        for ask in self.asks:
            if ask.name == name:
                return ask
        raise KeyError(name)

    def repeated(self, times: int) -> Plan:
        """The plan of running this one `times` times on the same rows (one model per class)."""
        if times == 1:
            return self
        asks = tuple(
            replace(
                a,
                times=a.times * times,
                share=a.share * times,
                schedule=None if a.schedule is None else a.schedule * times,
            )
            for a in self.asks
        )
        return replace(self, asks=asks)

    def with_noise(self, old: Noise, new: Noise) -> Plan:
        """The plan with one kind of noise exchanged for another."""
        return replace(self, asks=tuple(replace(a, noise=new) if a.noise is old else a for a in self.asks))
