"""Data for a command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .output import waiting

if TYPE_CHECKING:
    from ..readers.table import Table


def kind_of(path: Path) -> str | None:
    """What kind of file an ending stands for."""
    from ..readers.files import KINDS

    return KINDS.get(path.suffix.lower())


def read(path: Path, visible: bool, **options: Any) -> Table:
    """Read a file, as `dpsparse.readers.files.read_table` does. What is missing or no number becomes NaN; models decide about it."""
    from ..readers.files import read_table

    with waiting(f"reading {path}", visible):
        return read_table(path, **options)
