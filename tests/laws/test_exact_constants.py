"""Constants that keep sums exact, by their derivations: each fails when it is halved, or doubled, whichever would break a guarantee."""

from __future__ import annotations

import pytest

from dpsparse.queries import cells, choices, framed, polish, unit_sums
from dpsparse.rows.units import MOST_ROWS, WEIGHTS

#: Floats hold whole numbers up to this, and 64-bit integers up to twice the other.
FLOATS, INTEGERS = 2.0**53, 2.0**62
#: Half of the distance between one and the next float.
HALF_ULP = 2.0**-53


def failing(*, change: float = 1.0, name: str = "") -> list[str]:
    """What does not hold, with one constant changed."""
    known = {
        "WEIGHTS": float(WEIGHTS),
        "MOST_ROWS": float(MOST_ROWS),
        "STEPS": unit_sums.STEPS,
        "SLACK": 1.0 - unit_sums.SLACK,
        "MOST_COLUMNS": float(unit_sums.MOST_COLUMNS),
        "ROW_TICKS": unit_sums.ROW_TICKS,
        "CELL_TICKS": cells.ROW_TICKS,
        "PIECE_ROWS": float(framed.PIECE_ROWS),
        "UNIT_SPREAD": choices.UNIT_SPREAD - 1,
    }
    if name:
        known[name] *= change
    n = known
    laws = {
        "a row of a full unit has a weight that is not zero": n["WEIGHTS"] / n["MOST_ROWS"] >= 1,
        "explicit contributions of a unit fit 64 bits": n["STEPS"] * n["WEIGHTS"] <= INTEGERS,
        "norms of sums are off by less than the slack": (n["MOST_COLUMNS"] + 4) * HALF_ULP < n["SLACK"],
        "sums of a unit are exact floats": 4 * n["ROW_TICKS"] < FLOATS,
        "weighted scores of a cell are exact floats": n["CELL_TICKS"] * n["WEIGHTS"] < FLOATS,
        "products of a piece are exact floats": n["PIECE_ROWS"] * polish.GRAM_UNITS**2 <= 2.0**48,
        "two scores that are rounded down move by less than two steps more": n["UNIT_SPREAD"] * choices.PARTS >= 2,
    }
    return [law for law, holds in laws.items() if not holds]


def test_constants_hold_what_they_were_derived_for():
    assert failing() == []


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("WEIGHTS", 2.0),
        ("STEPS", 2.0),
        ("SLACK", 0.5),
        ("MOST_COLUMNS", 2.0),
        ("ROW_TICKS", 2.0),
        ("CELL_TICKS", 2.0),
        ("PIECE_ROWS", 2.0),
        ("UNIT_SPREAD", 0.5),
        ("MOST_ROWS", 32.0),
    ],
)
def test_control_a_constant_that_is_changed_fails(name, change):
    assert failing(name=name, change=change)
