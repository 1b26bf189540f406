"""Records of fits in one small file: a row for each fit, by the name of its cell and its seed."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks.coverage.fits import Record

FILE = Path(__file__).resolve().parents[1] / "results" / "coverage.parquet"
#: Columns that are text.
NAMES = ("cell", "flag")


class Store:
    """All records, read once and written after every piece of work, so that a run can be stopped at any time and taken up again."""

    def __init__(self, file: Path = FILE) -> None:
        self.file = file
        self._found = self._read()

    def _read(self) -> pd.DataFrame:
        return pd.read_parquet(self.file) if self.file.exists() else pd.DataFrame(columns=["cell", "seed"])

    def seeds(self, cell: str) -> set[int]:
        """Seeds that a cell has already."""
        return set(self._found.loc[self._found["cell"] == cell, "seed"].astype(int))

    def records(self, cell: str) -> pd.DataFrame:
        """Fits of a cell."""
        return self._found[self._found["cell"] == cell]

    def cells(self) -> list[str]:
        """Names of cells, in the order in which they came."""
        return list(dict.fromkeys(self._found["cell"]))

    def add(self, cell: str, records: dict[int, Record]) -> None:
        """Add records by seed to what the file holds by now, and write it."""
        self._found = self._read()
        new = pd.DataFrame([{"cell": cell, "seed": seed, **record} for seed, record in records.items()])
        for name in new.columns.difference(NAMES):
            new[name] = new[name].astype("int32" if name == "seed" else "float32")
        self._found = pd.concat([self._found, new], ignore_index=True) if len(self._found) else new
        part = self.file.with_suffix(".part")
        self._found.to_parquet(part, compression="zstd", index=False)
        part.replace(self.file)
