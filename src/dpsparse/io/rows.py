"""Rows in files, opened without being read into memory."""

from __future__ import annotations

import glob
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..core.errors import DataError, DiskFullError
from ..core.regular_files import open_regular, open_whole, same_file
from ..rows.lattice import BLOCK_ROWS
from ..rows.scratch import scratch_folder
from ..rows.unread import UnreadCells
from .block_file import BlockFile, BlockWriter
from .files import opened, other_width
from .labels import joined_targets
from .streams import KINDS, SAMPLES, STREAMS
from .tabular import ANY_SIZE, LISTS, PLAIN_CSV, CsvForm, Matrix, ReadOptions, RowStream, parquet_header

#: The ending of block files.
BLOCKS = ".dpsrows"

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
#: Told which part of the files is read.
Tell = Callable[[float], None]


@dataclass(frozen=True, eq=False, repr=False)
class FileRows:
    """Rows of block files, one after the other, and their targets: for `fit` and `predict` in place of X.

    Prints without what it holds.

    Attributes
    ----------
    parts : tuple of BlockFile
    shape : (int, int)
    names : tuple of str or None
        Names of the columns, where files name them.
    sparse : bool
    entries : int
        How many numbers are stored.
    finite : bool
        Whether all of them are finite, as the files say.
    unread_cells : UnreadCells or None
        Which cells of an encoded table were not understood, for a priced count: **private**.
    """

    parts: tuple[BlockFile, ...]
    _last: dict[tuple[int, int], Matrix] = field(default_factory=dict)
    unread_cells: UnreadCells | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return int(self._edges[-1]), self.parts[0].n_features

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns."""
        return self.parts[0].names

    @property
    def sparse(self) -> bool:
        """Whether rows come sparse."""
        return self.parts[0].sparse

    @property
    def entries(self) -> int:
        """How many numbers are stored."""
        return sum(int(part.table["entries"].sum(dtype=np.int64)) for part in self.parts)

    @property
    def finite(self) -> bool:
        """Whether files say that all numbers are finite."""
        return all(bool(part.table["finite"].all()) for part in self.parts)

    @cached_property
    def _blocks(self) -> list[tuple[int, int, int]]:
        """File, number in it and entries of each block."""
        return [(p, b, int(size)) for p, part in enumerate(self.parts) for b, size in enumerate(part.table["entries"])]

    @cached_property
    def _edges(self) -> NDArray[np.int64]:
        """The first row of each block, and last the number of rows."""
        return np.cumsum([0, *(rows for part in self.parts for rows in part.table["rows"].tolist())], dtype=np.int64)

    def cut(self, entries: int) -> list[int]:
        """Row numbers between which at most about `entries` numbers stand.

        Whole blocks together, or equal parts of one.
        """
        edges, held = [0], 0
        for (_, _, size), start, stop in zip(
            self._blocks, *(e.tolist() for e in (self._edges[:-1], self._edges[1:])), strict=True
        ):
            full = held + size > entries or stop - edges[-1] > BLOCK_ROWS
            if full and start > edges[-1]:
                edges.append(start)
                held = 0
            if size > entries:
                step = max(1, (stop - start) * entries // size)
                edges += range(start + step, stop, step)
            held += size
        return [*edges, self.shape[0]]

    def rows(self, start: int, stop: int) -> Matrix:
        """Some rows as floats."""
        found = []
        first = int(np.searchsorted(self._edges, start, side="right")) - 1
        for number in range(first, int(np.searchsorted(self._edges, stop))):
            part, block, _ = self._blocks[number]
            before = int(self._edges[number])
            found.append(self._block(part, block)[max(start - before, 0) : stop - before])
        if len(found) == 1:
            return found[0]
        if not found:  # a file may hold no rows: their number is private under add-remove adjacency
            return sp.csr_matrix(self.shape) if self.sparse else np.zeros(self.shape)
        return sp.vstack(found, format="csr") if self.sparse else np.concatenate(found)

    def _block(self, part: int, block: int) -> Matrix:
        """The rows of a block; the last one is kept, for it may be asked for in parts."""
        if (part, block) not in self._last:
            self._last.clear()
            self._last[part, block] = self.parts[part].read(block)
        return self._last[part, block]

    def targets(self, meant: str) -> NDArray[np.generic] | None:
        """The target of each row: ``numbers``, ``texts``, or ``labels``, which may be either.

        None without them.
        """
        if not all(part.has_targets for part in self.parts):
            return None
        return joined_targets([t for part in self.parts for t in part.read_targets()], meant, self.parts[0].path)

    def __repr__(self) -> str:
        return f"FileRows({'sparse' if self.sparse else 'dense'}, {self.shape[1]} features)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("rows in files are not copied; open the files again.")


def open_rows(
    paths: Paths,
    target: str | None = None,
    *,
    n_features: int | None = None,
    columns: Sequence[str] | None = None,
    zero_based: bool = False,
    classes: Sequence[object] | None = None,
    tell: Tell | None = None,
    csv: CsvForm = PLAIN_CSV,
    covariates: str | os.PathLike[str] | Sequence[str] | None = None,
    fill: float | None = None,
) -> FileRows:
    """Open files of rows that may be larger than the memory, for `fit` and `predict`.

    Block files (``.dpsrows``, see `convert`) are read where they are. Others are read once, and put
    aside as raw rows in a file without a name, which is gone when the rows are no longer used;
    `convert` saves doing that for every fit.

    Parameters
    ----------
    paths : path, pattern such as ``"rows/*.parquet"``, or list of paths
        Files of one kind, taken in the order of their names, or of the list: ``.csv``,
        ``.parquet``, ``.svmlight``, ``.npy``, ``.npz``, ``.dpsrows``, ``.bed`` (PLINK 1), ``.pgen``
        (PLINK 2) or ``.h5ad`` (AnnData). Sparse rows in Parquet are two columns of lists, of column
        numbers (from 0 on) and of values.
    target : str or None
        Column of the target in CSV and Parquet, in obs of AnnData, or in `covariates` of PLINK
        (None: the phenotype of ``.fam`` or ``.psam``); for ``.npy`` the path of another such file.
        The others hold their own.
    n_features : int or None
        Public number of features; required for svmlight and for lists in Parquet.
    columns : sequence of str or None
        Features to take from CSV and Parquet, in this order; for lists their two columns. None:
        every column but the target.
    zero_based : bool
        Whether columns of svmlight files are counted from 0; the format counts from 1.
    classes : sequence or None
        Labels, if the target is one of a declared set: a target with any other label is stored
        without one. Needed for CSV files whose targets are texts of more than 4,096 kinds; a path
        that is given to `fit` takes those of the model.
    tell : callable, optional
        Called with the part of the files that is read.
    csv : CsvForm
        What separates the cells of CSV files, and their encoding.
    covariates : path, names or None
        For PLINK files, a table of numbers with a column IID, whose other columns come after the
        variants, and may hold the target. For AnnData, names of columns of obs.
    fill : float or None
        For PLINK and AnnData files, the public value in place of a missing genotype or entry. None:
        it stays missing.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "table.csv")
    ...     _ = file.write_text("age,dose,y\\n41,2,0\\n36,1,1\\n")
    ...     open_rows(file, "y")
    FileRows(dense, 2 features)
    """
    wanted = ReadOptions(target, n_features, columns, zero_based, classes, csv=csv, covariates=covariates, fill=fill)
    return open_files(expand(paths), wanted, tell)


def open_files(files: Sequence[Path], wanted: ReadOptions, tell: Tell | None = None) -> FileRows:
    """The same of a list of files."""
    kind = files_kind(files)
    if kind != "block":
        with _scratch() as file:
            write_blocks(files, kind, wanted, file, tell)
            found = FileRows((BlockFile.open(file, files[0]),))
    elif wanted.target not in (None, "y") or wanted.columns is not None:
        raise DataError("block files hold their own target and columns. Leave the names out.")
    else:
        found = FileRows(tuple(_block_file(path) for path in files))
    _refuse_differences(found, files, wanted.n_features)
    return found


@contextmanager
def _scratch() -> Iterator[IO[bytes]]:
    """A new file without a name, which is closed at once if anything fails."""
    file = tempfile.TemporaryFile(dir=scratch_folder())  # noqa: SIM115
    try:
        yield file
    except BaseException:
        file.close()
        raise


def _refuse_beside(kind: str, wanted: ReadOptions, path: Path) -> None:
    """Refuse what belongs to other kinds of files, and several files of which each has samples of its own."""
    if kind in SAMPLES:
        if wanted.columns is not None:
            raise DataError(f"{path}: all features of {kind} files are read. Leave the columns' names out.")
    elif wanted.covariates is not None or wanted.fill is not None:
        raise DataError(f"{path}: covariates and fill belong to {', '.join(SAMPLES)} files. Leave them out.")


def spill(stream: RowStream, path: Path) -> FileRows:
    """Rows that a program makes piece by piece, in a file without a name. `path` is what messages name."""
    with _scratch() as file:
        writer = BlockWriter(file, stream.n_features, stream.sparse, stream.names, typed=stream.typed)
        for X, y in stream.pieces:
            with _disk_errors():
                writer.add(X, y)
        with _disk_errors():
            writer.finish()
        return FileRows((BlockFile.open(file, path),))


def write_blocks(
    files: Sequence[Path],
    kind: str,
    wanted: ReadOptions,
    out: IO[bytes],
    tell: Tell | None,
    place: Path | None = None,
) -> None:
    """Write the rows of files of another kind as blocks; `place` names the file, where it is no scratch file."""
    _refuse_beside(kind, wanted, files[0])
    total, done = sum(path.stat().st_size for path in files if path.is_file()) or 1, 0
    writer: BlockWriter | None = None
    like: RowStream | None = None
    for path in files:
        with opened(path, kind) as file:
            stream = STREAMS[kind](file, path, wanted)
            if writer is None or like is None:
                like = stream
                form = stream.n_features, stream.sparse, stream.names
                writer = BlockWriter(out, *form, typed=stream.typed, classes=wanted.classes)
            if (stream.n_features, stream.names, stream.typed) != (like.n_features, like.names, like.typed):
                raise DataError(f"{path} has other columns than {files[0]}. Use files with the same columns.")
            for X, y in stream.pieces:
                with _disk_errors(place):
                    writer.add(X, y)
                if tell is not None:
                    tell(min(1.0, (done + file.tell()) / total))
            done += os.fstat(file.fileno()).st_size
    assert writer is not None
    with _disk_errors(place):
        writer.finish()


def convert(
    paths: Paths,
    out: str | os.PathLike[str],
    target: str | None = None,
    *,
    n_features: int | None = None,
    columns: Sequence[str] | None = None,
    zero_based: bool = False,
    classes: Sequence[object] | None = None,
    tell: Tell | None = None,
    csv: CsvForm = PLAIN_CSV,
    covariates: str | os.PathLike[str] | Sequence[str] | None = None,
    fill: float | None = None,
) -> None:
    """Write rows as a block file, which fits read quickly and within any memory.

    Rows are raw: bounds are declared when a model is fitted. The file can be read by its owner
    alone (mode 600), and appears whole or not at all.

    Parameters
    ----------
    paths, target, n_features, columns, zero_based, classes, tell, csv, covariates, fill
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
        wanted = ReadOptions(
            target, n_features, columns, zero_based, classes, csv=csv, covariates=covariates, fill=fill
        )
        write_blocks(files, kind, wanted, file, tell, out)


