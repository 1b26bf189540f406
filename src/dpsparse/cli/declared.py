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
    from ..readers import FileRows
    from ..readers.table import Table
    from ..tables import Dictionary, TableEncoder, Target

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
    from ..tables import Dictionary, DictionaryError

    try:
        return Dictionary.read(path).require()
    except DictionaryError as error:
        raise Refusal(str(error)) from None


def apply(path: Path | None, options: dict[str, Any]) -> Dictionary | None:
    """Put what a dictionary declares into the options of a model. Without a file nothing changes."""
    if path is None:
        if options["task"] is None:
            raise Refusal(
                "Missing option '--task': classification or regression. A --dictionary with a target says it, too."
            )
        return None
    from ..tables import DictionaryError, Target

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
    bounds = found.output_bounds()
    options |= {"task": target.task, "feature_bound": (bounds.lower, bounds.upper), "row_norm": bounds.row_norm}
    options |= target.settings
    return found


def keep(model: SparseLinear, dictionary: Dictionary) -> None:
    """Let a fitted model keep its dictionary, and its statement say what rests on it."""
    model.dictionary_ = dictionary
    assumed = (*model.statement_.assumptions, "the data dictionary was written without looking at the rows")
    model.statement_ = replace(model.statement_, assumptions=assumed)


def encode(path: Path, dictionary: Dictionary, visible: bool, *, target: bool) -> Table:
    """The rows of a file, encoded; with their targets where asked for. Wrong columns are named all at once."""
    import numpy as np
    import scipy.sparse as sp

    from ..readers.table import Table

    names, pieces = encoded(path, dictionary, target=target)
    with waiting(f"reading {path}", visible):
        rows, targets = zip(*pieces, strict=True)
    X = sp.vstack(rows, format="csr") if sp.issparse(rows[0]) else np.concatenate(rows)
    return Table(X, np.concatenate(targets) if target else None, names)


def encode_aside(path: Path, dictionary: Dictionary, visible: bool) -> FileRows:
    """The same rows with their targets, in a file without a name instead of in memory."""
    import scipy.sparse as sp

    from ..readers.rows import put_aside
    from ..readers.streams import Stream

    names, pieces = encoded(path, dictionary, target=True)
    with waiting(f"reading {path}", visible):
        first = next(pieces)
        return put_aside(Stream(len(names), bool(sp.issparse(first[0])), names, True, chain([first], pieces)), path)


def encoded(path: Path, dictionary: Dictionary, *, target: bool) -> tuple[tuple[str, ...], Iterator[tuple[Any, Any]]]:
    """Names of the encoded columns; and encoded rows with their targets, or None, some at a time."""
    from ..readers.columns import header
    from ..tables import TableEncoder, Target

    problems = dictionary.differences(header(path), ("feature", "target") if target else ("feature",))
    if problems:
        raise Refusal("\n".join(f"{path}: {problem}" for problem in problems))
    encoder = TableEncoder(dictionary)
    encoder.fit({column.name: [] for column in dictionary.features})
    pieces = _pieces(path, dictionary, encoder, Target.of(dictionary) if target else None)
    return tuple(encoder.get_feature_names_out().tolist()), pieces


def _pieces(
    path: Path, dictionary: Dictionary, encoder: TableEncoder, reader: Target | None
) -> Iterator[tuple[Any, Any]]:
    import numpy as np
    import scipy.sparse as sp

    from ..readers.columns import blocks
    from ..tables import DictionaryError

    wanted = [*(column.name for column in dictionary.features), *([] if reader is None else [reader.column.name])]
    empty = True
    try:
        for block in blocks(path, wanted):
            rows = encoder.transform(block)
            empty = False
            yield rows if sp.issparse(rows) else np.asarray(rows), None if reader is None else reader.read(block)
    except DictionaryError as error:
        raise Refusal(str(error)) from None
    if empty:
        raise Refusal(f"{path} holds no rows. Write the file again.")
