"""Readers of files, which learn nothing from cells that is not asked for.

Formats are CSV, Parquet, svmlight, numpy arrays and block files.
"""

from pathlib import Path

from .io.rows import FileRows, convert, open_rows
from .io.tabular import CsvForm

#: `dpsparse.readers.cluster` is found here.
__path__ = [str(Path(__file__).with_name("io") / "addresses")]

__all__ = ["CsvForm", "FileRows", "convert", "open_rows"]
