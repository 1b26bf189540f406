"""The codec by itself: what each kind of field takes, and the words about what it does not take."""

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from dpsparse.core.codec import Count, FormError, Infinite, Limits, Via, form, read, write


class Colour(StrEnum):
    RED = "red"


@form("kind")
@dataclass(frozen=True)
class One:
    size: int


@form("kind", "second")
@dataclass(frozen=True)
class Two:
    name: str = "a"


@form(later=(("added", "more"),))
@dataclass(frozen=True, eq=False, kw_only=True)
class Whole:
    number: float
    count: Count
    limit: Infinite = 1.0
    part: Annotated[float, Limits(0, 1, ends=False)] = 0.5
    class_: Literal["a", "b"] = "a"
    colour: Colour = Colour.RED
    either: One | Two | None = None
    rows: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    totals: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    pairs: tuple[tuple[str, int], ...] = ()
    keyed: dict[int, float] = field(default_factory=dict)
    mark: Annotated[bytes, Via(bytes.hex, lambda content, _: bytes.fromhex(content))] = b""
    any_: Any = None
    added: int = 0
    more: str = ""


FULL = {
    "number": 2,
    "count": 3,
    "limit": None,
    "part": 0.25,
    "class": "b",
    "colour": "red",
    "either": {"kind": "second", "name": "x"},
    "rows": [[1.0, 2.5], [0.0, -1.0]],
    "totals": [1, -2],
    "pairs": [["a", 1]],
    "keyed": {"-3": 1.5},
    "mark": "00ff",
    "any": {"a": [1, None]},
    "added": 0,
    "more": "x",
}


def test_what_was_read_is_written_again():
    found = read(Whole, FULL, "whole")
    assert write(found) == FULL
    assert (type(found.number), found.limit, found.either, found.keyed) == (int, math.inf, Two("x"), {-3: 1.5})


def test_later_fields_are_left_out_together_while_they_have_their_defaults():
    assert not {"added", "more"} & write(Whole(number=1.0, count=0)).keys()
    assert {"added", "more"} <= write(Whole(number=1.0, count=0, added=1)).keys()


@pytest.mark.parametrize(
    ("name", "wrong", "words"),
    [
        ("number", True, "whole.number must be a number."),
        ("number", "1", "whole.number must be a number."),
        ("number", 10**400, "whole.number must be a finite number."),
        ("count", 1.0, "whole.count must be an integer."),
        ("count", -1, "whole.count must be between 0 and"),
        ("part", 1, "whole.part must be between 0 and 1."),
        ("class", "c", "whole.class must be one of a, b."),
        ("colour", "RED", "whole.colour must be one of red."),
        ("either", {"kind": "Two"}, "whole.either must have a kind that this release knows: One, second."),
        ("either", {"kind": "One", "size": 1, "x": 1}, "whole.either has a field that this release does not know."),
        ("either", {"kind": "One"}, "whole.either lacks 'size'."),
        ("rows", [[1.0], [1.0, 2.0]], "whole.rows must have rows of one length."),
        ("rows", [True], "whole.rows must be a list of numbers."),
        ("rows", [10**400], "whole.rows must hold finite numbers."),
        ("totals", [1.0], "whole.totals must be a list of numbers."),
        ("totals", [2**64], "whole.totals must hold finite numbers."),
        ("pairs", [["a"]], r"whole.pairs\[0\] must have 2 entries."),
        ("keyed", {"a": 1.0}, "whole.keyed must have integers as keys."),
        ("keyed", {"1": 1.0, "01": 1.0}, "whole.keyed must have different keys."),
        ("mark", "zz", "whole: "),
    ],
)
def test_a_wrong_value_is_refused_by_its_place(name, wrong, words):
    with pytest.raises(FormError, match=words):
        read(Whole, {**FULL, name: wrong}, "whole")


@pytest.mark.parametrize("value", [math.nan, math.inf, np.array([np.nan]), object(), {"a": {1, 2}}])
def test_what_has_no_form_is_not_written(value):
    with pytest.raises(FormError, match="has no stored form"):
        write(value)


def test_arrays_may_be_declared_by_an_alias():
    """`NDArray` is one by a type statement in numpy 2.5 and newer."""
    newer = pytest.importorskip("typing_extensions", reason="aliases of later versions of Python")
    kind = newer.TypeVar("kind")
    Numbers = newer.TypeAliasType("Numbers", np.ndarray[tuple[Any, ...], np.dtype[kind]], type_params=(kind,))
    np.testing.assert_array_equal(read(Numbers[np.int64], [1, 2], "numbers"), np.array([1, 2]))
    with pytest.raises(FormError, match="numbers"):
        read(Numbers[np.int64], ["a"], "numbers")
