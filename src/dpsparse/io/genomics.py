"""PLINK 1 (``.bed`` beside ``.bim`` and ``.fam``) and PLINK 2 (``.pgen`` beside ``.pvar`` and ``.psam``).

A record is a sample: the number of copies of the counted allele (0, 1, 2) for each variant, as
PLINK counts them (A1 of a ``.bim`` file, the first ALT of a ``.pvar`` file), then covariates from a
file of their own. PLINK stores variants one after the other, so samples are read in slabs of a fixed
size, each by one pass over the file.

Guarantee
---------
As for `streams`: refusals name files and columns, never a sample or a value. A genotype that is
missing is NaN, or the public value `fill`; a sample that a table of covariates does not name, or
names twice, has NaN for each of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from ..core.errors import DataError
from ..core.regular_files import open_regular
from ..rows.cells import cell_number
from .tabular import ANY_SIZE, PIECE_ENTRIES, Piece, ReadOptions, RowStream

#: Bytes of a slab of samples, each genotype one byte.
SLAB_BYTES = 2**25
#: What a .bed file starts with: two bytes for PLINK 1, one for variants one after the other.
BED_MAGIC = b"\x6c\x1b\x01"
#: Copies of A1 for the four codes of two bits; -9 is missing.
BED_CODES = np.array([2, -9, 1, 0], dtype=np.int8)
MISSING = -9
#: Names of the column of sample ids, and of those in front of covariates that are no covariates.
ID, BESIDES = "IID", ("FID", "IID", "SID", "PAT", "MAT")

Genotypes = Callable[[int, int], NDArray[np.int8]]


@dataclass(frozen=True)
class SampleTable:
    """Columns of text about samples, by name."""

    path: Path
    columns: dict[str, list[str]]

    def numbers(self, name: str) -> NDArray[np.float64]:
        """A column as numbers; NaN where a cell is no number, and for -9, which means missing."""
        found = np.array([cell_number(cell) for cell in self.columns[name]], dtype=float)
        return np.where(found == MISSING, np.nan, found)


def bed_stream(file: IO[bytes], path: Path, wanted: ReadOptions) -> RowStream:
    """PLINK 1, read with numpy alone."""
    fam = _words(path.with_suffix(".fam"), ("FID", "IID", "PAT", "MAT", "SEX", "PHENO"))
    bim = _words(path.with_suffix(".bim"), ("CHROM", "ID", "CM", "POS", "ALT", "REF"))
    samples, variants = len(fam.columns[ID]), len(bim.columns["ID"])
    stride = -(-samples // 4)
    if file.read(3) != BED_MAGIC:
        raise DataError(f"{path} was expected to be a PLINK 1 file that stores variants one after the other.")
    if file.seek(0, 2) != 3 + stride * variants:
        raise DataError(f"{path} has another size than its .bim and .fam files say. Make the three files again.")
    packed = np.memmap(file, dtype=np.uint8, mode="r", offset=3, shape=(variants, stride))
    codes = BED_CODES[(np.arange(256)[:, None] >> np.array([0, 2, 4, 6])) & 3]  # four samples in a byte

    def genotypes(start: int, stop: int) -> NDArray[np.int8]:
        quarters = np.ascontiguousarray(packed[:, start // 4 : -(-stop // 4)].T)
        found = codes[quarters].transpose(0, 2, 1).reshape(-1, variants)
        return np.asarray(found[start % 4 : start % 4 + stop - start])

    return _stream(path, genotypes, fam, "PHENO", _variant_names(bim), wanted)


def pgen_stream(file: IO[bytes], path: Path, wanted: ReadOptions) -> RowStream:
    """PLINK 2 hard calls, read by pgenlib."""
    try:
        from pgenlib import PgenReader
    except ImportError:
        raise ImportError("reading PLINK 2 needs pgenlib. Install it with: pip install 'dpsparse[genomics]'") from None
    psam, pvar = _headed(path.with_suffix(".psam")), _headed(path.with_suffix(".pvar"))
    samples, variants = len(psam.columns[ID]), len(pvar.columns["ID"])
    reader = PgenReader(bytes(path), raw_sample_ct=samples, variant_ct=variants)

    def genotypes(start: int, stop: int) -> NDArray[np.int8]:
        reader.change_sample_subset(np.arange(start, stop, dtype=np.uint32))
        found = np.empty((variants, stop - start), dtype=np.int8)
        reader.read_range(0, variants, found)
        return np.ascontiguousarray(found.T)

    return _stream(path, genotypes, psam, "PHENO1", _variant_names(pvar), wanted)


def _stream(
    path: Path, genotypes: Genotypes, samples: SampleTable, outcome: str, names: Sequence[str], wanted: ReadOptions
) -> RowStream:
    """Genotypes with covariates beside them, and the target: of the samples' own table, or of the covariates."""
    beside, y, extra = _covariates(samples, wanted.covariates, wanted.target)
    if wanted.target is None and outcome in samples.columns:
        y = samples.numbers(outcome)
    width = len(names) + len(extra)

    def pieces() -> Iterator[Piece]:
        count = len(samples.columns[ID])
        slab, step = (4 * max(1, size // (4 * len(names))) for size in (SLAB_BYTES, PIECE_ENTRIES))
        for first in range(0, count, slab):
            counted = genotypes(first, min(first + slab, count))
            for start in range(0, len(counted), step):
                rows = slice(first + start, first + min(start + step, len(counted)))
                X = np.empty((rows.stop - rows.start, width))
                X[:, : len(names)] = counted[start : start + step]
                X[:, : len(names)][X[:, : len(names)] == MISSING] = np.nan if wanted.fill is None else wanted.fill
                X[:, len(names) :] = beside[rows]
                yield X, None if y is None else y[rows]

    return RowStream(width, False, (*names, *extra), False, pieces())


def _covariates(
    samples: SampleTable, given: object, target: str | None
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None, list[str]]:
    """Covariates in the order of the samples, the target where it is one of their columns, and their names."""
    ids = samples.columns[ID]
    if given is None:
        if target is not None and target not in samples.columns:
            raise DataError(f"{samples.path} has no column {target!r}. Name the file that has it: covariates.")
        return np.empty((len(ids), 0)), None if target is None else samples.numbers(target), []
    table = _headed(Path(str(given)))
    if target is not None and target not in table.columns:
        raise DataError(f"{table.path} has no column {target!r}. Check the name: case matters.")
    found = {sample: place for place, sample in enumerate(table.columns[ID])}
    once = Counter(table.columns[ID])
    places = np.array([found[sample] if once[sample] == 1 else -1 for sample in ids], dtype=np.intp)

    def aligned(name: str) -> NDArray[np.float64]:
        return np.append(table.numbers(name), np.nan)[places]

    names = [name for name in table.columns if name not in (*BESIDES, target)]
    beside = np.column_stack([np.empty((len(ids), 0)), *(aligned(name) for name in names)])
    return beside, None if target is None else aligned(target), names


def _variant_names(table: SampleTable) -> list[str]:
    """Ids of variants; where one is missing or repeated, its position and alleles."""
    columns = table.columns
    places = ("CHROM", "POS", "REF", "ALT")
    by_place = [":".join(each) for each in zip(*(columns[name] for name in places), strict=True)]
    times = Counter(columns["ID"])
    named = [one if one != "." and times[one] == 1 else by_place[k] for k, one in enumerate(columns["ID"])]
    again = Counter(named)
    return [one if again[one] == 1 else f"{one}#{k}" for k, one in enumerate(named)]


def _words(path: Path, names: Sequence[str]) -> SampleTable:
    """A file of words separated by blanks, without a line of names."""
    lines = [line.split() for line in _text(path).splitlines() if line.strip()]
    if any(len(line) != len(names) for line in lines):
        raise DataError(f"{path} was expected to have {len(names)} columns in each line: {', '.join(names)}.")
    return SampleTable(path, {name: [line[k] for line in lines] for k, name in enumerate(names)})


def _headed(path: Path) -> SampleTable:
    """A file with a line of names, of which lines that start with ## are no part: tabs, commas or blanks."""
    lines = [line for line in _text(path).splitlines() if line.strip() and not line.startswith("##")]
    if not lines:
        raise DataError(f"{path} was expected to start with a line of names, but is empty.")
    mark = next((mark for mark in "\t," if mark in lines[0]), None)
    header, *cells = ([cell.strip() for cell in line.split(mark)] for line in lines)
    names = [name.lstrip("#") for name in header]
    if ID not in names and "ID" not in names:
        raise DataError(f"{path} was expected to have a column {ID} that names the samples.")
    if len(set(names)) != len(names) or any(len(line) != len(names) for line in cells):
        raise DataError(f"{path} was expected to have as many cells in each line as names, each name once.")
    return SampleTable(path, {name: [line[k] for line in cells] for k, name in enumerate(names)})


def _text(path: Path) -> str:
    with open_regular(path, ANY_SIZE, "a table beside genotypes") as file:
        return file.read().decode("utf-8", errors="replace")
