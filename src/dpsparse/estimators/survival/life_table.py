r"""The life table: a baseline hazard that is constant between public times, from noisy counts of exits.

Guarantee
---------
Every person leaves once, with the event or censored, in one interval: one cell of `CellCounts`, whose
sensitivity is :math:`\sqrt2` when a record is replaced and 1 when one is added or removed. With entry
times a second such query counts the entries. Everything else here follows from the noisy counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core import Ask, Noise, Plan
from ...core.facts import Facts, Target, Vector
from ...fitting.targets import read_column
from ...queries.kinds import CellCounts, Cells, Oracle
from ...rows import Records

EXITS, ENTRIES = "exits", "entries"
#: Fewest events and persons at risk that an interval counts as having: noise may leave none.
LEAST_EVENTS, LEAST_AT_RISK = 0.5, 1.0
#: The least baseline hazard of a person, in parts of that up to the horizon: zero has no sign.
LEAST_PART = 1e-4


@dataclass(frozen=True, eq=False)
class LifeTable:
    """A baseline hazard: public once it is released.

    Attributes
    ----------
    times : array of shape (intervals + 1,)
        Ends of the intervals, from 0 to the horizon.
    hazard : array of shape (intervals,)
        Events for each unit of time, in each interval, of a person with hazard ratio 1.
    """

    times: Vector
    hazard: Vector

    def cumulative(self, time: Vector) -> Vector:
        """The hazard that adds up to each time.

        Examples
        --------
        >>> LifeTable(np.array([0.0, 1.0, 2.0]), np.array([0.1, 0.3])).cumulative(np.array([0.5, 2.0]))
        array([0.05, 0.4 ])
        """
        ends = np.r_[0.0, np.cumsum(self.hazard * np.diff(self.times))]
        return np.interp(time, self.times, ends)

    @property
    def total(self) -> float:
        """The hazard that adds up to the horizon."""
        return float(self.cumulative(self.times[-1:])[0])


@dataclass(frozen=True, eq=False, repr=False)
class Spells:
    """When each person entered and left, and whether with the event: **private**; NaN for unusable records.

    Attributes
    ----------
    time, event, entry : array of shape (rows,)
        Times after the horizon are censored there.
    """

    time: Vector
    event: Vector
    entry: Vector | None

    @classmethod
    def read(cls, time: object, event: object, entry: object, rows: int, horizon: float) -> Spells:
        """From what a user gave. Negative times, other events than 0 and 1, and exits before entries are no records."""
        left = read_column(time, "time", rows)
        seen = read_column(event, "event", rows)
        came = read_column(entry, "entry", rows)
        assert left is not None
        assert seen is not None
        with np.errstate(invalid="ignore"):
            good = np.isfinite(left) & (left >= 0) & ((seen == 0) | (seen == 1))
            if came is not None:
                good &= np.isfinite(came) & (came >= 0) & (came < left) & (came < horizon)
            seen = np.where(left > horizon, 0.0, seen)
        nothing = np.where(good, 0.0, np.nan)
        left = np.minimum(left, horizon) + nothing
        return cls(left, seen + nothing, None if came is None else came + nothing)

    def missing(self) -> bool:
        """Whether any record is unusable. About values: what follows from it is covered by no guarantee."""
        return bool(np.any(np.isnan(self.time)))

    def targets(self, table: LifeTable) -> Vector:
        """The baseline hazard that each person lived through, negative for censored ones."""
        lived = table.cumulative(self.time)
        lived = lived if self.entry is None else lived - table.cumulative(self.entry)
        lived = np.maximum(lived, LEAST_PART * table.total)
        return np.where(np.isnan(self.time), np.nan, np.where(self.event > 0, lived, -lived))


def life_table_plan(noise: Noise, *, entries: bool) -> Plan:
    """One count of exits, and one of entries where there are some."""
    names = (EXITS, ENTRIES) if entries else (EXITS,)
    return Plan(asks=tuple(Ask(name=name, question="CellCounts", noise=noise) for name in names))


def life_table_rows(spells: Spells, times: Vector) -> tuple[Records, Vector]:
    """Numbers of the intervals in which each person left and entered, and whether with the event."""
    moments = [spells.time] if spells.entry is None else [spells.time, spells.entry]
    places = [np.searchsorted(times[1:-1], v, side="right") + np.where(np.isnan(v), np.nan, 0.0) for v in moments]
    return Records(np.column_stack(places)), spells.event


def life_table_facts(n_rows: int, times: Vector, *, entries: bool) -> Facts:
    """What is public about these rows."""
    top = float(max(times.size - 2, 1))
    return Facts(
        n_rows=n_rows, n_features=1 + entries, lower=0.0, upper=top, row_norm=2 * top, target=Target(bound=1.0)
    )


def ask_life_table(oracle: Oracle, times: Vector, *, entries: bool) -> LifeTable:
    """The hazard in each interval: events over persons at risk, of whom those who leave or enter there count half."""
    intervals, n_rows = times.size - 1, oracle.facts.n_rows
    edges = np.arange(0.5, intervals - 1)
    exits = Cells(margins=np.array([0]), classes=2, edges=edges)
    left = np.asarray(oracle.answer(CellCounts(exits), EXITS)).reshape(2, intervals) * n_rows
    both = left.sum(axis=0)
    at_risk = np.cumsum(both[::-1])[::-1] - both / 2
    if entries:
        came = np.asarray(oracle.answer(CellCounts(Cells(margins=np.array([1]), edges=edges)), ENTRIES)) * n_rows
        at_risk -= np.cumsum(came[::-1])[::-1] - came / 2
    hazard = np.maximum(left[1], LEAST_EVENTS) / np.maximum(at_risk, LEAST_AT_RISK) / np.diff(times)
    return LifeTable(times, hazard)
