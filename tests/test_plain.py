"""The one JSON form."""

import json
import math
from dataclasses import dataclass
from enum import Enum, StrEnum
from pathlib import Path

import numpy as np
import pytest

from dpsparse.core.plain import record, scalar, to_json


class Colour(StrEnum):
    RED = "red"


class Size(Enum):
    SMALL = 1


@dataclass
class Pair:
    one: float
    two: tuple


@dataclass
class Worded:
    one: int

    def __str__(self):
        return "words"


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (None, None),
        (True, True),
        (np.bool_(False), False),
        (np.int8(3), 3),
        (np.float32(0.5), 0.5),
        (math.inf, None),
        (-math.inf, None),
        (np.float64(np.nan), None),
        (np.array([[1, 2]]), [[1, 2]]),
        (np.array([1.0, np.inf]), [1.0, None]),
        (np.array(7), 7),
        ((1, (2, "a")), [1, [2, "a"]]),
        ({1: (np.int64(2),)}, {"1": [2]}),
        (Colour.RED, "red"),
        (Size.SMALL, 1),
        (Pair(math.inf, (np.float64(1.0),)), {"one": None, "two": [1.0]}),
        (Worded(1), "words"),
        (Path("a") / "b", "a/b"),
        (np.array(["x"], dtype=object), ["x"]),
    ],
)
def test_forms(value, form):
    found = to_json(value)
    assert found == form
    assert type(found) is type(form)
    assert json.loads(json.dumps(found, allow_nan=False)) == form


def test_records_are_dataclasses():
    assert record(Pair(1.0, ())) == {"one": 1.0, "two": []}
    for other in (3, Pair):
        with pytest.raises(TypeError, match="only records"):
            record(other)


def test_scalars_alone_are_unwrapped():
    assert type(scalar(np.int64(2))) is int
    assert scalar("a") == "a"
    kept = np.ones(2)
    assert scalar(kept) is kept
