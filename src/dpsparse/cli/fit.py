"""``dpsparse fit``: a private model from a file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from .beside import columns_of, read_named
from .declared import (
    apply,
    dictionary_option,
    encode,
    encode_to_scratch,
    keep,
    read_ids,
    table_columns,
    unit_column_of,
)
from .describe import print_model
from .exits import NoPromise, Refusal
from .inputs import (
    cluster_input,
    csv_form,
    csv_options,
    has_samples,
    input_kind,
    need_target,
    open_input,
    read_input,
    refuse_undescribed,
    sample_options,
    stays_in_files,
)
from .options import (
    FILE,
    Names,
    ShortHelp,
    json_option,
    ledger_options,
    make_estimator,
    model_options,
    n_rows_option,
    target_option,
    zero_based_option,
)
from .output import check_file, check_model_file, echo, print_json, progress, writing
from .resume import choose_folder, done_already, resume_options, saying_how_to_go_on

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from ..estimators.linear import SparseLinear
    from ..io.dictionary import Column, Dictionary
    from ..io.files import Table
    from ..io.tabular import CsvForm

#: Where cells are no numbers, and the file names its columns.
TO_DICTIONARY = (
    " If the table has text, dates, categories or missing values, describe its columns instead: dpsparse dictionary "
    "new FILE, then dpsparse fit FILE --dictionary dictionary.yaml."
)

#: No columns beside features and target.
NOTHING: dict[str, object] = {}

#: Options that `--help` shows.
USUAL = (
    "--target",
    "--dictionary",
    "--task",
    "--classes",
    "--epsilon",
    "--sparsity",
    "--row-norm",
    "--feature-bound",
    "--target-bound",
    "--intervals",
    "--ledger",
    "--dataset",
    "--out",
    "--json",
)


@click.command(cls=ShortHelp, usual=USUAL)
@click.argument("data", type=FILE)
@target_option
@click.option("--weight", help="Column of the records' weights; needs --weight-bound.")
@click.option("--offset", help="Column that is added to margins; needs --offset-bound.")
@click.option("--exposure", help="Column of exposures, whose logarithm is the offset; needs --offset-bound.")
@click.option("--time", help="Survival: column of the times at which persons were last seen.")
@click.option("--event", help="Survival: column that says whether the event happened then.")
@click.option("--entry", help="Survival: column of the times at which persons came under observation.")
@dictionary_option
@model_options
@click.option(
    "--columns", type=Names(), help="Columns of CSV and Parquet files that are features. Default: all but the target."
)
@click.option("--path", "path_file", type=FILE, help="Write the released iterates to this npz file.")
@click.option(
    "--unit",
    "unit_column",
    help="Column with the id of each row's person, household or firm: the guarantee covers all rows with the same "
    "id. A dictionary may name it: role unit.",
)
@click.option(
    "--unit-name", help="With --unit or a dictionary's: the word for what has one id, such as patient. Default: person."
)
@n_rows_option
@click.option("--n-features", type=int, help="Public number of features; required for svmlight files.")
@zero_based_option
@ledger_options("the recipe")
@resume_options
@click.option(
    "--memory-limit",
    help="How much memory the fit may take, such as 2GB: rows that do not fit stay on the disk. "
    "Default: rows are in memory.",
)
@click.option(
    "--cluster",
    help="Where rows are read and stay: tcp://host:8786 or local:4 of Dask; spark://host:7077, "
    "spark:local[4], or spark inside spark-submit.",
)
@csv_options
@sample_options
@click.option("--seed", type=int, help="For tests only: a fit with a seed is NOT private.")
@click.option(
    "--out",
    type=FILE,
    default=Path("model.json"),
    show_default=True,
    help="Where the model is saved; an older model is replaced, and no other file.",
)
@json_option
def fit(
    data: Path,
    target: str | None,
    dictionary_file: Path | None,
    n_features: int | None,
    zero_based: bool,
    columns: list[str] | None,
    unit_column: str | None,
    unit_name: str | None,
    path_file: Path | None,
    cluster: str | None,
    delimiter: str | None,
    encoding: str | None,
    covariates: str | None,
    fill: float | None,
    seed: int | None,
    out: Path,
    as_json: bool,
    weight: str | None,
    offset: str | None,
    exposure: str | None,
    time: str | None,
    event: str | None,
    entry: str | None,
    **options: Any,
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
    """
    check_model_file(out, _inputs(data, dictionary_file, options["ledger"], options["dataset"]))
    done = done_already(options, out)
    if done is not None:
        _print_model(done, out, as_json, f"Run {options['run_id']} is done already: its model is {out}")
        _refuse_void(done)
        return
    choose_folder(options, "fit")
    asked = options["check_cells"]
    dictionary = apply(dictionary_file, options)
    named = {"weight": weight, "offset": offset, "exposure": exposure, "time": time, "event": event, "entry": entry}
    beside = columns_of(named, dictionary, options)
    _refuse_beside(beside, data, cluster, options)
    if cluster is not None and dictionary is not None:
        if asked:
            raise Refusal("cells are not counted where rows stand on a cluster. Leave --check-cells out, or --cluster.")
        options["check_cells"] = None
    csv_file = csv_form(delimiter, encoding)
    samples = {"covariates": covariates, "fill": fill}
    unit_column = unit_column_of(unit_column, unit_name, dictionary)
    rows = _Rows(
        data, target, dictionary, columns, n_features, zero_based, csv_file, samples, beside, unit_column, cluster
    )
    rows.refuse(options)
    if path_file is not None:
        check_file(path_file, option="--path", inputs=_inputs(data, dictionary_file, None, None))
    width = 1 if dictionary is None else dictionary.output_bounds().lower.size
    model = make_estimator(random_state=seed, n_features=width, keep_path=path_file is not None, **options)
    if options["memory_limit"] is not None:
        from ..core import checks

        checks.memory(options["memory_limit"], "--memory-limit")
    if unit_column is not None:
        model.set_params(unit=unit_name)
        if dictionary is None:
            rows = replace(rows, columns=table_columns(data, unit_column, target, columns, csv_file))
    check_charge(options["ledger"], options["dataset"])
    with saying_how_to_go_on(options), progress(as_json) as visible:
        if options["classes"] is not None and dictionary is None:
            model.set_params(classes=_declared(options["classes"]))
        rows.fit(model, options, visible)
    if dictionary is not None:
        keep(model, dictionary)
    # the answers are paid for: they are printed even where they cannot be saved
    failure = _save(model, out)
    if path_file is not None:
        write_path(model, path_file)
    _print_model(model, None if failure else out, as_json, f"Saved: {out}")
    if failure is not None:
        raise failure
    _refuse_void(model)


