"""What a user-supplied solver sees of its oracle: the public interface alone.

Guarantee
---------
Anyone who holds `GuardedOracle` can ask, and read public numbers; other attributes are refused, and
remembered (`violations`). Queries are copied before they are passed on, into exact types of ours
that hold plain numbers and arrays: what is measured is what is computed, and nothing that was kept
can change it in between. Facts, plan and terms are copies too, so that nothing which the oracle
goes by can be changed from outside. Python has ways around any wall: this one holds accidents, and
names them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import NoReturn, cast

import numpy as np
import scipy.sparse as sp

from ..core.errors import PrivacyError, PrivacyLeakError
from ..core.facts import Facts
from ..core.plan import Plan
from ..core.statement import Receipt
from ..queries.kinds import NoiseInfo, Oracle, Query, Released, questions

#: What queries are made of, beside numbers, texts and arrays.
PARTS = frozenset(cast(list[type], [kind for kind in vars(questions).values() if is_dataclass(kind)]))
#: Fields of facts that may be arrays.
ARRAYS = ("lower", "upper", "shift", "start", "means", "groups")


class GuardedOracle(Oracle):
    """The public interface of another oracle, and nothing else: reading any other attribute names the leak."""

    def __init__(self, inner: Oracle) -> None:
        self.facts = copy_facts(inner.facts)
        self.__inner = inner
        self.__violations: list[str] = []
        self.__plans: tuple[Plan, Plan] | None = None

    @property
    def violations(self) -> tuple[str, ...]:
        """What was read outside the public interface."""
        return tuple(self.__violations)

    @property
    def plan(self) -> Plan:  # type: ignore[override]
        """What may be asked from here on: a copy, so that changing it changes nothing."""
        now = self.__inner.plan
        if self.__plans is None or self.__plans[0] is not now:
            self.__plans = now, copy.deepcopy(now)
        return self.__plans[1]

    @property
    def passes(self) -> float:  # type: ignore[override]
        """How often the data has been read."""
        return float(self.__inner.passes)

    def answer(self, question: Query, ask: str) -> Released:
        """Pass a copy of the query on."""
        return self.__inner.answer(copy_question(question), ask)

    @property
    def terms(self) -> NoiseInfo:
        """Public numbers."""
        return GuardedNoiseInfo(self.__inner.terms)

    @property
    def unused_turns(self) -> dict[str, int]:
        """Pass on."""
        return self.__inner.unused_turns

    @property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override]
        """Those of the oracle."""
        return self.__inner.choices

    @property
    def receipts(self) -> list[Receipt]:
        """A copy of the list."""
        return list(self.__inner.receipts)

    def deviation(self, question: Query, ask: str, turn: int) -> float:
        """Pass a copy of the query on."""
        return float(self.__inner.deviation(copy_question(question), ask, turn))

    def take_branch(self, branch: str) -> None:
        """Pass on."""
        self.__inner.take_branch(branch)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        self.__violations.append(name)
        raise PrivacyLeakError(_peek(name))

    def __reduce__(self) -> NoReturn:
        raise TypeError("an oracle holds rows and is not copied or stored.")


class GuardedNoiseInfo:
    """Public numbers about answers, and nothing that they are computed from."""

    def __init__(self, inner: NoiseInfo) -> None:
        self.__inner = inner

    @property
    def plan(self) -> Plan:
        """What may be asked."""
        return copy.deepcopy(self.__inner.plan)

    def branch(self, name: str) -> GuardedNoiseInfo:
        """The terms once a branch of the plan is taken."""
        return GuardedNoiseInfo(self.__inner.branch(name))

    def deviation(self, question: Query, ask: str, turn: int) -> float:
        """Standard deviation of the noise in every number of an answer."""
        return self.__inner.deviation(copy_question(question), ask, turn)


def refuse_violations(doors: GuardedOracle) -> None:
    """Refuse a solver that read another attribute, also where it went on without it."""
    if doors.violations:
        raise PrivacyLeakError(_peek(doors.violations[0]))


def copy_question(question: Query) -> Query:
    """A query of the same kind with copies of its numbers; refuses what is no query of ours in all its parts.

    Examples
    --------
    >>> from dpsparse.queries.kinds import Gradient
    >>> from dpsparse.core.facts import Clip
    >>> copy_question(Gradient(np.zeros(2), Clip(1.0))).w
    array([0., 0.])
    """
    if type(question) not in PARTS:
        raise TypeError(f"nothing answers {type(question).__name__}.")
    return cast(Query, _copied(question))


def copy_facts(facts: Facts) -> Facts:
    """Facts with arrays of their own."""
    return facts.with_(**{name: _array(getattr(facts, name)) for name in ARRAYS})


def _copied(value: object) -> object:
    """A copy of a part of a query, by its exact type."""
    kind = type(value)
    if kind in PARTS:
        return kind(**{f.name: _copied(getattr(value, f.name)) for f in fields(value)})  # type: ignore[arg-type]
    if kind in COPIES:
        return COPIES[kind](value)
    if isinstance(value, np.generic):
        return _copied(value.item())
    raise PrivacyError(
        f"a query holds something of type {kind.__name__}. Queries are made of numbers, texts "
        "and arrays of numbers, and of "
        "clips, models and scores of dpsparse."
    )


def _array(value: object) -> object:
    """A copy of an array that nobody can change; anything else as it is."""
    if type(value) is not np.ndarray:
        return value
    if value.dtype.kind not in "biuf":
        raise PrivacyError("a query holds an array of something else than numbers.")
    own = value.copy()
    own.flags.writeable = False
    return own


def _as_it_is(value: object) -> object:
    return value


def _sparse(value: sp.csr_matrix) -> sp.csr_matrix:
    return value.copy()


#: How values that queries hold are copied, by their exact types.
COPIES: dict[type, Callable[..., object]] = {
    **dict.fromkeys((bool, int, float, str, type(None)), _as_it_is),
    **dict.fromkeys((sp.csr_matrix, sp.csr_array), _sparse),
    np.ndarray: _array,
}


def _peek(name: str) -> str:
    return (
        f"violations: the solver reads oracle.{name}, which is not public: rows, exact sums "
        "and randomness are there. "
        "Ask for a noisy answer, and put it in the plan."
    )
