"""What is held against what: one line of the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Line:
    """A measured figure beside its goal.

    `most` and `least` are the goal; None where a figure is told without one.
    """

    goal: int
    what: str
    value: float
    unit: str
    most: float | None = None
    least: float | None = None
    note: str = ""

    @property
    def reached(self) -> bool | None:
        """Whether the goal is reached; None where there is none."""
        if self.most is None and self.least is None:
            return None
        return (self.most is None or self.value <= self.most) and (self.least is None or self.value >= self.least)

    def to_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return asdict(self) | {"reached": self.reached}


@dataclass(frozen=True)
class Settings:
    """What every part is told: how often, where peers are, and how large."""

    repeats: int
    peers: str | None
    quick: bool


Part = Callable[[Settings], list[Line]]
