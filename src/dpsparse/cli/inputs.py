"""Rows for a command: files of any kind, tables with a data dictionary, and the columns beside features and target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from glob import has_magic
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .exits import Refusal
from .output import telling, waiting

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..io.dictionary import Column, Dictionary
    from ..io.files import Table
    from ..io.rows import FileRows
    from ..io.tabular import CsvForm, RowStream
    from ..rows.hosts import ClusterRows
    from ..rows.unread import UnreadCells


#: What becomes of records with gaps.
Gaps = Literal["refuse", "empty"]


@dataclass(frozen=True, kw_only=True)
class CsvOptions:
    """How a CSV file is written.

    Parameters
    ----------
    delimiter
        What separates the cells of a CSV file: ';', '|' or tab. Default: ','.
    encoding
        Encoding of a CSV file, such as cp1252. Default: utf-8.
    """

    delimiter: str | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None or self.encoding is not None:
            _ = self.csv  # refuses what is neither

    @property
    def csv(self) -> CsvForm:
        """The same, as readers take it."""
        from ..io.tabular import CsvForm

        try:
            return CsvForm(self.delimiter or ",", self.encoding or "utf-8")
        except ValueError as error:
            raise Refusal(f"--delimiter, --encoding: {error}") from None


@dataclass(frozen=True, kw_only=True)
class FormOptions(CsvOptions):
    """How files of several kinds are written.

    Parameters
    ----------
    covariates
        PLINK: a table with a column IID. AnnData: columns of obs, separated by commas.
    fill
        PLINK, AnnData: public value in place of a missing genotype or entry.
    """

    zero_based: bool = False
    covariates: str | None = None
    fill: float | None = None

    @property
    def samples(self) -> dict[str, object]:
        """What belongs to files with a table about their samples."""
        return {"covariates": self.covariates, "fill": self.fill}


@dataclass(frozen=True)
class DataFile:
    """A file of rows, or a pattern of several, that was named on the command line.

    Attributes
    ----------
    path : Path
    form : CsvOptions
        How it is written.
    visible : bool
        Whether progress is shown.
    """

    path: Path
    form: CsvOptions = field(default_factory=CsvOptions)
    visible: bool = False

    @property
    def kind(self) -> str | None:
        """What kind of file the ending stands for."""
        from ..io.streams import KINDS

        return KINDS.get(self.path.suffix.lower())

    @property
    def named(self) -> bool:
        """Whether its columns have names."""
        from ..io.streams import NAMED

        return self.kind in NAMED

    @property
    def has_samples(self) -> bool:
        """Whether it has a table about its samples beside the features."""
        from ..io.streams import SAMPLES

        return self.kind in SAMPLES

    def stays_in_files(self, memory_limit: str | None, target: str | None = None) -> bool:
        """Whether rows are read in blocks: within a limit, from several files, or from files that are made for it."""
        ending = self.path.suffix.lower()
        if ending == ".npy" and target is not None and target.isdecimal() and memory_limit is None:
            return False  # a table with its target among the columns is read whole
        from ..io.rows import BLOCKS

        several = has_magic(str(self.path)) and not self.path.exists()
        return memory_limit is not None or several or ending in (BLOCKS, ".npy") or self.has_samples

    def header(self, *needed: str | None, what: str = "") -> list[str]:
        """The names of its columns; refuses a file that lacks one of those that are needed."""
        from ..io.files import header

        names = header(self.path, self.form.csv)
        absent = [name for name in needed if name is not None and name not in names]
        if absent:
            raise Refusal(f"{self.path} has no column {', '.join(map(repr, absent))}{what}.")
        return names

    def need_target(self, target: str | None) -> None:
        """Refuse a table without the name of its target."""
        if target is None and self.named:
            raise Refusal("no target was named. Give its column with --target.")

    # ---------------------------------------------------------------------------------------------- rows

    def read(self, **options: Any) -> Table:
        """The rows in memory, as `dpsparse.io.files.read_table` reads them.

        What is missing or no number becomes NaN; models decide about it.
        """
        from ..io.files import read_table

        with waiting(f"reading {self.path}", self.visible):
            return read_table(self.path, csv=self.form.csv, **options)

    def read_with_target(self, target: str | None, n_features: int | None, **options: Any) -> Table:
        """Rows and targets in memory; refuses a file that cannot hold them."""
        self.need_target(target)
        if self.kind == "svmlight" and n_features is None:
            raise Refusal(
                "svmlight files do not say how many features there are, and the largest that occurs is "
                "private. Declare --n-features."
            )
        table = self.read(target=target, n_features=n_features, **options)
        if table.y is None:
            raise Refusal(f"{self.path} holds no target. Store it as y.")
        return table

    def open(self, **options: Any) -> FileRows:
        """Rows that stay in files, as `dpsparse.readers.open_rows` opens them."""
        from ..io.rows import open_rows

        with telling(f"reading {self.path}", self.visible) as tell:
            return open_rows(self.path, csv=self.form.csv, tell=tell, **options)

    @contextmanager
    def on_cluster(self, address: str, **options: Any) -> Iterator[ClusterRows]:
        """Rows as workers of a cluster read them; they are let go at the end."""
        from ..io.cluster import open_cluster
        from ..rows.hosts.clusters import cluster_of

        with cluster_of(address) as cluster:
            with waiting(f"reading {self.path} on the cluster", self.visible):
                rows = open_cluster(str(self.path), cluster=cluster, **options)
            yield rows

    # ---------------------------------------------------------------------------------------------- with a dictionary

    def encoded(self, dictionary: Dictionary, *, target: bool) -> Table:
        """The rows, encoded; with their targets where asked for. Wrong columns are named all at once."""
        import numpy as np
        import scipy.sparse as sp

        from ..io.dictionary import BoundedArray
        from ..io.files import Table
        from ..rows.unread import UnreadCells

        names, pieces = self._encoded(dictionary, target)
        with waiting(f"reading {self.path}", self.visible):
            rows, targets, unread = zip(*pieces, strict=True)
        X: Any
        if sp.issparse(rows[0]):
            X = sp.vstack(rows, format="csr")
            X.unread_cells = UnreadCells.below(unread)
        else:
            X = BoundedArray.of(np.concatenate(rows), dictionary.output_bounds(), UnreadCells.below(unread))
        return Table(X, np.concatenate(targets) if target else None, names)

    def encoded_to_scratch(self, dictionary: Dictionary) -> FileRows:
        """The same rows with their targets, in a file without a name instead of in memory."""
        import scipy.sparse as sp

        from ..io.rows import spill
        from ..io.tabular import RowStream
        from ..rows.unread import UnreadCells

        names, pieces = self._encoded(dictionary, target=True)
        unread: list[UnreadCells] = []

        def rows(pieces: Iterator[tuple[Any, Any, UnreadCells]]) -> Iterator[tuple[Any, Any]]:
            for X, y, cells in pieces:
                unread.append(cells)
                yield X, y

        with waiting(f"reading {self.path}", self.visible):
            first = next(pieces)
            sparse = bool(sp.issparse(first[0]))
            stream: RowStream = RowStream(len(names), sparse, names, True, rows(chain([first], pieces)))
            spilled = spill(stream, self.path)
        return replace(spilled, unread_cells=UnreadCells.below(unread))

    def _encoded(
        self, dictionary: Dictionary, target: bool
    ) -> tuple[tuple[str, ...], Iterator[tuple[Any, Any, UnreadCells]]]:
        """Names of the encoded columns; encoded rows, their targets or None, and the cells that were not understood."""
        from ..io.dictionary import TableEncoder, Target
        from ..io.files import encoded_blocks

        problems = dictionary.differences(self.header(), ("feature", "target", "unit") if target else ("feature",))
        if problems:
            raise Refusal("\n".join(f"{self.path}: {problem}" for problem in problems))
        encoder = TableEncoder(dictionary)
        encoder.fit({column.name: [] for column in dictionary.features})
        pieces = encoded_blocks(self.path, encoder, Target.of(dictionary) if target else None, self.form.csv)
        return tuple(encoder.get_feature_names_out().tolist()), pieces

    # ---------------------------------------------------------------------------------------------- columns beside

    def ids(self, column: str) -> list[object]:
        """The id of each row: **private**; None for a line that was not understood.

        Such lines are not one unit: a person could have rows there and under an id.
        """
        from ..io.files import UNREADABLE

        return [None if cell == UNREADABLE else cell for cell in self._cells(column)]

    def groups(self, column: str, groups: Sequence[str]) -> NDArray[np.generic]:
        """The group of each row, as text; None for a row of a group that was not declared: **private**."""
        import numpy as np

        from ..rows.cells import CategoryMatcher

        self.header(column, what=" to group by")
        known = CategoryMatcher(tuple(groups))
        places = map(known.find, self._cells(column))
        return np.array([groups[place] if place >= 0 else None for place in places], dtype=object)

    def _cells(self, column: str) -> Iterator[object]:
        from ..io.files import blocks

        for block in blocks(self.path, [column], self.form.csv):
            cells = block[column]
            yield from cells.to_pylist() if hasattr(cells, "to_pylist") else cells

    def beside(self, columns: Sequence[Column]) -> dict[str, NDArray[np.float64]]:
        """The numbers in columns beside features and target, by the arguments of `fit`."""
        from ..io.dictionary.beside import read_beside

        if not columns:
            return {}
        self.header(*(column.name for column in columns))
        with waiting(f"reading {self.path}", self.visible):
            return read_beside(self.path, columns, self.form.csv)

    def offsets(self, named: Mapping[str, str | None], dictionary: Dictionary | None) -> tuple[Column, ...]:
        """The columns of offsets that a model is applied with: named ones, or those of its dictionary."""
        from ..io.dictionary import Column
        from ..io.dictionary.beside import columns_beside

        given = {role: name for role, name in named.items() if name is not None}
        if dictionary is not None and not given:
            known = [column for column in columns_beside(dictionary) if column.role in ("offset", "exposure")]
            return tuple(column for column in known if column.name in self.header())
        return tuple(Column(name=name, role=role, kind="number") for role, name in given.items())


def read_dictionary(path: Path) -> Dictionary:
    """A complete dictionary; otherwise a refusal that lists everything."""
    from ..io.dictionary import Dictionary

    return Dictionary.read(path).require()


def gap_rule(given: Gaps | None, *, described: bool) -> Gaps:
    """What becomes of records with gaps: with a dictionary nothing is refused because of a cell, unless asked for."""
    return given or ("empty" if described else "refuse")


def unit_column_of(given: str | None, name: str | None, dictionary: Dictionary | None) -> str | None:
    """The column with the ids of units: of the option, or of the dictionary; None where every row is a record."""
    declared = None if dictionary is None or dictionary.unit is None else dictionary.unit.name
    if given is not None and dictionary is not None and given != declared:
        raise Refusal("the dictionary names the column of ids. Give it the role unit there, and leave --unit out.")
    column = declared if given is None else given
    if column is None and name is not None:
        raise Refusal("--unit-name is the word for what has one id. Name the column of ids: --unit.")
    return column


def labelled(y: NDArray[np.generic] | None, classes: list[str] | list[float]) -> NDArray[np.generic]:
    """Labels in the type of the declared classes; a record with any other label counts as empty."""
    import numpy as np

    from ..rows.cells import exact

    y, declared = np.asarray(y), np.asarray(classes)
    if declared.dtype.kind not in "biuf":
        if y.dtype.kind in "biuf":
            raise Refusal(
                "--classes names labels, but the file stores the target as numbers. List the "
                "numbers that stand for them."
            )
        return y
    if y.dtype.kind in "biufO":
        return y
    return np.array([exact(text) for text in y.tolist()], dtype=object)
