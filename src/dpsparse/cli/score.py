"""``dpsparse score``: how well a saved model does on private rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .declared import encode, gap_rule, read_ids, unit_column_of
from .exits import NoPromise, Refusal
from .fit import check_charge, labelled, read_rows
from .inputs import csv_form, csv_options, input_kind
from .options import (
    EPSILON,
    FILE,
    Names,
    ShortHelp,
    adjacency_option,
    delta_option,
    json_option,
    ledger_options,
    n_rows_option,
    on_missing_option,
    zero_based_option,
)
from .output import echo, print_json, progress
from .predict import load_model
from .resume import choose_folder, resume_options, saying_how_to_go_on

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..estimators.linear import SparseLinear
    from ..io.files import Table
    from ..io.tabular import CsvForm


#: Options that `--help` shows.
USUAL = (
    "--target",
    "--metrics",
    "--epsilon",
    "--group",
    "--groups",
    "--confidence",
    "--ledger",
    "--dataset",
    "--json",
)


@click.command(cls=ShortHelp, usual=USUAL)
@click.argument("model", type=FILE)
@click.argument("data", type=FILE)
@click.option(
    "--target", help="Column of the target; a model with a dictionary, svmlight and npz files hold their own."
)
@click.option(
    "--metrics",
    type=Names(),
    help="accuracy, balanced_accuracy, log_loss, brier, auc, calibration; or r2, "
    "mean_absolute_error. Default: the usual ones.",
)
@click.option("--epsilon", type=EPSILON, default=1.0, show_default=True, help="Privacy budget of all metrics together.")
@delta_option
@click.option("--group", help="Column by which scores are also given, such as sex or site; needs --groups.")
@click.option("--groups", type=Names(), help="The public list of groups.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of each interval.")
@click.option("--bins", type=int, default=10, show_default=True, help="Of the calibration curve.")
@click.option(
    "--unit",
    "unit_column",
    help="Column with the id of each row's person: the guarantee covers all rows with the same id. Default: the "
    "column with the role unit in the model's dictionary.",
)
@click.option("--unit-name", help="The word for what has one id, such as patient. Default: person.")
@adjacency_option()
@n_rows_option
@zero_based_option
@ledger_options("private score")
@resume_options
@csv_options
@on_missing_option("Rows with missing values")
@click.option("--seed", type=int, help="For tests only: scores with a seed are NOT private.")
@json_option
def score(
    model: Path,
    data: Path,
    target: str | None,
    group: str | None,
    groups: list[str] | None,
    unit_column: str | None,
    unit_name: str | None,
    zero_based: bool,
    delimiter: str | None,
    encoding: str | None,
    seed: int | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Score the saved MODEL on the rows of DATA under differential privacy, with intervals.

    Test records describe people, too: exact scores would reveal something about them. All metrics share one budget and
    one payment. Intervals contain the noise and the error of sampling.

    \b
    Examples:
      dpsparse score model.json holdout.csv --epsilon 1 --metrics accuracy,auc
      dpsparse score model.json holdout.csv --target outcome --group sex --groups F,M
    """
    from ..core.words import one_of_many

    fitted = load_model(model)
    check_charge(options["ledger"], options["dataset"])
    choose_folder(options, "score")
    if (group is None) is not (groups is None):
        raise Refusal("--group and --groups belong together: a column, and the public list of groups in it.")
    if group is not None and input_kind(data) not in ("CSV", "Parquet"):
        raise Refusal("--group names a column, which only CSV and Parquet files have.")
    csv_file = csv_form(delimiter, encoding)
    protected = one_of_many(fitted.statement_.unit)  # patient; empty where every row is a record
    dictionary = vars(fitted).get("dictionary_")
    options["on_missing"] = gap_rule(options["on_missing"], described=dictionary is not None)
    unit_column = unit_column_of(unit_column, unit_name, dictionary)
    if unit_column is not None:
        ids = _ids(data, unit_column, csv_file)
        options |= {"units": ids, "unit": unit_name or protected or None}
    elif protected:
        raise Refusal(
            f"{model} guarantees something to each {protected}, who may have several rows in {data} too. Name the "
            "column of ids with --unit, so that the scores protect all of them."
        )
    with progress(as_json) as visible:
        table = _rows(fitted, data, target, zero_based, visible, csv_file)
        codes = None if group is None or groups is None else _groups(data, group, groups, csv_file)
    with saying_how_to_go_on(options):
        card = _score(fitted, table, codes, groups, seed, options)
    if as_json:
        print_json({"private": card.statement.private, **card.to_dict()})
    else:
        echo(str(card))
    if not card.statement.private:
        raise NoPromise("these scores carry no guarantee for anyone in the data; the caveats say why.")


def _rows(fitted: SparseLinear, data: Path, target: str | None, zero_based: bool, visible: bool, csv: CsvForm) -> Table:
    """Rows and targets as the model takes them; columns are found by name and handed over as a plain array."""
    import numpy as np

    from ..io.files import Table

    names = fitted.__dict__.pop("feature_names_in_", None)
    dictionary = vars(fitted).get("dictionary_")
    if dictionary is not None:
        if target is not None:
            raise Refusal("the dictionary of the model names the target. Leave --target out.")
        return encode(data, dictionary, visible, target=True, csv=csv)
    classes = vars(fitted).get("classes_")
    form = {"labels": classes is not None, "text_labels": classes is not None, "zero_based": zero_based, "csv": csv}
    columns = names.tolist() if names is not None and input_kind(data) in ("CSV", "Parquet") else None
    table = read_rows(data, visible, target=target, n_features=fitted.n_features_in_, columns=columns, **form)
    if classes is None:
        return table
    return Table(table.X, labelled(np.asarray(table.y), classes.tolist()), table.feature_names)


def _ids(data: Path, column: str, csv: CsvForm) -> list[object]:
    """The id of each row: **private**."""
    from ..io.columns import header

    if input_kind(data) not in ("CSV", "Parquet"):
        raise Refusal("--unit names a column, which only CSV and Parquet files have.")
    if column not in header(data, csv):
        raise Refusal(f"{data} has no column {column!r}.")
    return read_ids(data, column, csv)


def _groups(data: Path, column: str, groups: list[str], csv: CsvForm) -> NDArray[np.generic]:
    """The group of each row, as text; another text for all that were not declared."""
    import numpy as np

    from ..io.columns import blocks, header
    from ..io.dictionary.frames import Table
    from ..rows.cells import CategoryMatcher

    if column not in header(data, csv):
        raise Refusal(f"{data} has no column {column!r} to group by.")
    known, found = CategoryMatcher(tuple(groups)), []
    for block in blocks(data, [column], csv):
        cells = Table(block, [column]).cells(column)
        places = [known.find(cell) for cell in (cells.tolist() if isinstance(cells, np.ndarray) else cells)]
        found += [groups[place] if place >= 0 else None for place in places]
    return np.array(found, dtype=object)


def _score(
    fitted: SparseLinear,
    table: Table,
    codes: object,
    groups: list[str] | None,
    seed: int | None,
    options: dict[str, Any],
) -> Any:
    import warnings

    from .. import private_score
    from ..core import MissingValueError, NonPrivateRandomnessWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NonPrivateRandomnessWarning)  # the statement says so, first of all
        try:
            return private_score(fitted, table.X, table.y, group=codes, groups=groups, random_state=seed, **options)
        except MissingValueError as refusal:
            raise Refusal(str(refusal).replace("set on_missing='empty'", "give --on-missing empty")) from None
