"""How queries are answered: for each type its sensitivity, which is public, and its part, made where the rows are.

A query that is a sum has a public `measure` (how far one record moves it, in which units) and a
private `partial_sum` (the integers of one shard, made where the rows are), which is asked for with
a `Charge`. Nothing else is needed to answer it on any host. Rules of sums and choices are entered in
the table by the files that are imported here. Minimisers are no sums: their rules are in this file, and
their proofs in `queries.minimisers`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core.errors import PrivacyError
from ..core.facts import Projection, Vector
from ..core.plan import PoissonRows
from ..rows.lattice import Lattice
from ..rows.row_terms import RowTerms
from ..rows.sampling import PoissonSample
from ..rows.shard import Shard
from . import (  # noqa: F401  fill the table
    cells,
    choices,
    columns,
    contrast,
    framed,
    gradient,
    inference,
    polish,
    tallies,
    weighted,
)
from .charge import NO_CHARGE, Charge, use
from .kinds import PerturbedMinimum, RidgeMinimum, Select
from .losses import Loss
from .minimisers import MinimiserSpec, exact_minimum, perturbed_spec, ridge_spec
from .scores import candidates_of, scores_of
from .sensitivity import Integers, SumSpec
from .table import CHOICES, NO_LATTICE, NOT_BY_UNIT, SUMS, Asked, ChoiceRule, SumRule

__all__ = [
    "CHECKED",
    "CHOICES",
    "MINIMA",
    "SUMS",
    "Charge",
    "ChoiceRule",
    "MinimumRule",
    "SumRule",
    "SumSpec",
    "SumSpecCache",
    "absent_record",
    "exact_sum",
    "measure",
    "partial_sum",
    "sum_rule",
    "try_out",
    "use",
]


@dataclass(frozen=True)
class MinimumRule:
    """How a minimiser is answered.

    Parameters
    ----------
    measure : (question, loss, n_rows, strength) -> (float, float, MinimiserSpec)
        Sensitivity and strength of the priced noise, and how the values are released: public.
        Refuses what has no proof.
    exact : (charge, shards, loss) -> array
        Without clip, tilt or noise.
    """

    measure: Callable[[Asked, Loss, int, float], tuple[float, float, MinimiserSpec]]
    exact: Callable[[Charge, Sequence[Shard], Loss], Vector]


def ridge_exact(charge: Charge, shards: Sequence[Shard], loss: Loss) -> Vector:
    """The minimiser, or its labels of the public rows."""
    theta, design = exact_minimum(charge, shards, loss), charge.query.design
    return theta if design is None else design @ theta


MINIMA: dict[type, MinimumRule] = {
    PerturbedMinimum: MinimumRule(perturbed_spec, exact_minimum),
    RidgeMinimum: MinimumRule(ridge_spec, ridge_exact),
}


def measure(question: Asked, lattice: Lattice) -> SumSpec:
    """How a sum is counted; refuses a sum that would not fit 64-bit integers."""
    found = sum_rule(question).measure(question, lattice)
    lattice.check_record(found.record)
    return found


#: Fields in which loops move from turn to turn: measures read no more of them than their shape.
ITERATES = frozenset({"w", "anchor", "models", "offset"})
#: And those of a query itself whose values a measure has checked: what is left to fail on a record is their shape.
CHECKED = ITERATES | {"support", "weights", "excluded", "base"}


class SumSpecCache:
    """Measures of the queries of one fit; the last one of each type is kept.

    Guarantee
    ---------
    What comes back is what `measure` gives for this query: it is kept with copies of all that it
    was made from, and they are compared entry by entry. Frames are such copies themselves.

    Parameters
    ----------
    loose : set of str
        Fields of which a measure reads the shape alone.
    """

    def __init__(self, loose: frozenset[str] = ITERATES) -> None:
        self._loose = loose
        self._last: dict[type, tuple[list[object], Any]] = {}

    def known(self, question: Asked) -> tuple[object, Any] | None:
        """What is kept of a query like this one, and last its measure; None where the last of its type was another."""
        last = self._last.get(type(question))
        if last is None:
            return None
        parts = _parts(question, self._loose)
        return last if len(last[0]) == len(parts) and all(map(_same, last[0], parts)) else None

    def keep(self, question: Asked, found: Any = None) -> Any:
        """Keep what a measure, which is the same in every call, made of a query; gives it back."""
        parts = _parts(question, self._loose)
        self._last[type(question)] = [np.copy(v) if isinstance(v, np.ndarray) else v for v in parts], found
        return found


_NAMES: dict[type, tuple[str, ...] | None] = {}


def _names(kind: type) -> tuple[str, ...] | None:
    """Fields of a dataclass; None for other types."""
    if kind not in _NAMES:
        _NAMES[kind] = tuple(field.name for field in fields(kind)) if is_dataclass(kind) else None
    return _NAMES[kind]


def _parts(question: Asked, loose: frozenset[str]) -> list[object]:
    """What a measure may read of a query; of models and frames inside it everything but `ITERATES`."""
    found: list[object] = [type(question)]
    for name in _names(type(question)) or ():
        value = getattr(question, name)
        if type(value) is not Projection and _names(type(value)) is not None:
            found += _parts(value, loose if name in ("of", "score") else ITERATES)
        elif name in loose:
            found.append(() if isinstance(value, float) else np.shape(value))
        else:
            found.append(value)
    return found


def _same(a: object, b: object) -> bool:
    """Whether two parts of a query are alike: types, numbers, arrays, frames, shapes or None."""
    if a is b and not isinstance(a, np.ndarray):  # arrays may hold what is not a number
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b)  # type: ignore[arg-type]
    return a.same(b) if isinstance(a, Projection) else bool(a == b)  # type: ignore[arg-type]


def absent_record(lattice: Lattice) -> Shard:
    """A synthetic record that is ignored: what is wrong with a query shows on it, before anything is paid."""
    facts, one = lattice.facts, np.zeros(1)
    x = sp.csr_matrix((1, facts.n_features)) if facts.sparse else np.zeros((1, facts.n_features))
    unread = np.zeros((1, -(-facts.counts_unread // 8)), dtype=np.uint8)
    bounds = (facts.offset_bound, facts.weight_bound)
    terms = RowTerms(*(None if bound is None else one for bound in bounds))
    starts = np.zeros(1, dtype=np.intp) if facts.by_unit else None
    return Shard(lattice, [(x, np.full(1, np.nan), unread, starts, terms)])


def try_out(question: Asked, spec: SumSpec | None, shard: Shard, loss: Loss) -> None:
    """Answer a query for a synthetic shard: what it refuses then costs no turn.

    `spec` is how its sum is counted, or that of a selection; None for a choice.
    """
    if type(question) is Select:
        try_out(question.of, spec, shard, loss)
        assert spec is not None
        candidates_of(question, scores_of(question.score, np.zeros(spec.size), shard.facts.free))
    elif type(question) in CHOICES:
        choice = CHOICES[type(question)]
        choice.scores(question, choice.part(question, shard, loss))
    else:
        assert spec is not None
        rule = sum_rule(question)
        rule.part(question, spec, shard, loss, *((None,) if rule.sampled else ()))


def partial_sum(charge: Charge, shard: Shard, loss: Loss) -> Integers:
    """What the rows of one shard add to the sum or the choice that was paid for."""
    sample, question = sample_of(charge), charge.summed
    rule = CHOICES.get(type(question)) or sum_rule(question)
    if shard.facts.by_unit and not rule.by_unit:
        raise PrivacyError(f"{type(question).__name__} {NOT_BY_UNIT}")
    if isinstance(rule, ChoiceRule):
        return rule.part(question, shard, loss)
    if shard.lattice.exact:
        raise TypeError(NO_LATTICE)
    return rule.part(question, charge.spec, shard, loss, *sample)


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
