"""The table of answers: for each type of query its rule, entered by the file that answers it.

A file that looks a rule up imports `queries.rules`, which fills the table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..core.adjacency import Adjacency
from ..core.facts import Vector
from ..rows.lattice import Lattice
from ..rows.shard import Shard
from .losses import Loss
from .sensitivity import Integers, SumSpec

#: A query of the type under which it is registered. The table is keyed by types, so no annotation can name it.
Asked = Any


@dataclass(frozen=True)
class SumRule:
    """How a sum is answered.

    Parameters
    ----------
    measure : (question, lattice) -> SumSpec
        Public.
    part : (question, spec, shard, loss) -> integers
        What the rows of one shard add; run where the rows are. A sum that may be sampled takes the
        sample as one more argument.
    exact : (question, shards, loss) -> array
        The sum without lattice, clip and noise, in real units, for the exact oracle; with the
        sample, likewise.
    sampled : bool
        Whether it may be asked of a sample: bounds on pairs of records are not what sampling is
        priced with. The others cannot be given one: a sum over all rows at the price of a sample
        would break the guarantee.
    by_unit : bool
        Whether `part` bounds what all rows with the same id add together (`queries.unit_sums`). The
        others are refused where records are units.
    """

    measure: Callable[[Asked, Lattice], SumSpec]
    part: Callable[..., Integers]
    exact: Callable[..., Vector]
    sampled: bool = False
    by_unit: bool = False


@dataclass(frozen=True)
class ChoiceRule:
    """How a choice among public candidates is answered: by counts over every row, from which scores are made.

    Parameters
    ----------
    part : (question, shard, loss) -> integers
        Counts of the rows of one shard, of which each record has at most `rows.units.WEIGHTS`.
    scores : (question, counts) -> array
        Score of each candidate.
    spread : (question, relation) -> float
        How far the difference of two scores moves between neighbours. Public; refuses what it does not cover.
    by_unit : bool
        As in `SumRule`.
    """

    part: Callable[[Asked, Shard, Loss], Integers]
    scores: Callable[[Asked, Integers], Vector]
    spread: Callable[[Asked, Adjacency], float]
    by_unit: bool = False


NOT_BY_UNIT = "bounds what one row adds, and not what all rows with the same id add."
NO_LATTICE = "rows that were built without a lattice answer only the exact oracle."

SUMS: dict[type, SumRule] = {}
CHOICES: dict[type, ChoiceRule] = {}
