"""``dpsparse fit``: a private model from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .exits import Refusal
from .inputs import kind_of, read
from .options import json_option, make_estimator, model_options
from .output import as_json as print_json
from .output import check_file, progress, writing


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--target", help="Column of the target; svmlight and npz files hold their own.")
@model_options
@click.option("--n-rows", type=int, help="Public number of rows; required for --adjacency add-remove.")
@click.option("--n-features", type=int, help="Public number of features; required for svmlight files.")
@click.option("--zero-based", is_flag=True, help="The columns of an svmlight file are counted from 0.")
@click.option(
    "--ledger",
    help="Address of a ledger that is charged, such as sqlite:///budget.db; needs --dataset. Default: DPSPARSE_LEDGER.",
)
@click.option("--dataset", help="Name of this data in the ledger.")
@click.option("--label", help="What the ledger's entry is called. Default: the recipe.")
@click.option("--run-id", help="Names this run in the ledger: a retry with the same name does not pay twice.")
@click.option("--seed", type=int, help="For tests only: a fit with a seed is NOT private.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("model.json"),
    show_default=True,
    help="Where the model is saved; an older file is replaced.",
)
@json_option
def fit(
    data: Path,
    target: str | None,
    n_features: int | None,
    zero_based: bool,
    seed: int | None,
    out: Path,
    as_json: bool,
    **options: Any,
) -> None:
    """Fit a sparse model on DATA (.csv, .parquet, .svmlight or .npz) under differential privacy.

    Bounds are promises about what the data can hold; the data is clipped to them. Prints what was promised and the
    selected features, and saves the model.

    \b
    Examples:
      dpsparse fit trial.csv --target outcome --task regression \\
          --epsilon 2 --sparsity 10 --feature-bound 0,2 --target-bound 4
      dpsparse fit survey.parquet --target smoker --task classification \\
          --classes no,yes --row-norm 1 --out smoker.json
    """
    check_file(out)
    model = make_estimator(random_state=seed, **options)
    _check_ledger(options["ledger"], options["dataset"])
    _check_surroundings(model)
    with progress(as_json) as visible:
        labels = options["task"] == "classification"
        table = _read(data, visible, target=target, n_features=n_features, labels=labels, zero_based=zero_based)
        if options["classes"] is not None:
            model.set_params(classes=_like(table.y, options["classes"]))
        run(model, table.X, table.y, table.feature_names, visible)
    del table
    # the answers are paid for: they are printed even where they cannot be saved
    failure = _save(model, out)
    if as_json:
        print_json({**summary(model), "model": None if failure else out})
    else:
        click.echo(brief(model.statement_))
        click.echo(_features(model))
        if failure is None:
            click.echo(f"Saved: {out}")
    if failure is not None:
        raise failure


def _check_ledger(address: str | None, dataset: str | None) -> None:
    """Refuse a ledger that cannot be charged, before a file is read."""
    if address is None and dataset is None:
        return
    from .. import Ledger
    from ..ledger.address import has_default

    if dataset is None or (address is None and not has_default()):
        raise Refusal("--ledger and --dataset belong together. Give both, or neither.")
    Ledger(address).remaining(dataset)


def _check_surroundings(model: Any) -> None:
    """Refuse what would look at the rows unpaid. Files go to the model as they are, so that today nothing stands before it."""
    from ..audit import check_pipeline

    check_pipeline(model, strict=True)


def _read(path: Path, visible: bool, *, target: str | None, n_features: int | None, **options: Any) -> Any:
    kind = kind_of(path)
    if kind in ("CSV", "Parquet") and target is None:
        raise Refusal("no target was named. Give its column with --target.")
    if kind == "svmlight" and n_features is None:
        raise Refusal(
            "svmlight files do not say how many features there are, and the largest that occurs is private. Declare --n-features."
        )
    table = read(path, visible, target=target, n_features=n_features, **options)
    if table.y is None:
        raise Refusal(f"{path} holds no target. Store it as y.")
    return table


def run(model: Any, X: Any, y: Any, names: tuple[str, ...] | None, visible: bool) -> None:
    """Fit, with a progress bar if `visible`, and keep the names of the features."""
    import warnings

    import numpy as np

    from ..privacy import NonPrivateRandomnessWarning

    model.set_params(verbose=visible)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NonPrivateRandomnessWarning)  # the statement says so, first of all
        model.fit(X, y)
    model.set_params(verbose=False)
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)


def brief(statement: Any, most: int = 6) -> str:
    """A statement with at most so many of its asks; a schedule makes them many, and the saved model has them all."""
    lines = str(statement).splitlines()
    asks = [i for i, line in enumerate(lines) if line.startswith("  - ")]
    if len(asks) > most:
        hidden = asks[most:]
        lines[hidden[0]] = f"  - {len(hidden)} {'more ' if most else ''}noisy answers, listed in the saved model"
        lines = [line for i, line in enumerate(lines) if i not in hidden[1:]]
    return "\n".join(lines)


def _save(model: Any, out: Path) -> Refusal | None:
    try:
        with writing(out):
            model.save(out)
    except Refusal as refusal:
        return refusal
    return None


def _like(y: Any, classes: list[str]) -> list[Any]:
    """The declared classes in the type of the labels."""
    if y.dtype.kind not in "biuf":
        return classes
    try:
        numbers = [float(c) for c in classes]
    except ValueError:
        raise Refusal(
            "--classes names labels, but the target holds numbers. List the numbers that stand for them."
        ) from None
    return [int(c) if c.is_integer() else c for c in numbers]


def summary(model: Any) -> dict[str, Any]:
    """A fitted model as plain values."""
    import numpy as np

    coef = np.atleast_2d(model.coef_)
    names = vars(model).get("feature_names_in_")
    classes = vars(model).get("classes_")
    selected = []
    for j in model.support_:
        values = coef[:, j].tolist()
        selected.append(
            {
                "feature": int(j) if names is None else str(names[j]),
                "index": int(j),
                "coefficient": values[0] if len(values) == 1 else values,
            }
        )
    return {
        "recipe": model.statement_.recipe,
        "n_features": int(model.n_features_in_),
        "classes": None if classes is None else classes.tolist(),
        "intercept": _scalar(np.asarray(model.intercept_).ravel().tolist()),
        "selected": selected,
        "statement": model.statement_.to_dict(),
    }


def _scalar(values: list[float]) -> Any:
    return values[0] if len(values) == 1 else values


def _features(model: Any) -> str:
    content = summary(model)
    selected = content["selected"]
    several = isinstance(content["intercept"], list)
    head = f"{len(selected)} of {content['n_features']} features selected"
    lines = [head + (f"; one column for each of {content['classes']}:" if several else ":")]
    width = max([len(str(f["feature"])) for f in selected] + [len("intercept")])
    rows = [(f["feature"], f["coefficient"]) for f in selected] + [("intercept", content["intercept"])]
    for name, value in rows:
        values = value if isinstance(value, list) else [value]
        lines.append(f"  {name!s:<{width}} " + " ".join(f"{v:12.6g}" for v in values))
    return "\n".join(lines)
