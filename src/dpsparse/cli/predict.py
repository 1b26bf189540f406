"""``dpsparse predict``: what a saved model says about new rows."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING

from .exits import Refusal
from .inputs import DataFile, FormOptions, read_dictionary
from .options import command
from .output import check_file, echo, print_json, progress, write_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..estimators.linear import SparseLinear
    from ..io.dictionary import Dictionary


@command()
def predict(
    model: Path,
    data: Path,
    *,
    proba: bool = False,
    times: str | None = None,
    offset: str | None = None,
    exposure: str | None = None,
    dictionary: Path | None = None,
    form: FormOptions,
    out: Path | None = None,
    json_: bool = False,
) -> None:
    """Predict with the saved MODEL for each row of DATA, in order.

    Columns of CSV and Parquet files are found by their names; others, such as the target, are ignored.

    \b
    Examples:
      dpsparse predict model.json patients.csv
      dpsparse predict model.json patients.parquet --proba --out risk.csv

    Parameters
    ----------
    proba
        Probabilities of the classes instead of classes.
    times
        Survival: times such as 1,5 for probabilities of no event until then. Default: risks.
    offset
        Column of offsets, of a model that was fitted with some.
    exposure
        Column of exposures, of a model that was fitted with some.
    dictionary
        Data dictionary of a model that was fitted on encoded rows; models of dpsparse fit --dictionary keep theirs.
    out
        Write a CSV file instead of printing.
    """
    if out is not None:
        check_file(out, inputs=[file for file in (model, data, dictionary) if file is not None])
    fitted = load_model(model, survival=True)
    at = _times(times, fitted)
    if proba and "classes_" not in vars(fitted):
        raise Refusal("--proba needs a classifier, but the model is a regressor. Leave --proba out.")
    with progress(json_) as visible:
        table = DataFile(data, form, visible)
        described = vars(fitted).get("dictionary_")
        if dictionary is not None:
            described = _given(read_dictionary(dictionary), described, fitted.n_features_in_)
        X = _rows(fitted, table, described, form)
    if at is not None:
        values = fitted.predict_survival(X, at) if at else fitted.predict_risk(X)
        header = [f"survival_{t:g}" for t in at] or ["risk"]
    else:
        given = table.beside(table.offsets({"offset": offset, "exposure": exposure}, described))
        values = fitted.predict_proba(X, **given) if proba else fitted.predict(X, **given)
        header = [f"probability_{c}" for c in fitted.classes_.tolist()] if proba else ["prediction"]
    del X
    if out is not None:
        write_text(out, _as_csv(header, values))
        saved = {"out": out, "columns": header, "rows": len(values)}
        print_json(saved) if json_ else echo(f"Saved: {out}")
    elif json_:
        classes = {"classes": fitted.classes_.tolist()} if proba else {}
        print_json({**classes, ("probabilities" if proba else "predictions"): values.tolist()})
    else:
        echo(_as_csv(header, values), nl=False)


def _rows(fitted: SparseLinear, table: DataFile, dictionary: Dictionary | None, form: FormOptions) -> object:
    """The rows as the model takes them."""
    columns = columns_of(fitted, table)
    if dictionary is not None:
        return table.encoded(dictionary, target=False).X
    width = fitted.n_features_in_
    if table.has_samples:
        return table.open(n_features=width, columns=columns, zero_based=form.zero_based, **form.samples)
    options = {"n_features": width, "columns": columns, "zero_based": form.zero_based}
    return table.open(**options) if table.stays_in_files(None) else table.read(**options).X


def columns_of(fitted: SparseLinear, table: DataFile) -> list[str] | None:
    """The columns of a table that a model takes; it forgets their names, since rows come as a plain array."""
    from ..estimators.summary import linear_of

    names = fitted.__dict__.pop("feature_names_in_", None)
    linear_of(fitted).__dict__.pop("feature_names_in_", None)  # a survival model holds another model
    return names.tolist() if names is not None and table.named else None


def _times(given: str | None, fitted: SparseLinear) -> list[float] | None:
    """Times of a survival model, none for risks; None for other models."""
    from ..estimators.summary import survives

    if not survives(fitted):
        if given is not None:
            raise Refusal("--times belongs to survival models. Leave it out.")
        return None
    try:
        return [float(text) for text in (given or "").split(",") if text.strip()]
    except ValueError:
        raise Refusal("--times was expected to be numbers, such as 1,5.") from None


def _given(given: Dictionary, kept: Dictionary | None, n_features: int) -> Dictionary:
    """A dictionary that was given for a model, if it fits."""
    if kept not in (None, given):
        raise Refusal(
            "the model keeps the dictionary it was fitted with, which is not the given one. Leave --dictionary out."
        )
    width = given.output_bounds().lower.size
    if width != n_features:
        raise Refusal(f"the dictionary makes {width} columns, but the model takes {n_features} features.")
    return given


def load_model(path: Path, *, survival: bool = False) -> SparseLinear:
    """A saved model; refuses a path without a file, and survival models unless they are taken."""
    from ..core import DataError
    from ..estimators.files import load
    from ..estimators.linear import SparseLinear
    from ..estimators.survival import SparseSurvival

    if not path.exists():
        raise Refusal(f"{path} was expected to be a saved model, but it does not exist. Make one with dpsparse fit.")
    found = load(path)
    if survival and isinstance(found, SparseSurvival):
        return found
    if not isinstance(found, SparseLinear):
        raise DataError(f"{path} holds a {type(found).__name__}, but this command takes a classifier or a regressor.")
    return found


def _as_csv(header: list[str], values: NDArray[np.generic]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(values.tolist() if values.ndim == 2 else ([v] for v in values.tolist()))
    return text.getvalue()
