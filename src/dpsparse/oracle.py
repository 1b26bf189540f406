"""The vocabulary of asks: everything a solver may want to know about rows it cannot see.

An oracle holds rows (here, on disk, on workers, at sites, on devices) and answers with noise. Every door takes public
values only (an iterate, a clip, a support) and the name of an ask of the plan, charges that ask, and returns a public
answer. Nothing here assumes where the rows are.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .facts import Clip, Facts, Vector
from .privacy.budget import Budget
from .privacy.plan import Plan

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Magnitude:
    r"""Score coordinates by :math:`|b_j - \eta\,g_j|` for the mean gradient g: what a gradient step would leave there.

    Parameters
    ----------
    step : float
        :math:`\eta`; the score moves by at most this times the gradient.
    base : array or None
        :math:`b`, usually the current iterate; None is zero.
    """

    step: float = 1.0
    base: Vector | None = None


Score = Magnitude

#: The doors of an oracle, with the name of the ask that each charges unless told otherwise.
DOORS = {"gradient": "gradient", "gradient_at": "values", "select": "select"}


class Oracle(Protocol):
    """Noisy answers about rows. What comes out may be published; so may everything computed from it."""

    @property
    def facts(self) -> Facts:
        """What is public about the rows."""
        ...

    @property
    def plan(self) -> Plan:
        """What was priced, with its public choices."""
        ...

    @property
    def passes(self) -> float:
        """How many times the data has been read so far, in whole passes."""
        ...

    def scale(self, ask: str, turn: int, clip: Clip) -> float:
        """Noise of an answer in the units of a mean gradient: its standard deviation, or the scale of a selection."""
        ...

    def gradient(self, w: Vector, *, clip: Clip, ask: str = "gradient") -> Vector:
        """Mean gradient at `w`, all coordinates."""
        ...

    def gradient_at(self, w: Vector, support: Indices, *, clip: Clip, ask: str = "values") -> Vector:
        """Mean gradient at `w`, on some coordinates only, in the order of `support`."""
        ...

    def select(
        self, w: Vector, count: int, *, score: Score, clip: Clip, ask: str = "select", excluded: Indices | None = None
    ) -> Indices:
        """The `count` coordinates with the largest scores of the mean gradient at `w`, among those not excluded.

        The intercept is never a candidate.
        """
        ...


@dataclass
class Path:
    """Released iterates and what they took, for curves. Post-processing: it holds only what solvers were told.

    Attributes
    ----------
    iterates : list of arrays
    passes : list of float
        Passes over the data before each iterate.
    thresholds : list of int
        Hard-thresholding operations before each iterate.
    seconds : list of float
        Time since the start.
    """

    iterates: list[Vector] = field(default_factory=list)
    passes: list[float] = field(default_factory=list)
    thresholds: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    _start: float = field(default_factory=time.perf_counter, repr=False)

    def add(self, w: Vector, oracle: Oracle, thresholds: int = 0) -> None:
        """Keep one iterate."""
        self.iterates.append(w.copy())
        self.passes.append(oracle.passes)
        self.thresholds.append(thresholds)
        self.seconds.append(time.perf_counter() - self._start)


class Solver(Protocol):
    """A public program: what it will ask, and what it makes of the answers."""

    def plan(self, facts: Facts, budget: Budget) -> Plan:
        """Everything that `run` will ask, from public facts and the budget alone."""
        ...

    def run(self, oracle: Oracle, path: Path | None = None) -> Vector:
        """Coefficients, shape (dimension,); `path` keeps the iterates."""
        ...
