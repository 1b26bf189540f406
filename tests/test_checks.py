"""Argument checks: one form of message, and truth values are no numbers."""

import math

import numpy as np
import pytest

from dpsparse.core import checks


class Special(ValueError):
    pass


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (checks.number, [0, -1.5, np.float32(2)], [True, "1", None, math.nan, math.inf, 1j]),
        (checks.positive, [1, 1e-300, np.int8(3)], [0, -1.0, True, math.inf, "2", None]),
        (checks.non_negative, [0, 0.0, 7], [-1e-12, False, math.nan]),
        (checks.fraction, [0.5, 1e-9, np.float64(0.999)], [0, 1, 1.5, True, "0.5"]),
        (checks.whole, [1, np.int64(5)], [0, 1.0, True, "1", None]),
    ],
)
def test_what_is_taken_and_what_is_refused(check, good, bad):
    for value in good:
        assert check(value, "this") == value
        assert type(check(value, "this")) in (int, float)
    for value in bad:
        with pytest.raises(Special, match=r"^this must be .*, got .*\.$"):
            check(value, "this", error=Special)


def test_limits():
    assert checks.whole(0, "n", least=0) == 0
    assert checks.fraction(1, "part", ends=True) == 1.0
    with pytest.raises(ValueError, match="n must be an integer of at least 8, got 7"):
        checks.whole(7, "n", least=8)
    with pytest.raises(ValueError, match="bound must be at most 1e"):
        checks.positive(1e61, "bound", most=1e60)


def test_vectors_are_copied_and_have_one_entry_per_feature():
    given = np.ones(3)
    for read in (checks.numbers, checks.vector):
        made = read(given, "start", 3)
        given[:] = 5.0
        assert made.tolist() == [1.0, 1.0, 1.0]
        given[:] = 1.0
        for bad in (np.ones(2), [1.0, math.nan, 1.0], "abc", [[1.0, 1.0, 1.0]], [1, 2, "x"]):
            with pytest.raises(ValueError, match="start must"):
                read(bad, "start", 3)
    assert checks.numbers(2, "bound", 3) == 2.0
    with pytest.raises(ValueError, match="start must hold 3 finite numbers"):
        checks.vector(2.0, "start", 3)


def test_words_are_listed():
    assert checks.one_of("a", "kind", ("a", "b")) == "a"
    for bad in ("c", 1, None, ["a"]):
        with pytest.raises(ValueError, match="kind must be one of 'a', 'b', got"):
            checks.one_of(bad, "kind", ("a", "b"))
