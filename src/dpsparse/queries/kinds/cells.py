"""Queries about rows that were scored by a public model.

How many there are in each public cell, and how they fared there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...core.facts import Vector

NO_EDGES = np.zeros(0)


@dataclass(frozen=True, eq=False)
class Cells:
    """A public partition of scored rows: by group, by class, and by where the first margin lies.

    Parameters
    ----------
    margins : array of int
        Columns that hold a model's margins: one for numbers or two classes, otherwise one for each
        class.
    rests : array of int or None
        Columns of what the lattice of rows cuts off the margins, enlarged; `scale` times it belongs
        to the margin. None: nothing.
    scale : float
    group : int or None
        Column that holds the number of a row's group; rows with any other number are in no cell.
    groups : int
        Number of groups.
    classes : int
        Number of classes that are distinguished, coded 0, 1, ...; rows with any other target are in no
        cell. 1: not distinguished.
    edges : array
        Increasing. Bin k holds margins from edge k - 1 on and below edge k; there is one bin more
        than edges.
    """

    margins: NDArray[np.intp]
    rests: NDArray[np.intp] | None = None
    scale: float = 0.0
    group: int | None = None
    groups: int = 1
    classes: int = 1
    edges: Vector = field(default_factory=lambda: NO_EDGES)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Groups, classes and bins, in the order of the answer."""
        return self.groups, self.classes, self.edges.size + 1

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.groups * self.classes * (self.edges.size + 1)


@dataclass(frozen=True, eq=False)
class CellCounts:
    """Number of rows in each cell, over the public number of rows."""

    cells: Cells


@dataclass(frozen=True, eq=False)
class CellMoments:
    r"""Sum over the rows of each cell of t and of :math:`t^2 - \tfrac12`, over the public number of rows.

    T in [-1, 1] says how well a row was predicted.

    The answer holds the sums of t of all cells and then, with `squares`, those of
    :math:`t^2 - \tfrac12`.

    Parameters
    ----------
    cells : Cells
    value : {"correct", "log-loss", "brier", "absolute", "squared", "target", "excess", "place"}
        ``correct``: 1 for the right class, else -1. ``log-loss``, ``brier``, ``absolute`` and
        ``squared``: :math:`2\min(\ell, B)/B - 1` for a loss of the prediction. ``target``:
        :math:`y/B`. ``excess``: :math:`(r^2 - c(y-\mu)^2)/B` for the residual r. ``place``: where
        in its bin the probability of the second class lies, from -1 at its lower end to 1 at its
        upper end. Whatever is beyond [-1, 1] is clipped to it.
    top : float
        B.
    centre, ratio : float
        :math:`\mu` and c of ``excess``.
    squares : bool
    within : float
        Predictions of numbers are clipped to [-within, within].
    """

    cells: Cells
    value: str
    top: float = 1.0
    centre: float = 0.0
    ratio: float = 0.0
    squares: bool = True
    within: float = math.inf
