"""Watching a solver: which attributes of its oracle it reads, and which arrays it brought along."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import NoReturn

import numpy as np
import scipy.sparse as sp

from ..oracle import Oracle, Question, Terms, Told
from ..privacy import Answer, Plan

#: Sparse matrices of both kinds.
Sparse = (sp.spmatrix, sp.sparray)

#: Methods of a solver that may refer to things outside of it.
METHODS = ("plan", "run")


class LawBroken(AssertionError):
    """A law does not hold; the message says which one and what to look for."""


class WatchedOracle(Oracle):
    """The doors of another oracle, and nothing behind them: reading anything else names the leak."""

    def __init__(self, inner: Oracle) -> None:
        self.facts = inner.facts
        self.__inner = inner

    @property
    def plan(self) -> Plan:  # type: ignore[override]
        """What may be asked from here on."""
        return self.__inner.plan

    @property
    def passes(self) -> float:  # type: ignore[override]
        """How often the data has been read."""
        return float(self.__inner.passes)

    def answer(self, question: Question, ask: str) -> Told:
        """Pass on."""
        return self.__inner.answer(question, ask)

    @property
    def terms(self) -> Terms:
        """Public numbers."""
        return self.__inner.terms

    @property
    def unused(self) -> dict[str, int]:
        """Pass on."""
        return self.__inner.unused

    @property
    def receipts(self) -> list[Answer]:
        """Pass on."""
        return self.__inner.receipts

    def deviation(self, question: Question, ask: str, turn: int) -> float:
        """Pass on."""
        return float(self.__inner.deviation(question, ask, turn))

    def choose(self, branch: str) -> None:
        """Pass on."""
        self.__inner.choose(branch)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise LawBroken(
            f"peeks: the solver reads oracle.{name}, which is behind the doors: rows, exact sums and randomness are there. "
            "Ask for a noisy answer, and put it in the plan."
        )


def check_brings_no_rows(solver: object, X: object, y: object) -> None:
    """Refuse a solver that holds the data: as a field, in a closure, or as a global that its methods use.

    Replay and swap cannot see such a solver: what it brought along stays the same when the oracle's data changes.
    """
    for where, value in _brought(solver):
        for what, data in (("X", X), ("y", y)):
            if _equal(value, data):
                raise LawBroken(
                    f"brings rows: {where} holds {what} itself. A solver may know public facts and what its oracle answers, so "
                    "that everything it does is post-processing; take what it needs as an ask."
                )


def _brought(solver: object) -> Iterator[tuple[str, object]]:
    for name, value in getattr(solver, "__dict__", {}).items():
        yield f"field {name!r}", value
    for method in METHODS:
        function = getattr(getattr(solver, method, None), "__func__", None)
        if isinstance(function, FunctionType):
            for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
                yield f"variable {name!r} of {method}()", cell.cell_contents
            for name in _names(function.__code__):
                if name in function.__globals__:
                    yield f"global {name!r} of {method}()", function.__globals__[name]


def _names(code: CodeType) -> Iterator[str]:
    """Globals that a function and the functions inside it look up."""
    yield from (i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME"))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _equal(value: object, data: object) -> bool:
    if value is data:
        return True
    if isinstance(value, Sparse) and isinstance(data, Sparse):
        return bool(value.shape == data.shape and not (value != data).nnz)
    if not isinstance(value, np.ndarray) or isinstance(data, Sparse):
        return False
    held = np.asarray(data)
    return held.shape[0] >= 2 and value.shape == held.shape and bool(np.array_equal(value, held))
