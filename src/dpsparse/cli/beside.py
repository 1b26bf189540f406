"""Columns beside features and target, by options or by a dictionary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .exits import Refusal
from .output import waiting

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..io.dictionary import Column, Dictionary
    from ..io.tabular import CsvForm


def columns_of(
    named: Mapping[str, str | None], dictionary: Dictionary | None, options: Mapping[str, Any]
) -> tuple[Column, ...]:
    """The columns with a role beside features and target; refuses options without the bounds that they need."""
    from ..io.dictionary import Column
    from ..io.dictionary.beside import columns_beside

    given = {role: name for role, name in named.items() if name is not None}
    if dictionary is not None:
        if given:
            raise Refusal(f"the dictionary says the roles of columns. Leave --{next(iter(given))} out.")
        return columns_beside(dictionary)
    if "weight" in given and options["weight_bound"] is None:
        raise Refusal("--weight needs --weight-bound: the largest weight of a record, from public knowledge.")
    if {"offset", "exposure"} & set(given) and options["offset_bound"] is None:
        raise Refusal("--offset and --exposure need --offset-bound lo,hi; for an exposure, logarithms of its bounds.")
    if {"time", "event", "entry"} & set(given) and options["task"] != "survival":
        raise Refusal("--time, --event and --entry belong to --task survival.")
    if {"weight", "offset", "exposure"} & set(given) and options["task"] == "survival":
        raise Refusal("--task survival takes no weights and no offsets. Leave them out.")
    if "offset" in given and "exposure" in given:
        raise Refusal("an exposure is an offset on the scale of logarithms. Give --offset or --exposure.")
    kinds = {role: "boolean" if role == "event" else "number" for role in given}
    return tuple(Column(name=name, role=role, kind=kinds[role]) for role, name in given.items())


def read_named(path: Path, columns: Sequence[Column], visible: bool, csv: CsvForm) -> dict[str, NDArray[np.float64]]:
    """Their numbers, by the arguments of `fit`."""
    from ..io.columns import header
    from ..io.dictionary.beside import read_beside

    if not columns:
        return {}
    absent = [column.name for column in columns if column.name not in header(path, csv)]
    if absent:
        raise Refusal(f"{path} has no column {', '.join(map(repr, absent))}.")
    with waiting(f"reading {path}", visible):
        return read_beside(path, columns, csv)


def columns_applied(
    named: Mapping[str, str | None], dictionary: Dictionary | None, path: Path, csv: CsvForm
) -> tuple[Column, ...]:
    """The columns of offsets that a model is applied with: named ones, or those of its dictionary that are there."""
    from ..io.columns import header
    from ..io.dictionary import Column
    from ..io.dictionary.beside import columns_beside

    given = {role: name for role, name in named.items() if name is not None}
    if dictionary is not None and not given:
        known = [column for column in columns_beside(dictionary) if column.role in ("offset", "exposure")]
        return tuple(column for column in known if column.name in header(path, csv))
    return tuple(Column(name=name, role=role, kind="number") for role, name in given.items())
