"""Files: CSV, Parquet, svmlight, numpy arrays and block files, read without learning anything from their cells that is not asked for."""

from .convert import convert
from .rows import FileRows, open_rows

__all__ = ["FileRows", "convert", "open_rows"]
