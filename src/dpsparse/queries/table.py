"""The table of answers: for each type of query who answers it, filled by the files of this package.

A query that is a sum has a public `measure` (how far one record moves it, in which units) and a
private `partial_sum` (the integers of one shard, made where the rows are), which is asked for with
a `Charge`. Nothing else is needed to answer it on any host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core.adjacency import Adjacency
from ..core.errors import PrivacyError
from ..core.facts import Vector
from ..core.plan import PoissonRows
from ..rows.lattice import Lattice
from ..rows.row_terms import RowTerms
from ..rows.sampling import PoissonSample
from ..rows.shard import Shard
from .charge import NO_CHARGE, Charge, use
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

SUMS: dict[type, SumRule] = {}
CHOICES: dict[type, ChoiceRule] = {}


def measure(question: Asked, lattice: Lattice) -> SumSpec:
    """How a sum is counted; refuses a sum that would not fit 64-bit integers."""
    return sum_rule(question).measure(question, lattice).checked(lattice)


#: Fields in which loops move from turn to turn: measures read no more of them than their shape.
ITERATES = frozenset({"w", "anchor", "models", "offset"})


class SumSpecCache:
    """Measures of the queries of one fit; the last one of each type is kept.

    Guarantee
    ---------
    What comes back is what `measure` gives for this query: it is kept with copies of all that it
    was made from, and they are compared entry by entry.

    Parameters
    ----------
    measure : (question) -> SumSpec
        For the lattice of the fit. Of `ITERATES` it reads the shape.
    """

    def __init__(self, measure: Callable[[Asked], SumSpec]) -> None:
        self._measure = measure
        self._last: dict[type, tuple[list[Any], SumSpec]] = {}

    def of(self, question: Asked) -> SumSpec:
        """How a sum is counted."""
        parts, last = list(_parts(question)), self._last.get(type(question))
        if last is not None and len(last[0]) == len(parts) and all(map(_same, last[0], parts)):
            return last[1]
        found = self._measure(question)
        self._last[type(question)] = [np.copy(v) if isinstance(v, np.ndarray) else v for v in parts], found
        return found


def _parts(question: Asked) -> Iterator[Any]:
    """What a measure may read of a question."""
    yield type(question)
    for field in fields(question):
        value = getattr(question, field.name)
        if is_dataclass(value):
            yield from _parts(value)
        else:
            yield np.shape(value) if field.name in ITERATES else value


def _same(a: Any, b: Any) -> bool:
    """Whether two parts of a query are alike: types, numbers, arrays, shapes or None."""
    return a is b or (type(a) is type(b) and bool(np.array_equal(a, b)))


def absent_record(lattice: Lattice) -> Shard:
    """A synthetic record that is ignored: what is wrong with a query shows on it, before anything is paid."""
    facts, one = lattice.facts, np.zeros(1)
    x = sp.csr_matrix((1, facts.n_features)) if facts.sparse else np.zeros((1, facts.n_features))
    unread = np.zeros((1, -(-facts.counts_unread // 8)), dtype=np.uint8)
    bounds = (facts.offset_bound, facts.weight_bound)
    terms = RowTerms(*(None if bound is None else one for bound in bounds))
    starts = np.zeros(1, dtype=np.intp) if facts.by_unit else None
    return Shard(lattice, [(x, np.full(1, np.nan), unread, starts, terms)])


def tried(question: Asked, lattice: Lattice, shard: Shard, loss: Loss) -> SumSpec | None:
    """How a sum is counted, None of a choice; refuses a query that this shard cannot answer."""
    if type(question) in CHOICES:
        rule = CHOICES[type(question)]
        rule.scores(question, rule.part(question, shard, loss))
        return None
    spec, sampled = measure(question, lattice), sum_rule(question).sampled
    sum_rule(question).part(question, spec, shard, loss, *((None,) if sampled else ()))
    return spec


def partial_sum(charge: Charge, shard: Shard, loss: Loss) -> Integers:
    """What the rows of one shard add to the sum or the choice that was paid for."""
    sample, question = sample_of(charge), charge.summed
    rule = CHOICES.get(type(question)) or sum_rule(question)
    if shard.facts.by_unit and not rule.by_unit:
        raise PrivacyError(f"{type(question).__name__} {NOT_BY_UNIT}")
    if type(question) in CHOICES:
        return CHOICES[type(question)].part(question, shard, loss)
    return sum_rule(question).part(question, charge.spec, shard, loss, *sample)


def exact_sum(charge: Charge, shards: Sequence[Shard], loss: Loss) -> Vector:
    """The sum without lattice, clip and noise, in real units: for the exact oracle. Uses the charge."""
    use(charge)
    sample, question = sample_of(charge), charge.summed
    return sum_rule(question).exact(question, shards, loss, *sample)


def sample_of(charge: Charge) -> tuple[PoissonSample | None, ...]:
    """Who answers, for a rule that may be sampled; nothing for one that may not.

    Refuses what is no charge, and one whose sample is not what was priced.
    """
    if not isinstance(charge, Charge):
        raise PrivacyError(NO_CHARGE)
    name, rule = type(charge.summed).__name__, SUMS.get(type(charge.summed))
    if isinstance(charge.ask.rows, PoissonRows) is not (charge.sample is not None):
        raise PrivacyError(f"{name} was priced for other rows than those which would answer.")
    if rule is not None and rule.sampled:
        return (charge.sample,)
    if charge.sample is not None:
        raise PrivacyError(f"{name} is a sum over every row and was asked of a sample.")
    return ()


def sum_rule(question: Asked) -> SumRule:
    """The rule of a sum."""
    if type(question) not in SUMS:
        raise TypeError(f"no sum answers {type(question).__name__}.")
    return SUMS[type(question)]
