"""``dpsparse predict``: what a saved model says about new rows."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .beside import columns_applied, read_named
from .declared import encode, read_dictionary
from .exits import Refusal
from .inputs import (
    csv_form,
    csv_options,
    has_samples,
    input_kind,
    open_input,
    read_input,
    sample_options,
    stays_in_files,
)
from .options import FILE, json_option, zero_based_option
from .output import check_file, echo, print_json, progress, write_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..estimators.linear import SparseLinear
    from ..io.dictionary import Dictionary


@click.command()
@click.argument("model", type=FILE)
@click.argument("data", type=FILE)
@click.option("--proba", is_flag=True, help="Probabilities of the classes instead of classes.")
@click.option("--times", help="Survival: times such as 1,5 for probabilities of no event until then. Default: risks.")
@click.option("--offset", help="Column of offsets, of a model that was fitted with some.")
@click.option("--exposure", help="Column of exposures, of a model that was fitted with some.")
@zero_based_option
@click.option(
    "--dictionary",
    "dictionary_file",
    type=FILE,
    help="Data dictionary of a model that was fitted on encoded rows; models of dpsparse fit --dictionary keep theirs.",
)
@csv_options
@sample_options
@click.option("--out", type=FILE, help="Write a CSV file instead of printing.")
@json_option
def predict(
    model: Path,
    data: Path,
    proba: bool,
    times: str | None,
    offset: str | None,
    exposure: str | None,
    zero_based: bool,
    dictionary_file: Path | None,
    delimiter: str | None,
    encoding: str | None,
    covariates: str | None,
    fill: float | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Predict with the saved MODEL for each row of DATA, in order.

    Columns of CSV and Parquet files are found by their names; others, such as the target, are ignored.

    \b
    Examples:
      dpsparse predict model.json patients.csv
      dpsparse predict model.json patients.parquet --proba --out risk.csv
    """
    from ..estimators.summary import linear_of

    if out is not None:
        check_file(out, inputs=[file for file in (model, data, dictionary_file) if file is not None])
    csv_file = csv_form(delimiter, encoding)
    fitted = load_model(model, survival=True)
    at = _times(times, fitted)
    if proba and "classes_" not in vars(fitted):
        raise Refusal("--proba needs a classifier, but the model is a regressor. Leave --proba out.")
    # rows are aligned to the names here, and handed over as a plain array
    names = fitted.__dict__.pop("feature_names_in_", None)
    linear_of(fitted).__dict__.pop("feature_names_in_", None)  # a survival model holds another model
    dictionary = vars(fitted).get("dictionary_")
    if dictionary_file is not None:
        dictionary = _given(read_dictionary(dictionary_file), dictionary, fitted.n_features_in_)
    columns = names.tolist() if names is not None and input_kind(data) in ("CSV", "Parquet") else None
    with progress(as_json) as visible:
        if dictionary is not None:
            X = encode(data, dictionary, visible, target=False, csv=csv_file).X
        else:
            form = {"n_features": fitted.n_features_in_, "columns": columns, "zero_based": zero_based, "csv": csv_file}
            if has_samples(data):
                form |= {"covariates": covariates, "fill": fill}
            X = open_input(data, visible, **form) if stays_in_files(data, None) else read_input(data, visible, **form).X
    if at is not None:
        values = fitted.predict_survival(X, at) if at else fitted.predict_risk(X)
        header = [f"survival_{t:g}" for t in at] or ["risk"]
    else:
        named = {"offset": offset, "exposure": exposure}
        given = read_named(data, columns_applied(named, dictionary, data, csv_file), visible, csv_file)
        values = fitted.predict_proba(X, **given) if proba else fitted.predict(X, **given)
        header = [f"probability_{c}" for c in fitted.classes_.tolist()] if proba else ["prediction"]
    del X
    if out is not None:
        write_text(out, _as_csv(header, values))
        if as_json:
            print_json({"out": out, "columns": header, "rows": len(values)})
        else:
            echo(f"Saved: {out}")
    elif as_json:
        classes = {"classes": fitted.classes_.tolist()} if proba else {}
        print_json({**classes, ("probabilities" if proba else "predictions"): values.tolist()})
    else:
        echo(_as_csv(header, values), nl=False)


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
