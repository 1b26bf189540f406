"""The one codec: records (dataclasses) as JSON by their type hints, and back.

`write` gives JSON types and `read` gives the record back, or raises `FormError`, whose text names the place
("plan.asks[3].times") and never quotes what stands there. Reading is strict: no unknown field, no field twice, nothing
converted (a truth value is no number, a text is no list), finite numbers only, and at most `DEPTH` levels. Numbers keep
their digits, an integer in a field of floats too, so that what was read is written again with the same bytes.

* `Infinite`: a float that may be infinite, written as null. `Limits` and `Via` say more about a field.
* Arrays are lists of numbers, or lists of rows. Keys that are integers are written as texts.
* Enumerations are their values. `Literal` fields hold one of their values.
* Records of a union are distinguished by a tag, see `form`. The members of a `Protocol` are listed by `family`.
* A name that Python reserves ends with an underscore in its class and without one in JSON.
"""

from __future__ import annotations

import hashlib
import json
import math
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from enum import Enum
from functools import cache, cached_property
from types import UnionType
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, Union, cast, get_args, get_origin

import numpy as np

from .errors import PrivacyError
from .plain import Json, Printed
from .printable import count_of
from .regular_files import parse_json

T = TypeVar("T")
#: Lists and dictionaries inside each other. The deepest form, a search over plans with branches, has 13.
DEPTH = 32
#: Integers beyond are refused. Ledgers count costs without a bound as 10^40 units; 2^256 leaves space for sums of them.
LARGEST_INTEGER = 2**256


class FormError(ValueError):
    """Content that is not of its kind. The text says where, and quotes nothing that stands there."""


@dataclass(frozen=True)
class Limits:
    """The range of a number; without `ends` its ends are outside. `infinite`: null stands for infinity."""

    least: float = -math.inf
    most: float = math.inf
    ends: bool = True
    infinite: bool = False

    def hold(self, number: float) -> bool:
        """Whether a number is in the range."""
        return self.least <= number <= self.most and (self.ends or self.least < number < self.most)


@dataclass(frozen=True)
class Via:
    """A field with a form of its own: `write` makes JSON of its value, `read` takes JSON and the place."""

    write: Callable[[Any], Json]
    read: Callable[[Any, str], Any]


Infinite = Annotated[float, Limits(infinite=True)]
Count = Annotated[int, Limits(0, 2**62)]


@dataclass(frozen=True)
class _Form:
    tag: str = ""
    word: str = ""
    later: tuple[tuple[str, ...], ...] = ()
    out: Callable[[Any], Any] = lambda content: content
    back: Callable[[Any], Any] = lambda content: content
    made: Callable[[Any], Any] = lambda record: record


_FORMS: dict[type, _Form] = {}
_FAMILIES: dict[Any, Callable[[], tuple[type, ...]]] = {}


def form(
    tag: str = "", word: str = "", later: tuple[tuple[str, ...], ...] = (), **change: Callable[[Any], Any]
) -> Callable[[type[T]], type[T]]:
    """Say more about how a record is written.

    Parameters
    ----------
    tag, word : str
        The record begins with ``{tag: word}``; the word is the name of the class where none is given.
    later : tuple of tuples of str
        Groups of fields that came after the first release: left out while all of a group have their defaults.
    out, back : functions
        Change the dictionary after writing and before reading: forms that differ from the fields, and earlier versions.
    made : function
        Takes the record that was read, and gives it back; refuses with `ValueError`.
    """

    def keep(kind: type[T]) -> type[T]:
        _FORMS[kind] = _Form(tag, word or kind.__name__, later, **change)
        return kind

    return keep


def family(protocol: object, members: Callable[[], tuple[type, ...]]) -> None:
    """Name the records that stand for a protocol; `members` is called when the first of them is read."""
    _FAMILIES[protocol] = members


@cache
def _fields(kind: type) -> tuple[_Form, dict[str, tuple[Field[Any], Any]]]:
    hints = typing.get_type_hints(kind, include_extras=True)
    known = {f.name: (f, hints[f.name]) for f in fields(cast(Any, kind)) if f.init}
    return _FORMS.get(kind, _Form()), known


# ------------------------------------------------------------------------------------------------ writing

#: Types whose values are those of JSON.
PLAIN = frozenset({str, int, bool, type(None)})


