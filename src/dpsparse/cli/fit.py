"""``dpsparse fit``: a private model from a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from .exits import NoPromise, Refusal
from .inputs import CsvOptions, DataFile, FormOptions, labelled, unit_column_of
from .model import ModelOptions
from .options import Names, command
from .output import check_file, check_model_file, echo, print_json, progress, writing
from .payment import PaymentOptions
from .show import print_model

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..estimators.linear import SparseLinear
    from ..io.dictionary import Column, Dictionary
    from ..io.files import Table

#: Where cells are no numbers, and the file names its columns.
TO_DICTIONARY = (
    " If the table has text, dates, categories or missing values, describe its columns instead: dpsparse dictionary "
    "new FILE, then dpsparse fit FILE --dictionary dictionary.yaml."
)

#: No columns beside features and target.
NOTHING: dict[str, object] = {}
#: The options of `BesideOptions`, by the roles that they name, and those that need a bound or a task.
OFFSETS = ("offset", "exposure")
STUDY = ("time", "event", "entry")


@dataclass(frozen=True, kw_only=True)
class BesideOptions:
    """Columns beside features and target.

    Parameters
    ----------
    weight
        Column of the records' weights; needs --weight-bound.
    offset
        Column that is added to margins; needs --offset-bound.
    exposure
        Column of exposures, whose logarithm is the offset; needs --offset-bound.
    time
        Survival: column of the times at which persons were last seen.
    event
        Survival: column that says whether the event happened then.
    entry
        Survival: column of the times at which persons came under observation.
    """

    weight: str | None = None
    offset: str | None = None
    exposure: str | None = None
    time: str | None = None
    event: str | None = None
    entry: str | None = None

    def columns(self, dictionary: Dictionary | None, model: ModelOptions) -> tuple[Column, ...]:
        """The columns, of the options or of a dictionary; refuses options without the bounds that they need."""
        from ..io.dictionary import Column
        from ..io.dictionary.beside import columns_beside

        given = {role: name for role, name in vars(self).items() if name is not None}
        if dictionary is not None:
            if given:
                raise Refusal(f"the dictionary says the roles of columns. Leave --{next(iter(given))} out.")
            return columns_beside(dictionary)
        if "weight" in given and model.weight_bound is None:
            raise Refusal("--weight needs --weight-bound: the largest weight of a record, from public knowledge.")
        if given.keys() & OFFSETS and model.offset_bound is None:
            raise Refusal(
                "--offset and --exposure need --offset-bound lo,hi; for an exposure, logarithms of its bounds."
            )
        if given.keys() & STUDY and not model.survival:
            raise Refusal("--time, --event and --entry belong to --task survival.")
        if given.keys() & {"weight", *OFFSETS} and model.survival:
            raise Refusal("--task survival takes no weights and no offsets. Leave them out.")
        if given.keys() >= set(OFFSETS):
            raise Refusal("an exposure is an offset on the scale of logarithms. Give --offset or --exposure.")
        return tuple(
            Column(name=name, role=role, kind="boolean" if role == "event" else "number")
            for role, name in given.items()
        )


@dataclass(frozen=True, kw_only=True)
class RowOptions(FormOptions):
    """Which rows are read, and where they stay.

    Parameters
    ----------
    columns
        Columns of CSV and Parquet files that are features. Default: all but the target.
    n_features
        Public number of features; required for svmlight files.
    memory_limit
        How much memory the fit may take, such as 2GB: rows that do not fit stay on the disk. Default: rows are
        in memory.
    cluster
        Where rows are read and stay: tcp://host:8786 or local:4 of Dask; spark://host:7077, spark:local[4], or
        spark inside spark-submit.
    """

    target: str | None = None
    columns: Names | None = None
    n_features: int | None = None
    memory_limit: str | None = None
    cluster: str | None = None


@command(
    usual="target dictionary task classes epsilon sparsity row-norm feature-bound target-bound intervals ledger "
    "dataset out json"
)
def fit(
    data: Path,
    *,
    read: RowOptions,
    beside: BesideOptions,
    dictionary: Path | None = None,
    model: ModelOptions,
    path: Path | None = None,
    unit: str | None = None,
    unit_name: str | None = None,
    n_rows: int | None = None,
    payment: PaymentOptions,
    seed: int | None = None,
    out: Path = Path("model.json"),
    json_: bool = False,
) -> None:
    """Fit a sparse model on DATA under differential privacy.

    DATA is a file (.csv, .parquet, .svmlight, .npy, .npz, .bed, .pgen, .h5ad, or .dpsrows of dpsparse convert), or a
    pattern of several in quotes. Bounds say what the data can hold; the data is clipped to them. Prints
    what is guaranteed and the selected features, and saves the model.

    \b
    Examples:
      dpsparse fit trial.csv --target outcome --task regression \\
          --epsilon 2 --sparsity 10 --feature-bound 0,2 --target-bound 4
      dpsparse fit survey.parquet --target smoker --task classification \\
          --classes no,yes --row-norm 1 --out smoker.json
      dpsparse fit patients.csv --dictionary patients.yaml --epsilon 2
      dpsparse fit visits.csv --target visits --exposure years --offset-bound -2,2 \\
          --task regression --loss poisson --target-bound 20 --feature-bound 0,1
      dpsparse fit trial.csv --task survival --time days --event died --horizon 3000 --feature-bound 0,1
      dpsparse fit 'visits/*.parquet' --target readmitted --task classification \\
          --row-norm 1 --memory-limit 2GB
      dpsparse fit 'visits/*.parquet' --target readmitted --task classification \\
          --row-norm 1 --cluster tcp://scheduler:8786

    Parameters
    ----------
    path
        Write the released iterates to this npz file.
    unit
        Column with the id of each row's person, household or firm: the guarantee covers all rows with the same
        id. A dictionary may name it: role unit.
    unit_name
        With --unit or a dictionary's: the word for what has one id, such as patient. Default: person.
    seed
        For tests only: a fit with a seed is NOT private.
    out
        Where the model is saved; an older model is replaced, and no other file.
    """
    inputs = [file for file in (data, dictionary) if file is not None]
    check_model_file(out, [*inputs, *payment.files()])
    done = payment.done_already(out, model.epsilon, model.delta)
    if done is not None:
        _finish(done, out, json_, f"Run {payment.run_id} is done already: its model is {out}")
        return
    payment = payment.named("fit")
    options, described = model.described(dictionary)
    if read.cluster is not None and described is not None:
        if model.check_cells:
            raise Refusal("cells are not counted where rows stand on a cluster. Leave --check-cells out, or --cluster.")
        options = replace(options, check_cells=None)
    ids = unit_column_of(unit, unit_name, described)
    rows = _Rows(DataFile(data, read), options, read, described, beside.columns(described, options), ids)
    rows.refuse()
    if path is not None:
        check_file(path, option="--path", inputs=inputs)
    fitted = options.estimator(
        n_features=1 if described is None else described.output_bounds().lower.size,
        random_state=seed,
        keep_path=path is not None,
        n_rows=n_rows,
        memory_limit=read.memory_limit,
        **payment.arguments,
    )
    if ids is not None:
        fitted.set_params(unit=unit_name)
        rows = rows.without_ids()
    payment.check_charge()
    with payment.saying_how_to_go_on(), progress(json_) as visible:
        rows.fit(fitted, visible)
    if described is not None:
        _keep_dictionary(fitted, described)
    # the answers are paid for: they are printed even where they cannot be saved
    failure = _save(fitted, out)
    if path is not None:
        write_path(fitted, path)
    _finish(fitted, out, json_, f"Saved: {out}", failure)


@dataclass(frozen=True)
class _Rows:
    """Which rows a fit reads, by the options of the command."""

    data: DataFile
    model: ModelOptions
    read: RowOptions
    dictionary: Dictionary | None
    beside: tuple[Column, ...]
    unit: str | None

    def refuse(self) -> None:
        """Refuse options that contradict each other, before anything is read."""
        self._refuse_beside()
        if self.read.memory_limit is not None:
            from ..core import checks

            checks.memory(self.read.memory_limit, "--memory-limit")
        if self.dictionary is not None and self.read.target is not None:
            raise Refusal("the dictionary names the target. Leave --target out.")
        if self.dictionary is not None and self.read.columns is not None:
            raise Refusal("the dictionary says which columns are features. Leave --columns out.")
        if any(given is not None for given in self.read.samples.values()) and not self.data.has_samples:
            raise Refusal("--covariates and --fill belong to .bed, .pgen and .h5ad files. Leave them out.")
        if self.read.cluster is not None and self.read.csv != CsvOptions().csv:
            raise Refusal("--delimiter and --encoding are for files that are read here. Leave --cluster out, or them.")
        if self.dictionary is None:
            self._refuse_undescribed()
        if self.unit is not None and self.read.cluster is not None:
            raise Refusal("units are not sorted on a cluster yet. Leave --cluster out, or --unit.")
        if self.unit is not None and self.model.survival:
            raise Refusal("survival takes one row for each person. Leave --unit out, or give its column the role id.")

    def _refuse_beside(self) -> None:
        """Refuse weights, offsets and survival where rows do not come to memory from one table."""
        if self.model.survival and not {"time", "event"} <= {column.role for column in self.beside}:
            raise Refusal("survival needs the columns of time and event. Name them with --time and --event.")
        if self.beside and (self.read.cluster is not None or self.data.stays_in_files(self.read.memory_limit)):
            raise Refusal(
                "weights, offsets, exposures and survival are read from one table in memory. Leave --cluster and "
                "--memory-limit out, and name one file."
            )

    def _refuse_undescribed(self) -> None:
        """Refuse a table without bounds: say how to describe its columns, or how to bound numbers."""
        path = self.data.path
        if self.data.named and self.model.feature_bound is None and self.model.row_norm is None:
            raise Refusal(
                f"no bound on the features was given. If {path.name} has text, dates, categories or missing values, "
                f"describe its columns: dpsparse dictionary new {path}, fill in the file that this writes, and give it "
                "with --dictionary. If all features are numbers, declare --feature-bound or --row-norm, from a "
                "codebook or physical limits and not from this data."
            )

    def without_ids(self) -> _Rows:
        """The same without the column of ids among the features."""
        if self.dictionary is not None or self.unit is None:
            return self
        if not self.data.named:
            raise Refusal("--unit names a column of one CSV or Parquet file.")
        names = self.data.header(self.unit)
        if self.unit == self.read.target or self.unit in (self.read.columns or ()):
            raise Refusal("the column of ids is no feature and no target. Leave it out of --columns and --target.")
        columns = self.read.columns or [name for name in names if name not in (self.unit, self.read.target)]
        return replace(self, read=replace(self.read, columns=columns))

    def fit(self, model: SparseLinear, visible: bool) -> None:
        """Fit on these rows, where they are."""
        data, target, dictionary = replace(self.data, visible=visible), self.read.target, self.dictionary
        classes = None
        if self.model.classes is not None and dictionary is None:
            classes = _declared(self.model.classes)
            model.set_params(classes=classes)
        form: dict[str, Any] = {"n_features": self.read.n_features, "zero_based": self.read.zero_based}
        in_files = data.stays_in_files(self.read.memory_limit, target) and self.unit is None
        ids = None if self.unit is None else data.ids(self.unit)
        if self.read.cluster is not None:
            if dictionary is None:
                data.need_target(target)
                form |= {"target": target, "columns": self.read.columns, "classes": classes}
            else:
                form = {"dictionary": dictionary}
            with data.on_cluster(self.read.cluster, **form) as spread:
                run_fit(model, spread, None, None, visible)
        elif not self.beside and dictionary is None and in_files:
            if self.read.columns is not None:
                raise Refusal("all columns of rows that stay in files are read. Leave --columns or --memory-limit out.")
            data.need_target(target)
            rows = data.open(target=target, classes=classes, **form, **self.read.samples)
            run_fit(model, rows, None, None, visible)
        elif not self.beside and dictionary is not None and self.read.memory_limit is not None:
            run_fit(model, data.encoded_to_scratch(dictionary), None, None, visible, ids)
        else:
            given = data.beside(self.beside)
            table = self._table(data)
            y = table.y if classes is None else labelled(table.y, classes)
            run_fit(model, table.X, y, table.feature_names, visible, ids, given)

    def _table(self, data: DataFile) -> Table:
        """Features and targets in memory, without the columns beside them."""
        if self.dictionary is not None:
            return data.encoded(self.dictionary, target=not self.model.survival)
        names = self.read.columns
        if self.beside:
            taken = {self.read.target, *(column.name for column in self.beside)}
            names = [name for name in names or data.header() if name not in taken]
        if self.model.survival:
            if self.read.target is not None:
                raise Refusal("survival has a time and an event in the place of a target. Leave --target out.")
            return data.read(columns=names)
        labels, texts = self.model.task == "classification", self.model.classes is not None
        form = {"zero_based": self.read.zero_based, "labels": labels, "text_labels": texts, "columns": names}
        return data.read_with_target(self.read.target, self.read.n_features, **form)


def _keep_dictionary(model: SparseLinear, dictionary: Dictionary) -> None:
    """Let a fitted model keep its dictionary, and its statement say what depends on it."""
    from ..estimators.summary import survives

    model.dictionary_ = dictionary
    said = model.statement_
    assumed = (*said.assumptions, "the data dictionary was written without looking at the rows")
    caveats, notes = said.caveats, said.notes
    ids = [column.name for column in dictionary.columns if column.role == "id"]
    if ids and dictionary.unit is None and not survives(model):
        several = (
            f"the guarantee is for one row, and one {ids[0]!r} may have several rows: give that column the role unit"
        )
        caveats = (*caveats, several)
    if getattr(model, "check_cells", None) is None:
        notes = (*notes, "cells that were not understood were not counted, so it is not known how many there are")
    model.statement_ = replace(said, assumptions=assumed, caveats=caveats, notes=notes)


def _finish(model: SparseLinear, out: Path, as_json: bool, saved: str, failure: Refusal | None = None) -> None:
    """Print what was learned, and where it is, if it could be saved; let the exit code say what is wrong with it."""
    if as_json:
        from ..estimators.summary import summary

        print_json({**summary(model), "model": None if failure else out})
    else:
        echo(print_model(model))
        if failure is None:
            echo(saved)
    if failure is not None:
        raise failure
    if not model.statement_.private:
        raise NoPromise("this model carries no guarantee for anyone in the data; its caveats say why.")


def run_fit(
    model: SparseLinear,
    X: object,
    y: object,
    names: Sequence[str] | None,
    visible: bool,
    ids: list[object] | None = None,
    beside: Mapping[str, object] = NOTHING,
) -> None:
    """Fit, with a progress bar if `visible`, and keep the names of the features; `ids` are those of units."""
    import warnings

    import numpy as np

    from ..core import HopelessFitWarning, MissingValueError, NonPrivateRandomnessWarning, UnreadCellsWarning
    from ..estimators.summary import has_intervals, linear_of

    model.set_params(verbose=visible)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NonPrivateRandomnessWarning)  # the statement says so, first of all
        warnings.simplefilter("always", HopelessFitWarning)
        warnings.simplefilter("always", UnreadCellsWarning)
        warnings.showwarning = tell
        try:
            terms = {**beside, **({} if ids is None else {"units": ids})}
            model.fit(X, **terms) if "time" in beside else model.fit(X, y, **terms)
        except MissingValueError as refusal:
            said = str(refusal).replace("set on_missing='empty'", "give --on-missing empty")
            described = getattr(X, "unread_cells", None) is not None
            raise Refusal(said + (TO_DICTIONARY if names is not None and not described else "")) from None
    model.set_params(verbose=False)
    if names is not None:
        for named in (model, linear_of(model)):  # of a survival model, the linear model inside is what files keep
            named.feature_names_in_ = np.array(names, dtype=object)
        if has_intervals(model):
            model.intervals_ = model.intervals_.named(model.term_names())


def tell(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """A warning as a sentence on standard error, at once."""
    echo(f"Warning: {message}", err=True)


def write_path(model: SparseLinear, path: Path) -> None:
    """Write the released iterates of every model, with passes and seconds, as an npz file."""
    import numpy as np

    paths = model.path_ if isinstance(model.path_, list) else [model.path_]
    parts: dict[str, NDArray[np.generic]] = {}
    for number, one in enumerate(paths):
        end = "" if len(paths) == 1 else f"_{number}"
        parts |= {f"{name}{end}": np.array(getattr(one, name)) for name in ("iterates", "passes")}
        parts |= {f"{name}{end}": np.array(getattr(one, name)) for name in ("thresholds", "seconds")}
    with writing(path, "--path"), path.open("wb") as file:
        np.savez(file, **parts)  # type: ignore[arg-type]


def _save(model: SparseLinear, out: Path) -> Refusal | None:
    from ..core.errors import DataError

    try:
        with writing(out):
            model.save(out)
    except Refusal as refusal:
        return refusal
    except DataError as refusal:  # another file has come there since
        return Refusal(str(refusal))
    return None


def _declared(classes: list[str]) -> list[str] | list[float]:
    """The declared classes: numbers if all of them are, otherwise text. The data has no say in it."""
    from ..rows.cells import exact

    numbers = [exact(c) for c in classes]
    if any(c != c for c in numbers):  # noqa: PLR0124
        return classes
    return [int(c) if c == int(c) else c for c in numbers]