def expand(paths: Paths) -> list[Path]:
    """Paths of a pattern or a list."""
    if not isinstance(paths, str | os.PathLike):
        listed = [Path(path) for path in paths]
        if not listed:
            raise DataError("no file was named. List at least one.")
        return listed
    if not glob.has_magic(os.fspath(paths)) or os.path.exists(paths):
        return [Path(paths)]
    found = [Path(path) for path in sorted(glob.glob(os.fspath(paths)))]
    if not found:
        raise FileNotFoundError(f"no file is called like {os.fspath(paths)!r}. Check the pattern.")
    return found


def holds_sparse(paths: Paths) -> bool:
    """Whether files hold sparse rows, by their kind, or by the names of what they hold. Reads no row."""
    first = expand(paths)[0]
    kind = files_kind([first])
    if kind == "block":
        return _block_file(first).sparse
    if kind not in ("npz", "Parquet", "AnnData"):
        return kind == "svmlight"
    with opened(first, kind) as file:
        if kind == "AnnData":
            from .anndata import holds_sparse_genes

            return holds_sparse_genes(file)
        return (
            "X.npy" not in zipfile.ZipFile(file).namelist()
            if kind == "npz"
            else set(LISTS) <= set(parquet_header(file))
        )


def names_files(text: str) -> bool:
    """Whether a text ends as names of files do that can be opened."""
    return Path(text).suffix.lower() in (*KINDS, BLOCKS)


