"""Data for a command: read, and free of holes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .exits import Refusal
from .output import waiting

if TYPE_CHECKING:
    from ..readers.table import Table


def kind_of(path: Path) -> str | None:
    """What kind of file an ending stands for."""
    from ..readers.files import KINDS

    return KINDS.get(path.suffix.lower())


def read(path: Path, visible: bool, **options: Any) -> Table:
    """Read a file, as `dpsparse.readers.files.read_table` does, and refuse missing values without saying where they are."""
    import numpy as np
    import scipy.sparse as sp

    from ..readers.files import read_table

    with waiting(f"reading {path}", visible):
        table = read_table(path, **options)
        for part in (table.X.data if sp.issparse(table.X) else table.X, table.y):
            values = np.asarray(part)
            if values.dtype.kind == "f" and not np.all(np.isfinite(values)):
                raise Refusal(
                    f"{path} holds missing or infinite values, or cells that are no numbers. Fill or drop them first."
                )
    return table
