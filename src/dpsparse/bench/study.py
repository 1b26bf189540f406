"""What a comparison consists of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, order=True)
class Cell:
    """One run of a study. Seeds fix the data, the split and the noise, so cells with one seed are paired.

    Parameters
    ----------
    data : str
        Name of the data.
    method : str
        Name of the method.
    epsilon : float
        Budget; infinity for a method without noise.
    seed : int
    at : float
        Where on another axis the run stands (a pass, a number of rows, a grid point); 0 where there is none.
    """

    data: str
    method: str
    epsilon: float
    seed: int
    at: float = 0.0


@dataclass(frozen=True)
class Claim:
    """A statement that a study decides: `better` has the smaller error than `worse` on this data at this epsilon."""

    better: str
    worse: str
    data: str
    epsilon: float
    metric: str
    at: float = 0.0

    def __str__(self) -> str:
        return f"{self.better} better than {self.worse} ({self.data}, epsilon {self.epsilon:g}, {self.metric})"


class Study(Protocol):
    """Cells, and how one of them is run. A study goes to other processes, so it holds plain values and no rows."""

    @property
    def name(self) -> str:
        """Its name on the command line; results of one name belong together."""
        ...

    @property
    def title(self) -> str:
        """What it compares, in a sentence."""
        ...

    def cells(self) -> Sequence[Cell]:
        """All runs, in the order in which they are done."""
        ...

    def run(self, cell: Cell) -> dict[str, float]:
        """Errors of one run by their names; smaller is better."""
        ...

    def claims(self) -> Sequence[Claim]:
        """What the results decide."""
        ...
