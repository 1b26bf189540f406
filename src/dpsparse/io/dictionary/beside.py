"""Columns of a table that stand beside features and target: weights, offsets, exposures, times, events, entries."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..tabular import PLAIN_CSV, CsvForm
from .column import Column
from .frames import Table
from .rules import CellReader

if TYPE_CHECKING:
    from .dictionary import Dictionary

#: Roles by what an estimator calls them; those of a survival study take the place of a target.
TERMS = {"weight": "sample_weight", "offset": "offset", "exposure": "exposure"}
STUDY = {"time": "time", "event": "event", "entry": "entry"}
BESIDE = {**TERMS, **STUDY}


def columns_beside(dictionary: Dictionary) -> tuple[Column, ...]:
    """The columns of a dictionary that stand beside features and target."""
    return tuple(column for column in dictionary.columns if column.role in BESIDE)


def problems_beside(dictionary: Dictionary) -> Iterator[str]:
    """What is contradictory about these roles, one line each."""
    found = columns_beside(dictionary)
    roles = [column.role for column in found]
    for role in dict.fromkeys(roles):
        if roles.count(role) > 1:
            yield f"{roles.count(role)} columns have the role {role}. Keep one."
    if "offset" in roles and "exposure" in roles:
        yield "an exposure is an offset on the scale of logarithms. Keep one of both roles."
    if ("time" in roles) != ("event" in roles) or ("entry" in roles and "time" not in roles):
        yield "a survival study needs a column with the role time and one with the role event; entry belongs to them."
    if "time" in roles and dictionary.target is not None:
        yield "time and event take the place of a target. Give the target another role."
    if "time" in roles and set(roles) & set(TERMS):
        yield "a survival study takes no weights and no offsets. Give them the role ignore."
    for column in found:
        good = column.kind in ("number", "boolean") if column.role == "event" else column.kind == "number"
        if column.role == "event" and column.kind == "category":
            good = len(column.labels) == 2
        if column.kind is not None and not good:
            kinds = (
                "boolean, number or category with two labels, the event last" if column.role == "event" else "number"
            )
            yield f"column {column.name!r}: the role {column.role} needs the kind {kinds}."
        elif good and column.kind == "number" and isinstance(column.bounds, tuple) and column.role != "offset":
            lowest = column.limits[0]
            if lowest < 0 or (column.role == "exposure" and lowest == 0):
                sign = "positive" if column.role == "exposure" else "at least 0"
                yield f"column {column.name!r}: the bounds of a column with the role {column.role} must be {sign}."


def settings_beside(columns: Sequence[Column]) -> dict[str, object]:
    """Arguments of an estimator that follow from the bounds of these columns."""
    bounds = {column.role: column.limits for column in columns if column.kind == "number"}
    found: dict[str, object] = {}
    if "weight" in bounds:
        found["weight_bound"] = bounds["weight"][1]
    if "offset" in bounds:
        found["offset_bound"] = bounds["offset"]
    if "exposure" in bounds:
        found["offset_bound"] = tuple(map(math.log, bounds["exposure"]))
    if "time" in bounds:
        found["horizon"] = bounds["time"][1]
    return found


def read_beside(
    path: str | Path, columns: Sequence[Column], csv: CsvForm = PLAIN_CSV
) -> dict[str, NDArray[np.float64]]:
    """The numbers in these columns of a file, by the arguments of `fit`: **private**.

    NaN where a cell is missing or was not understood and the dictionary has no fill. The bounds of the column are
    not applied here.
    """
    from ..files import blocks

    names = [column.name for column in columns]
    parts: dict[str, list[NDArray[np.float64]]] = {column.role: [np.zeros(0)] for column in columns}
    for block in blocks(path, names, csv) if columns else ():
        cells = Table(block, names)
        for column in columns:
            parts[column.role].append(_numbers(column, cells))
    return {BESIDE[role]: np.concatenate(found) for role, found in parts.items()}


def _numbers(column: Column, cells: Table) -> NDArray[np.float64]:
    reader, found = CellReader(column), cells.cells(column.name)
    if column.kind == "category":
        places, _ = reader.places(found)
        return np.where(places < 0, np.nan, places.astype(float))
    values, _ = reader.values(found)
    if column.fill is not None and column.kind == "number":
        values = np.where(np.isnan(values), column.value(column.fill), values)
    return values
