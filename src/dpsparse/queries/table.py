"""The table of answers: for each type of question who answers it, filled by the files of this room.

A question that is a sum has a public `measure` (how far one record moves it, in which units) and a private `partial_sum` (the integers of
one shard, made where the rows are). Nothing else is needed to answer it on any host. Other families stand in tables of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..core.adjacency import Adjacency
from ..core.errors import PrivacyError
from ..core.facts import Vector
from ..rows.lattice import Lattice
from ..rows.sampling import PoissonSample
from ..rows.shard import Shard
from .losses import Loss
from .sensitivity import Integers, SumSpec

#: A question of the type under which it is registered. The table is keyed by types, so no annotation can name it.
Asked = Any


@dataclass(frozen=True)
class SumRule:
    """How a sum is answered.

    Parameters
    ----------
    measure : (question, lattice) -> Measure
        Public.
    part : (question, shard, loss, draw) -> integers
        What the rows of one shard add; run where the rows are.
    exact : (question, shards, loss, draw) -> array
        The sum without lattice, clip and noise, in real units, for the exact oracle.
    sampled : bool
        Whether it may be asked of a sample: bounds on pairs of records are not what sampling is priced with. The others refuse a draw:
        a sum over all rows at the price of a sample would break the guarantee.
    read : (question) -> tuple, optional
        All that `measure` reads of a question: where loops ask the same again at another iterate, it is not measured again.
    """

    measure: Callable[[Asked, Lattice], SumSpec]
    part: Callable[[Asked, Shard, Loss, PoissonSample | None], Integers]
    exact: Callable[[Asked, Sequence[Shard], Loss, PoissonSample | None], Vector]
    sampled: bool = False
    read: Callable[[Asked], tuple[Any, ...]] | None = None

    def __post_init__(self) -> None:
        if not self.sampled:
            object.__setattr__(self, "part", partial(_of_every_row, self.part))
            object.__setattr__(self, "exact", partial(_of_every_row, self.exact))


@dataclass(frozen=True)
class ChoiceRule:
    """How a choice among public candidates is answered: by counts, from which scores are made.

    Parameters
    ----------
    part : (question, shard, loss, draw) -> integers
        Counts of the rows of one shard.
    scores : (question, counts) -> array
        Score of each candidate.
    spread : (question, relation) -> float
        How far the difference of two scores moves between neighbours. Public; refuses what it does not cover.
    """

    part: Callable[[Asked, Shard, Loss, PoissonSample | None], Integers]
    scores: Callable[[Asked, Integers], Vector]
    spread: Callable[[Asked, Adjacency], float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "part", partial(_of_every_row, self.part))


def _of_every_row(
    compute: Callable[..., Any], question: Asked, rows: Any, loss: Loss, draw: PoissonSample | None
) -> Any:
    """What a rule of all rows computes; refuses a draw."""
    if draw is not None:
        raise PrivacyError(f"{type(question).__name__} is a sum over every row and was asked of a sample.")
    return compute(question, rows, loss, draw)


SUMS: dict[type, SumRule] = {}
CHOICES: dict[type, ChoiceRule] = {}


def measure(question: Asked, lattice: Lattice) -> SumSpec:
    """How a sum is counted; refuses a sum that would not fit 64-bit integers."""
    return sum_rule(question).measure(question, lattice).checked(lattice)


class SumSpecCache:
    """Measures of the questions of one fit; the last one is kept.

    Guarantee
    ---------
    What comes back is what `measure` gives for this question: it is kept with copies of all that it was made from, and they are compared
    entry by entry.

    Parameters
    ----------
    measure : (question) -> Measure
        For the lattice of the fit.
    """

    def __init__(self, measure: Callable[[Asked], SumSpec]) -> None:
        self._measure = measure
        self._last: tuple[type, tuple[Any, ...], SumSpec] | None = None

    def of(self, question: Asked) -> SumSpec:
        """How a sum is counted."""
        read = sum_rule(question).read
        if read is None:
            return self._measure(question)
        parts = read(question)
        if self._last is not None and self._last[0] is type(question) and all(map(_same, self._last[1], parts)):
            return self._last[2]
        found = self._measure(question)
        self._last = type(question), tuple(np.copy(v) if isinstance(v, np.ndarray) else v for v in parts), found
        return found


def _same(a: Any, b: Any) -> bool:
    """Whether two parts of a question are alike: numbers, arrays or None."""
    return a is b or (a is not None and b is not None and np.array_equal(a, b))


def partial_sum(question: Asked, shard: Shard, loss: Loss, draw: PoissonSample | None) -> Integers:
    """What the rows of one shard add to the answer of a sum or a choice."""
    rule = CHOICES.get(type(question)) or sum_rule(question)
    return rule.part(question, shard, loss, draw)


def sum_rule(question: Asked) -> SumRule:
    """The rule of a sum."""
    if type(question) not in SUMS:
        raise TypeError(f"no sum answers {type(question).__name__}.")
    return SUMS[type(question)]
