"""Plans as plain JSON types: complete, versioned, and back again without a changed digit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_args

import numpy as np

from .errors import PrivacyError
from .parts import SplitRule
from .plan import Ask, Noise, Participation, Plan, RandomTurns

#: Version of the encoding. A release reads every version up to its own. Version 1 had no names of laws and no numbers of models;
#: version 2 had no parts, and is still written for plans without them.
VERSION = 3

_ROWS: dict[str, type[Any]] = {cls.__name__: cls for cls in get_args(Participation)}


def plan_to_dict(plan: Plan) -> dict[str, Any]:
    """A plan as plain JSON types; `plan_from_dict` gives it back.

    Examples
    --------
    >>> plan = Plan(asks=(Ask(name="gradient", noise=Noise.GAUSSIAN, times=10),))
    >>> plan_from_dict(plan_to_dict(plan)) == plan
    True
    """
    return {"version": VERSION if plan.parts else VERSION - 1, **_plan(plan)}


def plan_from_dict(content: Mapping[str, Any]) -> Plan:
    """The inverse of `plan_to_dict`.

    Raises
    ------
    PrivacyError
        If the content is no plan, or one of a later release.
    """
    version = content.get("version")
    if version not in range(1, VERSION + 1):
        raise PrivacyError(
            f"a stored plan has version {version!r}; this release reads versions up to {VERSION}. Update dpsparse."
        )
    return _read_plan({k: v for k, v in content.items() if k != "version"})


def _plan(plan: Plan) -> dict[str, Any]:
    own = {f.name: getattr(plan, f.name) for f in fields(plan)}
    own["asks"] = [_ask(a) for a in plan.asks]
    own["branches"] = [[name, _plan(branch)] for name, branch in plan.branches]
    own["order"] = list(plan.order)
    own["public"] = {name: _public(value, name) for name, value in plan.public.items()}
    own["parts"] = [_plan(part) for part in plan.parts]
    own["coins"] = None if plan.coins is None else {"rule": plan.coins.rule, "first": plan.coins.first}
    if not plan.parts:  # earlier releases have no parts
        del own["parts"], own["coins"]
    if not plan.unproven:  # earlier releases have no such field, and hold proven plans only
        del own["unproven"]
    return own


def _read_plan(content: Mapping[str, Any]) -> Plan:
    given = dict(content)
    given["asks"] = tuple(_read_ask(a) for a in given["asks"])
    given["branches"] = tuple((name, _read_plan(branch)) for name, branch in given["branches"])
    given["order"] = tuple(given["order"])
    given["public"] = {name: _read_public(value) for name, value in given["public"].items()}
    given["parts"] = tuple(_read_plan(part) for part in given.get("parts", ()))
    given["coins"] = None if given.get("coins") is None else SplitRule(**given["coins"])
    return Plan(**given)


def _ask(ask: Ask) -> dict[str, Any]:
    own = {f.name: getattr(ask, f.name) for f in fields(ask)}
    own["noise"] = str(ask.noise)
    own["rows"] = _rows(ask.rows)
    own["schedule"] = None if ask.schedule is None else list(ask.schedule)
    if ask.question is None:  # plans of earlier releases name no questions
        del own["question"]
    own["law"] = None if ask.law is None else {f.name: getattr(ask.law, f.name) for f in fields(ask.law)}
    return own


def _read_ask(content: Mapping[str, Any]) -> Ask:
    given = dict(content)
    given["noise"] = Noise(given["noise"])
    given["rows"] = _read_rows(given["rows"])
    given["schedule"] = None if given["schedule"] is None else tuple(given["schedule"])
    given["law"] = None if given["law"] is None else RandomTurns(**given["law"])
    return Ask(**given)


def _rows(rows: Participation) -> dict[str, Any]:
    return {"kind": type(rows).__name__, **{f.name: getattr(rows, f.name) for f in fields(rows)}}


def _read_rows(content: Mapping[str, Any]) -> Participation:
    given = dict(content)
    found: Participation = _ROWS[given.pop("kind")](**given)
    return found


def _public(value: Any, name: str) -> Any:
    """Public choices: numbers, texts, tuples and arrays of them; tags keep tuples and arrays apart."""
    if isinstance(value, np.ndarray):
        return {"array": value.tolist(), "dtype": str(value.dtype)}
    if isinstance(value, np.generic):
        return {"array": value.item(), "dtype": str(value.dtype)}
    if isinstance(value, tuple):
        return {"tuple": [_public(v, name) for v in value]}
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise PrivacyError(f"a plan holds public {name!r} of type {type(value).__name__}, which has no stored form.")


def _read_public(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "tuple" in value:
        return tuple(_read_public(v) for v in value["tuple"])
    array = np.array(value["array"], dtype=value["dtype"])
    return array if array.ndim else array[()]
