"""Numbers that decide how fits behave and that no theorem gives, as data: one TOML file for each engine.

An entry holds its value and meaning, its origin (a derivation, a paper, or "chosen"), the data on
which it was chosen and confirmed, and what half and double of it do to the error; "not measured"
where nobody looked. The table "defaults" of a file says this for entries that do not say it
themselves. A group of entries may be "like" another one, and then lists only what differs.

``TABLES.gram`` is a number, ``TABLES.whole.steps`` an integer, ``TABLES.pair.noise_range`` two numbers
and ``TABLES.several.phases`` a tuple of numbers; an entry of another type is refused.
`tests/laws/test_constants.py` checks that all names in the code exist, and that all entries are
used.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class View(Generic[T]):
    """Constants of one type, by name."""

    place: str
    kind: type[T]
    values: Mapping[str, Any]

    def __getattr__(self, name: str) -> T:
        value = self.values.get(name)
        if not isinstance(value, self.kind):
            raise AttributeError(f"{self.place} has no constant {name!r} of the type {self.kind.__name__}")
        self.__dict__[name] = value  # found by Python itself the next time
        return value


class Constants(View[float]):
    """The constants of a file, or of a group in it."""

    @cached_property
    def whole(self) -> View[int]:
        """Those that are integers."""
        return View(self.place, int, self.values)

    @cached_property
    def pair(self) -> View[tuple[float, float]]:
        """Those that are two numbers."""
        return View(self.place, tuple, self.values)

    @cached_property
    def several(self) -> View[tuple[float, ...]]:
        """Those that are several numbers."""
        return View(self.place, tuple, self.values)


@cache
def _table(file: str) -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath(f"{file}.toml").read_text(encoding="utf-8"))


def constants(file: str, group: str | None = None) -> Constants:
    """The constants of a file, or of a group in it."""
    table = _table(file)
    place, found = file, table
    if group is not None:
        place, found = f"{file}.{group}", {**table.get(table[group].get("like", group), {}), **table[group]}
    values = {name: entry["value"] for name, entry in found.items() if "value" in entry}
    return Constants(place, float, {n: tuple(v) if isinstance(v, list) else v for n, v in values.items()})


ENGINE: Final = constants("engine")
#: The slope of the target on the score.
FINISH: Final = constants("engine", "finish")
TABLES: Final = constants("tables")
POLISH: Final = constants("select_polish")
AVERAGING: Final = constants("dual_averaging")
STEPS: Final = constants("steps")
INTERVALS: Final = constants("intervals")
PAPERS: Final = constants("papers")
PLANNER: Final = constants("planner")
SHAPES: Final = constants("shapes")
#: Quantiles of clips and lengths: of `tables`, of `tables` with few records, and of rows before
#: their means.
MIDDLE: Final = constants("tables", "middle")
LOW: Final = constants("tables", "low")
ROWS: Final = constants("select_polish", "rows")
#: Where `tables` decides between few coefficients and many, and the signal test of `dual_averaging`.
RACE: Final = constants("tables", "race")
SIGNAL: Final = constants("dual_averaging", "signal")
#: What loops of `dual_averaging` for two classes have, and those of others unless they differ.
CLASSES: Final = constants("dual_averaging", "classes")
