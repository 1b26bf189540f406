"""What a data dictionary says to a command: the task, bounds and classes of a model, and the rows of a table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .exits import Refusal
from .output import waiting

if TYPE_CHECKING:
    from ..estimators.linear import SparseLinear
    from ..readers.table import Table
    from ..tables import Dictionary

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

    from ..readers.columns import blocks, header
    from ..readers.table import Table
    from ..tables import DictionaryError, TableEncoder, Target

    names = header(path)
    problems = dictionary.differences(names, ("feature", "target") if target else ("feature",))
    if problems:
        raise Refusal("\n".join(f"{path}: {problem}" for problem in problems))
    features = [column.name for column in dictionary.features]
    reader = Target.of(dictionary) if target else None
    wanted = [*features, *([] if reader is None else [reader.column.name])]
    encoder = TableEncoder(dictionary)
    encoder.fit({name: [] for name in features})
    rows, targets = [], []
    with waiting(f"reading {path}", visible):
        try:
            for block in blocks(path, wanted):
                rows.append(encoder.transform(block))
                if reader is not None:
                    targets.append(reader.read(block))
        except DictionaryError as error:
            raise Refusal(str(error)) from None
    if not rows:
        raise Refusal(f"{path} holds no rows. Write the file again.")
    X = sp.vstack(rows, format="csr") if sp.issparse(rows[0]) else np.concatenate([np.asarray(part) for part in rows])
    y = np.concatenate(targets) if targets else None
    return Table(X, y, tuple(encoder.get_feature_names_out().tolist()))