def files_kind(files: Sequence[Path]) -> str:
    """What kind of files these are; ``block`` for our own."""
    endings = {path.suffix.lower() for path in files}
    kinds = {"block" if ending == BLOCKS else KINDS.get(ending, "") for ending in endings}
    if "" in kinds:
        raise DataError(f"{files[0]} has an ending that is not known. Use one of: {', '.join([*KINDS, BLOCKS])}.")
    if len(kinds) > 1:
        raise DataError("files of several kinds were named together. Open files of one kind.")
    return kinds.pop()


def _block_file(path: Path) -> BlockFile:
    return BlockFile.open(open_regular(path, ANY_SIZE, "a block file"), path)


def _refuse_differences(rows: FileRows, files: Sequence[Path], n_features: int | None) -> None:
    first = rows.parts[0]
    for part in rows.parts[1:]:
        if (part.n_features, part.sparse, part.names) != (first.n_features, first.sparse, first.names):
            raise DataError(f"{part.path} has other columns than {first.path}. Use files with the same columns.")
    if n_features is not None and rows.shape[1] != n_features:
        raise other_width(files[0], rows.shape[1], n_features)


@contextmanager
def _disk_errors(place: Path | None = None) -> Iterator[None]:
    """Say in our words that the disk of a file is full, or that of scratch files."""
    try:
        yield
    except OSError:
        if place is not None:
            raise DiskFullError(
                f"{place} could not be written: there is no space in {place.absolute().parent}. Free some, or choose "
                "another place."
            ) from None
        raise DiskFullError(
            f"rows could not be written to a scratch file in {scratch_folder()}: there is no space. Free some, or name "
            "another folder in the environment variable TMPDIR."
        ) from None