@dataclass(frozen=True)
class _Rows:
    """Which rows a fit reads, by the options of the command."""

    data: Path
    target: str | None
    dictionary: Dictionary | None
    columns: list[str] | None
    n_features: int | None
    zero_based: bool
    csv: CsvForm
    samples: Mapping[str, object]
    beside: tuple[Column, ...]
    unit: str | None
    cluster: str | None

    def refuse(self, options: dict[str, Any]) -> None:
        """Refuse options that contradict each other, before anything is read."""
        if self.dictionary is not None and self.target is not None:
            raise Refusal("the dictionary names the target. Leave --target out.")
        if self.dictionary is not None and self.columns is not None:
            raise Refusal("the dictionary says which columns are features. Leave --columns out.")
        if any(given is not None for given in self.samples.values()) and not has_samples(self.data):
            raise Refusal("--covariates and --fill belong to .bed, .pgen and .h5ad files. Leave them out.")
        if self.cluster is not None and self.csv != csv_form(None, None):
            raise Refusal("--delimiter and --encoding are for files that are read here. Leave --cluster out, or them.")
        if self.dictionary is None:
            refuse_undescribed(self.data, options)
        if self.unit is not None and self.cluster is not None:
            raise Refusal("units are not sorted on a cluster yet. Leave --cluster out, or --unit.")
        if self.unit is not None and options["task"] == "survival":
            raise Refusal("survival takes one row for each person. Leave --unit out, or give its column the role id.")

    def fit(self, model: SparseLinear, options: dict[str, Any], visible: bool) -> None:
        """Fit on these rows, where they are."""
        declared = options["classes"] is not None and self.dictionary is None
        classes = model.classes if declared else None
        form: dict[str, object] = {"target": self.target, "n_features": self.n_features, "zero_based": self.zero_based}
        in_files = stays_in_files(self.data, options["memory_limit"], self.target) and self.unit is None
        ids = None if self.unit is None else read_ids(self.data, self.unit, self.csv)
        if self.cluster is not None:
            if self.dictionary is None:
                need_target(self.data, self.target)
                form |= {"columns": self.columns, "classes": classes}
            else:
                form = {"dictionary": self.dictionary}
            with cluster_input(self.data, self.cluster, visible, **form) as spread:
                run_fit(model, spread, None, None, visible)
        elif not self.beside and self.dictionary is None and in_files:
            if self.columns is not None:
                raise Refusal("all columns of rows that stay in files are read. Leave --columns or --memory-limit out.")
            need_target(self.data, self.target)
            rows = open_input(self.data, visible, **form, classes=classes, **self.samples, csv=self.csv)
            run_fit(model, rows, None, None, visible)
        elif not self.beside and self.dictionary is not None and options["memory_limit"] is not None:
            run_fit(model, encode_to_scratch(self.data, self.dictionary, visible, self.csv), None, None, visible, ids)
        else:
            given = read_named(self.data, self.beside, visible, self.csv)
            table = self._table(options, visible)
            y = labelled(table.y, model.classes) if declared else table.y
            run_fit(model, table.X, y, table.feature_names, visible, ids, given)

    def _table(self, options: dict[str, Any], visible: bool) -> Table:
        """Features and targets in memory, without the columns beside them."""
        survival = options["task"] == "survival"
        if self.dictionary is not None:
            return encode(self.data, self.dictionary, visible, target=not survival, csv=self.csv)
        names = self.columns
        if self.beside:
            from ..io.columns import header

            taken = {self.target, *(column.name for column in self.beside)}
            listed = header(self.data, self.csv) if names is None else names
            names = [name for name in listed if name not in taken]
        if survival:
            if self.target is not None:
                raise Refusal("survival has a time and an event in the place of a target. Leave --target out.")
            return read_input(self.data, visible, columns=names, csv=self.csv)
        form = {"labels": options["task"] == "classification", "text_labels": options["classes"] is not None}
        form |= {"zero_based": self.zero_based, "csv": self.csv}
        return read_rows(self.data, visible, target=self.target, n_features=self.n_features, columns=names, **form)


