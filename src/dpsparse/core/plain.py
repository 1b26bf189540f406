"""The one JSON form of what is stored and printed.

Numbers, words, lists and dictionaries stay; numpy's scalars and arrays become Python's; tuples
become lists; records become dictionaries of their fields, unless they have words of their own; an
enumeration is its value. JSON has no word for numbers that are not finite: they become None, which
readers take for infinite.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from operator import attrgetter
from typing import Any, ClassVar, cast

import numpy as np

#: What JSON can hold.
Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def to_json(value: object) -> Json:
    """A value as JSON holds it.

    Examples
    --------
    >>> import numpy as np
    >>> to_json({"coef": np.array([1.0, np.inf]), "steps": np.int64(3), "names": ("a", "b")})
    {'coef': [1.0, None], 'steps': 3, 'names': ['a', 'b']}
    """
    return json_of(value, _shown, _shown)


def json_of(value: object, record_form: Callable[[object], Json], rest: Callable[[object], Json]) -> Json:
    """A value as JSON types: records as `record_form` says, and what JSON does not hold as `rest` does."""
    if is_dataclass(value) and not isinstance(value, type):
        return record_form(value)
    if isinstance(value, np.ndarray | np.generic | Enum):
        return json_of(value.value if isinstance(value, Enum) else value.tolist(), record_form, rest)
    if isinstance(value, Mapping):
        return {str(key): json_of(entry, record_form, rest) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [json_of(entry, record_form, rest) for entry in value]
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return rest(value)


def _shown(value: object) -> Json:
    """What has no plain form of its own: results and records as dictionaries, or in their own words."""
    if isinstance(value, Printed):
        return value.to_dict()
    if isinstance(value, float):
        return None
    return record(value) if is_dataclass(value) and type(value).__str__ is object.__str__ else str(value)


def record(value: object) -> dict[str, Json]:
    """The fields of a record (a dataclass), each in its plain form."""
    if not is_dataclass(value) or isinstance(value, type):
        raise TypeError(f"only records have fields, got {type(value).__name__}.")
    return {field.name: to_json(getattr(value, field.name)) for field in fields(value)}


def scalar(value: object) -> object:
    """A number of Python instead of one of numpy; everything else as it is.

    Examples
    --------
    >>> import numpy as np
    >>> type(scalar(np.float32(0.5))).__name__
    'float'
    """
    return value.item() if isinstance(value, np.generic | np.ndarray) and np.ndim(value) == 0 else value


class Printed:
    """A result that is shown, and never read back.

    `shown` lists what `to_dict` holds, as names of fields, properties and methods without arguments, or as
    ``"law=bill.law.name"``. Empty: all fields but those with ``repr=False``, and then `also`.
    """

    shown: ClassVar[tuple[str, ...]] = ()
    also: ClassVar[tuple[str, ...]] = ()

    def to_dict(self) -> dict[str, Json]:
        """As JSON types; numbers that are not finite become None."""
        own = self.shown or tuple(f.name for f in fields(cast(Any, self)) if f.repr)
        found: dict[str, Json] = {}
        for entry in (*own, *self.also):
            name, _, path = entry.partition("=")
            value = attrgetter(path or name)(self)
            found[name] = to_json(value() if callable(value) else value)
        return found

    def to_json(self, indent: int | None = 2) -> str:
        """As JSON text."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)
