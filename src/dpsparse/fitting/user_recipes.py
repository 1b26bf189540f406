"""Recipes of others: what they may say before rows come, and what they may bring along.

Guarantee
---------
A plan of a recipe that is not ours is written out and read back before it is priced: turns are
counted, priced and given noise by the same plain numbers. It may not call a number of turns
drawn by chance, since a price by the law of a draw does not cover a number that somebody picked. A
view may move rows and choose the height of the intercept, and may change nothing else that is
public about them. A recipe or loss must not hold the private rows. That is found by identity of
memory and never by comparing values, so that no refusal depends on a value; a copy, or a number
that was computed from the rows, is not found.
"""

from __future__ import annotations

import dis
import json
import sys
from collections.abc import Iterator
from dataclasses import fields
from types import CodeType, FunctionType, MethodType, ModuleType

import numpy as np
import scipy.sparse as sp

from ..core import Plan, PrivacyError, PrivacyLeakError
from ..core.codec import canonical_json
from ..core.facts import Facts
from ..core.plan import read_plan, write_plan
from ..recipes import Recipe

#: What a view may change.
SHOWN = frozenset({"shift", "intercept", "means", "start"})
#: Packages whose classes and functions hold no rows of a user.
KNOWN = frozenset({*sys.stdlib_module_names, "dpsparse", "numpy", "scipy", "sklearn", "pandas", "polars"})
#: How deep a recipe is searched, and how many objects of it.
DEPTH, OBJECTS = 8, 4000


def check_view(recipe: Recipe, declared: Facts, shown: Facts) -> None:
    """Refuse a view of a foreign recipe that changes more than where rows are measured from."""
    for field in fields(Facts):
        before, after = getattr(declared, field.name), getattr(shown, field.name, None)
        if field.name not in SHOWN and (type(shown) is not Facts or not _same(before, after)):
            raise PrivacyError(
                f"view of recipe {recipe.name!r} changes {field.name}, which users declare. A view may change "
                f"{', '.join(sorted(SHOWN))} only."
            )


def normalised_plan(recipe: Recipe, plan: Plan) -> Plan:
    """The plan of a foreign recipe in plain numbers.

    Refuses one that a price would not cover.

    Raises
    ------
    PrivacyError
    """
    if not isinstance(plan, Plan):
        raise TypeError(f"plan of recipe {recipe.name!r} must be a Plan, got {type(plan).__name__}.")
    try:
        plain = read_plan(json.loads(plan_text(plan)))
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise PrivacyError(f"the plan of recipe {recipe.name!r} cannot be written down: {error}") from None
    if not plain.unproven:
        _refuse_laws(recipe, plain)
    return plain


def plan_text(plan: Plan) -> str:
    """A plan as text."""
    return canonical_json(write_plan(plan))


def refuse_rows_brought(what: str, brought: object, rows: object, targets: object) -> None:
    """Refuse a recipe or loss that holds the private rows or targets themselves, or a view of their memory.

    Parameters
    ----------
    what : str
        For the message.
    brought : object
    rows, targets
        As the user gave them. Only where they are in memory is looked at.
    """
    private = [(name, data, arrays(data)) for name, data in (("X", rows), ("y", targets))]
    for where, value in holdings(brought):
        for name, data, memory in private:
            if value is data or any(_overlap(a, b) for a in arrays(value) for b in memory):
                raise PrivacyLeakError(
                    f"brings rows: {where} of {what} holds {name} itself. What a fit is made of may know public facts "
                    "and noisy answers, so that everything it does is post-processing. Give it public numbers, or ask "
                    "for what it needs."
                )


# ------------------------------------------------------------------------------------------------ what an object holds


def holdings(brought: object) -> Iterator[tuple[str, object]]:
    """Everything that an object holds or its methods can name, with words for where.

    Fields, variables of closures, globals.

    Classes and functions of well-known packages are not looked into.
    """
    seen: set[int] = set()
    waiting: list[tuple[str, object, int]] = [("it", brought, 0)]
    while waiting and len(seen) < OBJECTS:
        where, value, depth = waiting.pop(0)
        if id(value) in seen:
            continue
        seen.add(id(value))
        if depth:
            yield where, value
        if depth < DEPTH:
            waiting.extend((w, v, depth + 1) for w, v in _inside(where, value))


def _inside(where: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, MethodType):
        yield where, value.__self__
        yield where, value.__func__
    elif isinstance(value, FunctionType):
        yield from _of_function(value)
    elif isinstance(value, type):
        if _foreign(value):
            yield from ((f"{name!r}", v) for name, v in vars(value).items() if not name.startswith("__"))
            yield from ((where, base) for base in value.__bases__)
    elif isinstance(value, dict):
        yield from ((where, v) for v in value.values())
    elif isinstance(value, list | tuple | set | frozenset):
        if len(value) <= OBJECTS:
            yield from ((where, v) for v in value)
    elif isinstance(value, property | staticmethod | classmethod):
        yield from ((where, v) for v in (getattr(value, "fget", None), getattr(value, "__func__", None)) if v)
    elif not isinstance(value, np.ndarray | np.generic | str | bytes | int | float | ModuleType | type(None)):
        yield from ((f"field {name!r}", v) for name, v in getattr(value, "__dict__", {}).items())
        yield where, type(value)


def _of_function(function: FunctionType) -> Iterator[tuple[str, object]]:
    if not _foreign(function):
        return
    name = f"{function.__name__}()"
    for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield f"variable {variable!r} of {name}", cell.cell_contents
        except ValueError:  # not yet bound
            continue
    for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        yield f"a default of {name}", default
    for variable in _globals_named(function.__code__):
        if variable in function.__globals__:
            yield f"global {variable!r} of {name}", function.__globals__[variable]


def _globals_named(code: CodeType) -> Iterator[str]:
    """Globals that a function and the functions inside it look up."""
    yield from (i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME"))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _globals_named(constant)


def _foreign(made: type | FunctionType) -> bool:
    return str(made.__module__).partition(".")[0] not in KNOWN


def arrays(value: object) -> list[np.ndarray]:
    """Memory that holds the numbers of an array, sparse matrix or frame; nothing for anything else."""
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, sp.spmatrix | sp.sparray):
        return [held for held in (getattr(value, "data", None),) if isinstance(held, np.ndarray)]
    if hasattr(value, "iloc") and hasattr(value, "to_numpy"):  # a frame or a series; as it lies in memory where it can
        kept = value.to_numpy()
        return [kept] if kept.dtype.kind != "O" else []
    return []


def _overlap(one: np.ndarray, two: np.ndarray) -> bool:
    try:
        return np.shares_memory(one, two, max_work=1000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return False


# ------------------------------------------------------------------------------------------------ plans


def _refuse_laws(recipe: Recipe, plan: Plan) -> None:
    for ask in plan.asks:
        if ask.law is not None:
            raise PrivacyError(
                f"recipe {recipe.name!r}: ask {ask.name!r} is said to have a number of turns that chance drew. Its "
                "price would be that of the law, which does not cover a number that somebody picked, and nobody can "
                "tell the two apart. Plan the largest number of turns, or say unproven= in the plan."
            )
    for _, branch in plan.branches:
        _refuse_laws(recipe, branch)


def _same(one: object, two: object) -> bool:
    if one is two:
        return True
    if isinstance(one, np.ndarray) or isinstance(two, np.ndarray):
        return bool(np.array_equal(np.asarray(one), np.asarray(two)))
    return type(one) is type(two) and bool(one == two)