def _refuse_beside(beside: Sequence[Column], data: Path, cluster: str | None, options: dict[str, Any]) -> None:
    """Refuse weights, offsets and survival where rows do not come to memory from one table."""
    if options["task"] == "survival" and not {"time", "event"} <= {column.role for column in beside}:
        raise Refusal("survival needs the columns of time and event. Name them with --time and --event.")
    if not beside:
        return
    if cluster is not None or options["memory_limit"] is not None or stays_in_files(data, None):
        raise Refusal(
            "weights, offsets, exposures and survival are read from one table in memory. Leave --cluster and "
            "--memory-limit out, and name one file."
        )


def _print_model(model: SparseLinear, out: Path | None, as_json: bool, saved: str) -> None:
    """Print what was learned, and where it is, if it could be saved."""
    if as_json:
        from ..estimators.summary import summary

        print_json({**summary(model), "model": out})
        return
    echo(print_model(model))
    if out is not None:
        echo(saved)


def _refuse_void(model: SparseLinear) -> None:
    """Let the exit code say that a model which was made and saved carries no guarantee."""
    if not model.statement_.private:
        raise NoPromise("this model carries no guarantee for anyone in the data; its caveats say why.")


def _inputs(data: Path, dictionary: Path | None, address: str | None, dataset: str | None) -> list[Path]:
    """Files that a fit reads."""
    from .. import Ledger
    from ..ledger.address import has_default

    charged = address is not None or (dataset is not None and has_default())
    book = Ledger(address).file if charged else None
    return [file for file in (data, dictionary, book) if file is not None]


def check_charge(address: str | None, dataset: str | None) -> None:
    """Refuse a ledger that cannot be charged, before a file is read."""
    if address is None and dataset is None:
        return
    from .. import Ledger
    from ..ledger.address import has_default

    if dataset is None or (address is None and not has_default()):
        raise Refusal("--ledger and --dataset belong together. Give both, or neither.")
    Ledger(address).remaining(dataset)


def read_rows(path: Path, visible: bool, *, target: str | None, n_features: int | None, **options: Any) -> Table:
    """Rows and targets of a file; refuses one that cannot hold them."""
    need_target(path, target)
    if input_kind(path) == "svmlight" and n_features is None:
        raise Refusal(
            "svmlight files do not say how many features there are, and the largest that occurs is "
            "private. Declare --n-features."
        )
    table = read_input(path, visible, target=target, n_features=n_features, **options)
    if table.y is None:
        raise Refusal(f"{path} holds no target. Store it as y.")
    return table


def run_fit(
    model: SparseLinear,
    X: object,
    y: object,
    names: tuple[str, ...] | None,
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
        parts |= {f"iterates{end}": np.array(one.iterates), f"passes{end}": np.array(one.passes)}
        parts |= {f"thresholds{end}": np.array(one.thresholds), f"seconds{end}": np.array(one.seconds)}
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
