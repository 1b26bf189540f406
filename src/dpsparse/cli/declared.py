"""What a data dictionary says to a command: the task, bounds and classes of a model, and the rows of a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .exits import Refusal
from .output import waiting

if TYPE_CHECKING:
    from ..estimators.linear import SparseLinear
    from ..io.dictionary import Dictionary, TableEncoder, Target
    from ..io.files import Table
    from ..io.rows import FileRows
    from ..rows.unread import UnreadCells

dictionary_option = click.option(
    "--dictionary",
    "dictionary_file",
    type=click.Path(path_type=Path),
    help="Data dictionary of a table; it declares target, task, bounds and classes. See dpsparse dictionary.",
)

#: Options that a dictionary takes the place of.
TAKEN = ("feature_bound", "row_norm", "target_bound", "target_center", "classes")


def read_dictionary(path: Path) -> Dictionary:
    """A complete dictionary; otherwise a refusal that lists everything."""
    from ..io.dictionary import Dictionary, DictionaryError

    try:
        return Dictionary.read(path).require()
    except DictionaryError as error:
        raise Refusal(str(error)) from None


def apply(path: Path | None, options: dict[str, Any]) -> Dictionary | None:
    """Put what a dictionary declares into the options of a model. Without a file nothing changes."""
    if path is None:
        if options["check_cells"]:
            raise Refusal("--check-cells counts cells of a table that a --dictionary describes. Leave it out.")
        options["check_cells"] = None
        if options["task"] is None:
            raise Refusal(
                "Missing option '--task': classification or regression. A --dictionary with a target says it, too."
            )
        return None
    from ..io.dictionary import DictionaryError, Target

    taken = [f"--{name.replace('_', '-')}" for name in TAKEN if options[name] is not None]
    if taken:
        raise Refusal(f"the dictionary declares what {', '.join(taken)} would. Leave the option out, or edit {path}.")
    found = read_dictionary(path)
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


def encoded_shape(dictionary: Dictionary) -> tuple[int, bool]:
    """How many columns rows have that were encoded by a dictionary, and whether they are sparse: public."""
    from ..io.dictionary import TableEncoder

    encoder = TableEncoder(dictionary)
    return int(encoder.output_bounds().lower.size), encoder.output_sparse()


def keep(model: SparseLinear, dictionary: Dictionary) -> None:
    """Let a fitted model keep its dictionary, and its statement say what rests on it."""
    model.dictionary_ = dictionary
    assumed = (*model.statement_.assumptions, "the data dictionary was written without looking at the rows")
    notes = model.statement_.notes
    if model.check_cells is None:
        notes = (*notes, "cells that were not understood were not counted, so it is not known how many there are")
    model.statement_ = replace(model.statement_, assumptions=assumed, notes=notes)


def encode(path: Path, dictionary: Dictionary, visible: bool, *, target: bool) -> Table:
    """The rows of a file, encoded; with their targets where asked for. Wrong columns are named all at once."""
    import numpy as np
    import scipy.sparse as sp

    from ..io.dictionary import BoundedArray
    from ..io.files import Table
    from ..rows.unread import UnreadCells

    names, pieces = encoded(path, dictionary, target=target)
    with waiting(f"reading {path}", visible):
        rows, targets, unread = zip(*pieces, strict=True)
    X: Any
    if sp.issparse(rows[0]):
        X = sp.vstack(rows, format="csr")
        X.unread_cells = UnreadCells.below(unread)
    else:
        X = BoundedArray.of(np.concatenate(rows), dictionary.output_bounds(), UnreadCells.below(unread))
    return Table(X, np.concatenate(targets) if target else None, names)


def encode_to_scratch(path: Path, dictionary: Dictionary, visible: bool) -> FileRows:
    """The same rows with their targets, in a file without a name instead of in memory."""
    import scipy.sparse as sp

    from ..io.rows import spill
    from ..io.streams import RowStream
    from ..rows.unread import UnreadCells

    names, pieces = encoded(path, dictionary, target=True)
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
    path: Path, dictionary: Dictionary, *, target: bool
) -> tuple[tuple[str, ...], Iterator[tuple[Any, Any, UnreadCells]]]:
    """Names of the encoded columns.

    And encoded rows with their targets, or None, and with the cells that were not understood.
    """
    from ..io.columns import header
    from ..io.dictionary import TableEncoder, Target

    problems = dictionary.differences(header(path), ("feature", "target") if target else ("feature",))
    if problems:
        raise Refusal("\n".join(f"{path}: {problem}" for problem in problems))
    encoder = TableEncoder(dictionary)
    encoder.fit({column.name: [] for column in dictionary.features})
    pieces = _pieces(path, encoder, Target.of(dictionary) if target else None)
    return tuple(encoder.get_feature_names_out().tolist()), pieces


def _pieces(path: Path, encoder: TableEncoder, reader: Target | None) -> Iterator[tuple[Any, Any, UnreadCells]]:
    from ..io.columns import encoded_blocks
    from ..io.dictionary import DictionaryError

    try:
        yield from encoded_blocks(path, encoder, reader)
    except DictionaryError as error:
        raise Refusal(str(error)) from None
