"""Files of any kind that is read, written once as a block file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..core.errors import DataError
from ..core.regular_files import open_whole, same_file
from .rows import BLOCKS, Paths, Tell, expand, files_kind, write_blocks
from .streams import ReadOptions


def convert(
    paths: Paths,
    out: str | os.PathLike[str],
    target: str | None = None,
    *,
    n_features: int | None = None,
    columns: Sequence[str] | None = None,
    zero_based: bool = False,
    classes: Sequence[Any] | None = None,
    tell: Tell | None = None,
) -> None:
    """Write rows as a block file, which fits read quickly and within any memory.

    Rows are raw: bounds are declared when a model is fitted. The file can be read by its owner alone (mode 600), and appears whole or not at all.

    Parameters
    ----------
    paths, target, n_features, columns, zero_based, classes, tell
        As for `open_rows`.
    out : path
        Where to write; its ending is ``.dpsrows``. An older file is replaced.
    """
    files, out = expand(paths), Path(out)
    kind = files_kind(files)
    if kind == "block":
        raise DataError(f"{files[0]} is a block file already. Use it as it is.")
    if out.suffix.lower() != BLOCKS:
        raise DataError(f"{out} was expected to end with {BLOCKS}. Choose another name.")
    if any(same_file(out, path) for path in files):
        raise DataError(f"{out} is one of the files that are read. Choose another name.")
    with open_whole(out, 0o600) as file:
        write_blocks(files, kind, ReadOptions(target, n_features, columns, zero_based, classes), file, tell)
