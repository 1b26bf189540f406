"""``dpsparse score``: how well a saved model does on private rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .exits import NoPromise, Refusal
from .inputs import CsvOptions, DataFile, Gaps, gap_rule, labelled, unit_column_of
from .options import Delta, Epsilon, Names, Neighbours, command
from .output import echo, print_json, progress
from .payment import PaymentOptions
from .predict import columns_of, load_model

if TYPE_CHECKING:
    from ..estimators.linear import SparseLinear
    from ..io.files import Table


@dataclass(frozen=True, kw_only=True)
class ScoreOptions:
    """What `private_score` computes, by the names of its arguments.

    Parameters
    ----------
    metrics
        accuracy, balanced_accuracy, log_loss, brier, auc, calibration; or r2, mean_absolute_error. Default: the
        usual ones.
    epsilon
        Privacy budget of all metrics together.
    groups
        The public list of groups.
    confidence
        Of each interval.
    bins
        Of the calibration curve.
    """

    metrics: Names | None = None
    epsilon: Epsilon = 1.0
    delta: Delta | None = None
    groups: Names | None = None
    confidence: float = 0.95
    bins: int = 10
    adjacency: Neighbours = "replace-one"
    n_rows: int | None = None


@command(usual="target metrics epsilon group groups confidence ledger dataset json")
def score(
    model: Path,
    data: Path,
    *,
    target: str | None = None,
    group: str | None = None,
    scoring: ScoreOptions,
    unit: str | None = None,
    unit_name: str | None = None,
    zero_based: bool = False,
    payment: PaymentOptions,
    csv: CsvOptions,
    on_missing: Gaps | None = None,
    seed: int | None = None,
    json_: bool = False,
) -> None:
    """Score the saved MODEL on the rows of DATA under differential privacy, with intervals.

    Test records describe people, too: exact scores would reveal something about them. All metrics share one budget and
    one payment. Intervals contain the noise and the error of sampling.

    \b
    Examples:
      dpsparse score model.json holdout.csv --epsilon 1 --metrics accuracy,auc
      dpsparse score model.json holdout.csv --target outcome --group sex --groups F,M

    Parameters
    ----------
    target
        Column of the target; a model with a dictionary, svmlight and npz files hold their own.
    group
        Column by which scores are also given, such as sex or site; needs --groups.
    unit
        Column with the id of each row's person: the guarantee covers all rows with the same id. Default: the
        column with the role unit in the model's dictionary.
    on_missing
        Rows with missing values: refuse them, which reveals that there are some, or ignore their records.
        Default: refuse; with a dictionary, empty.
    seed
        For tests only: scores with a seed are NOT private.
    """
    from .. import private_score
    from ..core import MissingValueError, NonPrivateRandomnessWarning

    fitted, table = load_model(model), DataFile(data, csv)
    payment.check_charge()
    payment = payment.named("score")
    if (group is None) is not (scoring.groups is None):
        raise Refusal("--group and --groups belong together: a column, and the public list of groups in it.")
    if group is not None and not table.named:
        raise Refusal("--group names a column, which only CSV and Parquet files have.")
    dictionary = vars(fitted).get("dictionary_")
    units = _units(fitted, table, unit_column_of(unit, unit_name, dictionary), unit_name)
    with progress(json_) as visible:
        rows = _rows(fitted, DataFile(data, csv, visible), target, zero_based)
        codes = None if group is None else table.groups(group, scoring.groups or [])
    with payment.saying_how_to_go_on(), warnings.catch_warnings():
        warnings.simplefilter("ignore", NonPrivateRandomnessWarning)  # the statement says so, first of all
        try:
            gaps = gap_rule(on_missing, described=dictionary is not None)
            options = {**vars(scoring), **units, **payment.arguments, "group": codes, "on_missing": gaps}
            card = private_score(fitted, rows.X, rows.y, random_state=seed, **options)
        except MissingValueError as refusal:
            raise Refusal(str(refusal).replace("set on_missing='empty'", "give --on-missing empty")) from None
    print_json({"private": card.statement.private, **card.to_dict()}) if json_ else echo(str(card))
    if not card.statement.private:
        raise NoPromise("these scores carry no guarantee for anyone in the data; the caveats say why.")


def _units(fitted: SparseLinear, table: DataFile, column: str | None, name: str | None) -> dict[str, object]:
    """The id of each row (**private**) and the word for what has one id; nothing where every row is a record."""
    from ..core.words import one_of_many

    protected = one_of_many(fitted.statement_.unit)  # patient; empty where every row is a record
    if column is not None:
        if not table.named:
            raise Refusal("--unit names a column, which only CSV and Parquet files have.")
        table.header(column)
        return {"units": table.ids(column), "unit": name or protected or None}
    if protected:
        raise Refusal(
            f"this model guarantees something to each {protected}, who may have several rows in {table.path} too. "
            "Name the column of ids with --unit, so that the scores protect all of them."
        )
    return {}


def _rows(fitted: SparseLinear, table: DataFile, target: str | None, zero_based: bool) -> Table:
    """Rows and targets as the model takes them; columns are found by name and handed over as a plain array."""
    from ..io.files import Table

    columns, dictionary = columns_of(fitted, table), vars(fitted).get("dictionary_")
    if dictionary is not None:
        if target is not None:
            raise Refusal("the dictionary of the model names the target. Leave --target out.")
        return table.encoded(dictionary, target=True)
    classes = vars(fitted).get("classes_")
    form = {"labels": classes is not None, "text_labels": classes is not None, "zero_based": zero_based}
    found = table.read_with_target(target, fitted.n_features_in_, columns=columns, **form)
    return found if classes is None else Table(found.X, labelled(found.y, classes.tolist()), found.feature_names)
