"""What a data dictionary says to a command: the task, bounds and classes of a model, and the rows of a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .exits import Refusal
from .options import FILE
from .output import waiting

if TYPE_CHECKING:
    from ..estimators.linear import SparseLinear
    from ..io.dictionary import Dictionary, TableEncoder, Target
    from ..io.files import Table
    from ..io.rows import FileRows
    from ..io.tabular import CsvForm
    from ..rows.unread import UnreadCells

dictionary_option = click.option(
    "--dictionary",
    "dictionary_file",
    type=FILE,
    help="Data dictionary of a table; it declares target, task, bounds and classes. See dpsparse dictionary.",
)

#: Options that a dictionary takes the place of.
TAKEN = (
    "feature_bound",
    "row_norm",
    "target_bound",
    "target_center",
    "classes",
    "weight_bound",
    "offset_bound",
    "horizon",
)


def read_dictionary(path: Path) -> Dictionary:
    """A complete dictionary; otherwise a refusal that lists everything."""
    from ..io.dictionary import Dictionary, DictionaryError

    try:
        return Dictionary.read(path).require()
    except DictionaryError as error:
        raise Refusal(str(error)) from None


def gap_rule(given: str | None, *, described: bool) -> str:
    """What becomes of records with gaps: with a dictionary nothing is refused because of a cell, unless asked for."""
    return given or ("empty" if described else "refuse")


def apply(path: Path | None, options: dict[str, Any]) -> Dictionary | None:
    """Put what a dictionary declares into the options of a model. Without a file it declares nothing."""
    options["on_missing"] = gap_rule(options["on_missing"], described=path is not None)
    if path is None and options["task"] == "survival":
        options["check_cells"] = None
        return None
    if path is None:
        if options["check_cells"]:
            raise Refusal("--check-cells counts cells of a table that a --dictionary describes. Leave it out.")
        options["check_cells"] = None
        if options["task"] is None:
            raise Refusal(
                "Missing option '--task': classification, regression or survival. A --dictionary with a target "
                "says it, too."
            )
        return None
    from ..io.dictionary import DictionaryError, Target
    from ..io.dictionary.beside import columns_beside, settings_beside

    taken = [f"--{name.replace('_', '-')}" for name in TAKEN if options[name] is not None]
    if taken:
        raise Refusal(f"the dictionary declares what {', '.join(taken)} would. Leave the option out, or edit {path}.")
    found = read_dictionary(path)
    if any(column.role == "time" for column in found.columns):
        return _apply_study(path, found, options)
    try:
        target = Target.of(found)
    except DictionaryError as error:
        raise Refusal(str(error)) from None
    if options["task"] not in (None, target.task):
        raise Refusal(
            f"the target {target.column.name!r} is a {target.column.kind}, which means {target.task}. Leave --task out."
        )
    options["check_cells"] = _share(options["check_cells"], options["recipe"])
    bounds = found.output_bounds()
    options |= {"task": target.task, "feature_bound": bounds, "row_norm": bounds.row_norm}
    options |= target.settings
    if target.task == "regression" and (options["loss"] or "").partition(":")[0].lower() == "poisson":
        options |= {"target_bound": target.column.limits[1], "target_center": 0.0}  # counts have no centre
    options |= settings_beside(columns_beside(found))
    return found


def _apply_study(path: Path, found: Dictionary, options: dict[str, Any]) -> Dictionary:
    """The same of the dictionary of a survival study."""
    if options["task"] not in (None, "survival"):
        raise Refusal(f"{path} has columns with the roles time and event, which means survival. Leave --task out.")
    if options["check_cells"]:
        raise Refusal("cells are not counted for survival models yet. Leave --check-cells out.")
    from ..io.dictionary.beside import columns_beside, settings_beside

    bounds = found.output_bounds()
    options |= {"task": "survival", "feature_bound": (bounds.lower, bounds.upper), "row_norm": bounds.row_norm}
    options |= {**settings_beside(columns_beside(found)), "check_cells": None}
    return found


def _share(given: float | None, recipe: str) -> float | None:
    """The share of the budget that counts cells.

    Without an option none for recipes that cannot: on devices, or without privacy.
    """
    from .. import recipes
    from ..fitting.counts import SHARE

    if given is not None:
        return given or None
    known = recipes.get(recipe)
    return SHARE if known.private and not known.local else None


def unit_column_of(given: str | None, name: str | None, dictionary: Dictionary | None) -> str | None:
    """The column with the ids of units: of the option, or of the dictionary; None where every row is a record."""
    declared = None if dictionary is None or dictionary.unit is None else dictionary.unit.name
    if given is not None and dictionary is not None and given != declared:
        raise Refusal("the dictionary names the column of ids. Give it the role unit there, and leave --unit out.")
    column = declared if given is None else given
    if column is None and name is not None:
        raise Refusal("--unit-name is the word for what has one id. Name the column of ids: --unit.")
    return column


def table_columns(path: Path, unit: str, target: str | None, columns: list[str] | None, csv: CsvForm) -> list[str]:
    """The features of a table without its column of ids."""
    from ..io.columns import header

    if path.suffix.lower() not in (".csv", ".parquet"):
        raise Refusal("--unit names a column of one CSV or Parquet file.")
    names = header(path, csv)
    if unit not in names:
        raise Refusal(f"{path} has no column {unit!r}.")
    if unit == target or unit in (columns or ()):
        raise Refusal("the column of ids is no feature and no target. Leave it out of --columns and --target.")
    return [name for name in names if name not in (unit, target)] if columns is None else columns


def read_ids(path: Path, column: str, csv: CsvForm) -> list[object]:
    """The id of each row of a file: **private**; None for a line that was not understood.

    Such lines are not one unit: a person could have rows there and under an id.
    """
    from ..io.columns import UNREADABLE, blocks

    found: list[object] = []
    for block in blocks(path, [column], csv):
        cells = block[column]
        found.extend(cells.to_pylist() if hasattr(cells, "to_pylist") else list(cells))
    return [None if cell == UNREADABLE else cell for cell in found]


def encoded_shape(dictionary: Dictionary) -> tuple[int, bool]:
    """How many columns rows have that were encoded by a dictionary, and whether they are sparse: public."""
    from ..io.dictionary import TableEncoder

    encoder = TableEncoder(dictionary)
    return int(encoder.output_bounds().lower.size), encoder.output_sparse()


def keep(model: SparseLinear, dictionary: Dictionary) -> None:
    """Let a fitted model keep its dictionary, and its statement say what depends on it."""
    from ..estimators.summary import survives

    model.dictionary_ = dictionary
    assumed = (*model.statement_.assumptions, "the data dictionary was written without looking at the rows")
    notes = model.statement_.notes
    ids = [column.name for column in dictionary.columns if column.role == "id"]
    if ids and dictionary.unit is None and not survives(model):
        several = (
            f"the guarantee is for one row, and one {ids[0]!r} may have several rows: give that column the role unit"
        )
        model.statement_ = replace(model.statement_, caveats=(*model.statement_.caveats, several))
    if getattr(model, "check_cells", None) is None:
        notes = (*notes, "cells that were not understood were not counted, so it is not known how many there are")
    model.statement_ = replace(model.statement_, assumptions=assumed, notes=notes)


def encode(path: Path, dictionary: Dictionary, visible: bool, *, target: bool, csv: CsvForm | None = None) -> Table:
    """The rows of a file, encoded; with their targets where asked for. Wrong columns are named all at once."""
    import numpy as np
    import scipy.sparse as sp

    from ..io.dictionary import BoundedArray
    from ..io.files import Table
    from ..rows.unread import UnreadCells

    names, pieces = encoded(path, dictionary, target=target, csv=csv)
    with waiting(f"reading {path}", visible):
        rows, targets, unread = zip(*pieces, strict=True)
    X: Any
    if sp.issparse(rows[0]):
        X = sp.vstack(rows, format="csr")
        X.unread_cells = UnreadCells.below(unread)
    else:
        X = BoundedArray.of(np.concatenate(rows), dictionary.output_bounds(), UnreadCells.below(unread))
    return Table(X, np.concatenate(targets) if target else None, names)


def encode_to_scratch(path: Path, dictionary: Dictionary, visible: bool, csv: CsvForm | None = None) -> FileRows:
    """The same rows with their targets, in a file without a name instead of in memory."""
    import scipy.sparse as sp

    from ..io.rows import spill
    from ..io.streams import RowStream
    from ..rows.unread import UnreadCells

    names, pieces = encoded(path, dictionary, target=True, csv=csv)
    unread: list[UnreadCells] = []

    def rows(pieces: Iterator[tuple[Any, Any, UnreadCells]]) -> Iterator[tuple[Any, Any]]:
        for X, y, cells in pieces:
            unread.append(cells)
            yield X, y

    with waiting(f"reading {path}", visible):
        first = next(pieces)
        stream = RowStream(len(names), bool(sp.issparse(first[0])), names, True, rows(chain([first], pieces)))
        aside = spill(stream, path)
    return replace(aside, unread_cells=UnreadCells.below(unread))


def encoded(
    path: Path, dictionary: Dictionary, *, target: bool, csv: CsvForm | None = None
) -> tuple[tuple[str, ...], Iterator[tuple[Any, Any, UnreadCells]]]:
    """Names of the encoded columns.

    And encoded rows with their targets, or None, and with the cells that were not understood.
    """
    from ..io.columns import header
    from ..io.dictionary import TableEncoder, Target
    from ..io.tabular import PLAIN_CSV

    csv = csv or PLAIN_CSV
    problems = dictionary.differences(header(path, csv), ("feature", "target", "unit") if target else ("feature",))
    if problems:
        raise Refusal("\n".join(f"{path}: {problem}" for problem in problems))
    encoder = TableEncoder(dictionary)
    encoder.fit({column.name: [] for column in dictionary.features})
    pieces = _pieces(path, encoder, Target.of(dictionary) if target else None, csv)
    return tuple(encoder.get_feature_names_out().tolist()), pieces


def _pieces(
    path: Path, encoder: TableEncoder, reader: Target | None, csv: CsvForm
) -> Iterator[tuple[Any, Any, UnreadCells]]:
    from ..io.columns import encoded_blocks
    from ..io.dictionary import DictionaryError

    try:
        yield from encoded_blocks(path, encoder, reader, csv)
    except DictionaryError as error:
        raise Refusal(str(error)) from None