def write(value: object) -> Any:
    """JSON types; numbers that are not finite have none outside of fields that say `Infinite`."""
    if type(value) in PLAIN or (type(value) is float and math.isfinite(value)):
        return value
    if isinstance(value, Document):
        return value.to_json()
    if is_dataclass(value) and not isinstance(value, type):
        return write_record(value)
    if isinstance(value, np.ndarray | np.generic):
        return write(value.tolist())
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): write(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [write(entry) for entry in value]
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise FormError(f"a {type(value).__name__}{' that is not finite' * isinstance(value, float)} has no stored form.")


def write_record(record: object) -> dict[str, Any]:
    """The fields of a record, each as its hint says."""
    own, known = _fields(cast(Any, type(record)))
    given = {name: getattr(record, name) for name in known}
    left = {name for group in own.later if all(given[n] == known[n][0].default for n in group) for name in group}
    head = {own.tag: own.word} if own.tag else {}
    kept = {name.rstrip("_"): _write_as(known[name][1], value) for name, value in given.items() if name not in left}
    return cast(dict[str, Any], own.out(head | kept))


def _write_as(hint: Any, value: Any) -> Json:
    said = get_args(hint)[1] if get_origin(hint) is Annotated else None
    if isinstance(said, Via):
        return said.write(value)
    if isinstance(said, Limits) and said.infinite and not math.isfinite(value):
        return None
    return cast(Json, write(value))


def canonical_json(content: object) -> str:
    """One text for equal content: sorted keys, no spaces, floats by their shortest exact digits."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


# ------------------------------------------------------------------------------------------------ reading


def read(kind: type[T], content: object, where: str) -> T:
    """The record of a kind; `where` begins the words about what is wrong.

    Raises
    ------
    FormError
    """
    return cast(T, _read(kind, content, where, 0))


def _read(kind: Any, content: Any, where: str, depth: int) -> Any:
    _need(depth <= DEPTH, where, "is nested too deep")
    if hasattr(get_origin(kind), "__value__"):  # numpy 2.5 and newer: NDArray is an alias by a type statement
        kind = get_origin(kind).__value__[get_args(kind)]
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _read_said(inner[0], inner[1], content, where, depth)
    if origin in (Union, UnionType) or kind in _FAMILIES:
        return _read_union(_FAMILIES[kind]() if kind in _FAMILIES else inner, content, where, depth)
    if origin is Literal:
        _need(type(content) is str and content in inner, where, f"must be one of {', '.join(map(str, inner))}")
        return content
    if origin is np.ndarray:
        return _read_array(get_args(inner[1])[0], content, where)
    if origin in (tuple, list):
        _need(type(content) is list, where, "must be a list")
        kinds = [inner[0]] * len(content) if origin is list or inner[-1] is Ellipsis else inner
        _need(len(kinds) == len(content), where, f"must have {count_of(len(kinds), 'entry', 'entries')}")
        places = (f"{where}[{number}]" for number in range(len(content)))
        return origin(_read(k, v, at, depth + 1) for k, v, at in zip(kinds, content, places, strict=True))
    if origin in (dict, Mapping):
        _need(type(content) is dict, where, "must be an object")
        keys = content if inner[0] is not int else [_read_key(key, where) for key in content]
        _need(len(set(keys)) == len(content), where, "must have different keys")
        values = (_read(inner[1], v, f"{where}[{number}]", depth + 1) for number, v in enumerate(content.values()))
        return dict(zip(keys, values, strict=True))
    if isinstance(kind, type) and issubclass(kind, Document):
        return kind.from_json(content)
    if is_dataclass(kind):
        return _read_record(cast(type, kind), content, where, depth)
    if isinstance(kind, type) and issubclass(kind, Enum):
        _need(content in [member.value for member in kind], where, f"must be one of {', '.join(map(str, kind))}")
        return kind(content)
    return _read_plain(kind, content, where, depth)


def _read_plain(kind: Any, content: Any, where: str, depth: int) -> Any:
    if kind is Any:
        _need(depth <= DEPTH, where, "is nested too deep")
        for entry in content.values() if type(content) is dict else content if type(content) is list else ():
            _read_plain(Any, entry, where, depth + 1)
        return content
    if kind in (int, float):
        _need(type(content) is int or (kind is float and type(content) is float), where, f"must be {NAMES[kind]}")
        most = LARGEST_INTEGER if kind is int else 1.7e308
        _need(abs(content) <= most, where, "must be a finite number")
        return content
    _need(type(content) is kind, where, f"must be {NAMES[kind]}")
    return content


#: Kinds of plain values in words.
NAMES = {int: "an integer", float: "a number", str: "a text", bool: "true or false", type(None): "null"}


def _read_said(kind: Any, said: Any, content: Any, where: str, depth: int) -> Any:
    """What an annotated field holds."""
    if isinstance(said, Via):
        return said.read(_read_plain(Any, content, where, depth), where)
    if content is None and said.infinite:
        return math.inf
    found = _read(kind, content, where, depth)
    _need(said.hold(found), where, f"must be between {said.least:g} and {said.most:g}")
    return found


def _read_record(kind: type, content: Any, where: str, depth: int) -> Any:
    _need(type(content) is dict, where, "must be an object")
    own, known = _fields(kind)
    content = own.back(dict(content))
    if own.tag:
        _need(content.pop(own.tag, None) == own.word, where, f"must have the {own.tag} {own.word!r}")
    names = {name.rstrip("_"): name for name in known}
    _need(content.keys() <= names.keys(), where, "has a field that this release does not know")
    for name, (f, _) in known.items():
        needed = f.default is MISSING and f.default_factory is MISSING
        _need(not needed or name.rstrip("_") in content, where, f"lacks {name.rstrip('_')!r}")
    try:
        given = {names[n]: _read(known[names[n]][1], v, f"{where}.{n}", depth + 1) for n, v in content.items()}
        return own.made(kind(**given))
    except FormError:
        raise
    except ValueError as error:  # checks of records and fields, which speak of public numbers
        raise FormError(f"{where}: {error}") from None
    except (TypeError, KeyError, AttributeError, ArithmeticError, RecursionError):
        raise FormError(f"{where} does not hold together.") from None


def _read_union(kinds: tuple[Any, ...], content: object, where: str, depth: int) -> Any:
    if content is None and type(None) in kinds:
        return None
    tagged = {own.word: (own.tag, k) for k in kinds if (own := _FORMS.get(k, _Form())).tag}
    if tagged and type(content) is dict:
        [tag] = {tag for tag, _ in tagged.values()}
        word = str(content.get(tag))
        _need(word in tagged, where, f"must have a {tag} that this release knows: {', '.join(tagged)}. Update dpsparse")
        return _read(tagged[word][1], content, where, depth)
    others = [kind for kind in kinds if kind is not type(None)]
    for kind in others:
        try:
            return _read(kind, content, where, depth)
        except FormError as error:
            found = error
    raise found if len(others) == 1 else FormError(f"{where} is of none of the kinds that belong here.")


def _read_array(dtype: Any, content: Any, where: str) -> Any:
    _need(type(content) is list, where, "must be a list of numbers")
    rows = content if content and type(content[0]) is list else [content]
    _need(all(type(row) is list and len(row) == len(rows[0]) for row in rows), where, "must have rows of one length")
    numbers = (int,) if issubclass(dtype, np.integer) else (int, float)
    _need(all(type(v) in numbers for row in rows for v in row), where, "must be a list of numbers")
    try:
        found = np.array(content, dtype=dtype)
    except OverflowError:
        found = np.array(math.inf)
    _need(bool(np.all(np.isfinite(found))), where, "must hold finite numbers")
    return found


def _read_key(key: str, where: str) -> int:
    _need(key.removeprefix("-").isdecimal() and len(key) < 20, where, "must have integers as keys")
    return int(key)


def _need(holds: bool, where: str, what: str) -> None:
    if not holds:
        raise FormError(f"{where} {what}.")


# ------------------------------------------------------------------------------------------------ documents


class Record(Printed):
    """A record that users show, keep and read back."""

    def to_dict(self) -> dict[str, Json]:
        """As JSON types; infinite numbers become None."""
        return write_record(self)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`; refuses anything else with `FormError`."""
        return read(cls, content, cls.__name__.lower())


class Document:
    """A record that is sent or kept as a text with a format and a version; inside others it is that text."""

    format: ClassVar[str]
    version: ClassVar[int]
    #: For messages: "a protocol of networks", and what to do about a text of another kind.
    what: ClassVar[str]
    advice: ClassVar[str] = "Ask the server for it again, and use the server's release."
    refusal: ClassVar[type[ValueError]] = PrivacyError
    largest: ClassVar[int] = 2**28

    @cached_property
    def identity(self) -> bytes:
        """16 bytes that no other content has."""
        return hashlib.sha256(self.to_json().encode()).digest()[:16]

    def to_json(self) -> str:
        """As text, the same for the same content."""
        head = {"format": self.format, "version": self.version}
        return json.dumps(head | write_record(self), sort_keys=True, allow_nan=False)

    @classmethod
    def from_json(cls, text: object) -> Self:
        """The inverse of `to_json`; refuses anything else, with an error of the type `refusal`."""
        try:
            content = _parsed(text, cls.largest)
            head = (content.pop("format", None), content.pop("version", None))
            same = head == (cls.format, cls.version) and type(head[1]) is int
            _need(same, "the text", "has another format or version")
            return cast(Self, _read_record(cls, content, "it", 0))
        except FormError as error:
            text = f"this is not {cls.what}, version {cls.version}: {error} {cls.advice}"
            raise cls.refusal(text) from None


def _parsed(text: object, most: int) -> dict[str, Any]:
    try:
        content = parse_json(text) if isinstance(text, str) and len(text) <= most else None
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise FormError("the text is not valid JSON.")
    return content
