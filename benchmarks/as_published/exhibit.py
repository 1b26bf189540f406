"""What the museum shows: one published privacy claim, what is true of it, and our mechanism at the same budget."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

#: What is wrong with a claim, in one of four classes.
DEFECTS = {
    "false theorem": "the statement fails for data that its assumptions admit, whatever constant stands in it",
    "constant too small": "a larger constant in the noise mends it",
    "conditions not met": "the theorem's own conditions fail at these settings, so that it claims nothing there; the row says what its noise costs",
    "assumption or reading": "it holds under an assumption on the data that no curator can enforce, or under another reading of the text",
}
#: Kinds of knowledge about an epsilon.
EXACT = "exact"  # of a pair of neighbouring datasets that the theorem admits, computed
AT_LEAST = "at least"  # a lower bound: from an explicit pair, or from runs at a stated confidence
AT_MOST = "at most"  # what a valid accountant certifies


@dataclass(frozen=True)
class Promise:
    """A claimed budget."""

    epsilon: float
    delta: float


@dataclass(frozen=True)
class Epsilon:
    """An epsilon at the claimed delta, what kind of knowledge it is, and where it comes from."""

    value: float
    kind: str
    how: str

    def __str__(self) -> str:
        sign = {EXACT: "", AT_LEAST: ">= ", AT_MOST: "<= "}[self.kind]
        return sign + ("infinite" if math.isinf(self.value) else f"{self.value:.3g}")


@dataclass(frozen=True)
class Figure:
    """A number that was found independently, by a review of the paper or by hand, and ours for the same thing.

    `tolerance` is relative: rounding of the printed figure, and sampling error where it was simulated.
    """

    what: str
    reviewed: float
    found: float
    tolerance: float = 0.01

    @property
    def agrees(self) -> bool:
        """Whether the two are within the tolerance."""
        return abs(self.found - self.reviewed) <= self.tolerance * abs(self.reviewed)


@dataclass(frozen=True, kw_only=True)
class Exhibit:
    """One claim.

    Attributes
    ----------
    name, paper, theorem : str
        Which algorithm, who published it, and what they prove about it.
    setting : str
        Numbers of the case shown.
    claimed : Promise
        The budget the theorem states.
    noise : str
        The noise as printed.
    true : Epsilon
        At the claimed delta, for the printed mechanism.
    seen : Epsilon or None
        What running the printed mechanism in two worlds proves, at the stated confidence.
    ours : Epsilon
        Our recipe at the claimed budget, judged in the same way.
    defect : str
        Which of `DEFECTS`.
    finding : str
        What is wrong, in words.
    figures : tuple of Figure
        Numbers to compare with.
    """

    name: str
    paper: str
    theorem: str
    setting: str
    claimed: Promise
    noise: str
    true: Epsilon
    ours: Epsilon
    defect: str
    finding: str
    seen: Epsilon | None = None
    figures: tuple[Figure, ...] = ()

    @property
    def broken(self) -> bool:
        """Whether the printed noise costs more here than is claimed."""
        known = [e for e in (self.true, self.seen) if e is not None and e.kind != AT_MOST]
        return any(e.value > self.claimed.epsilon for e in known)

    @property
    def kept(self) -> bool:
        """Whether ours keeps the same promise; rounding of the last digits aside."""
        return self.ours.value <= self.claimed.epsilon * (1 + 1e-6)

    @property
    def agrees(self) -> bool:
        """Whether every figure agrees with the review."""
        return all(f.agrees for f in self.figures)

    def to_dict(self) -> dict[str, Any]:
        """Plain types, with the verdicts."""
        return asdict(self) | {"broken": self.broken, "kept": self.kept, "agrees": self.agrees}
