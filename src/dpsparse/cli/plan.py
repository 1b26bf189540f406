"""``dpsparse plan``: what a fit would ask, with how much noise and what to expect of it, before any data is touched."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .declared import apply, dictionary_option, encoded_shape
from .exits import Refusal
from .options import FILE, ShortHelp, json_option, make_estimator, model_options
from .output import check_file, echo, print_json, write_text, writing

if TYPE_CHECKING:
    from ..report.planner import PlanSummary


#: Options that `--help` shows.
USUAL = (
    "--n-rows",
    "--n-features",
    "--dictionary",
    "--task",
    "--epsilon",
    "--sparsity",
    "--row-norm",
    "--feature-bound",
    "--target-bound",
    "--signal",
    "--base-rate",
    "--html",
    "--details",
    "--json",
)


@click.command(cls=ShortHelp, usual=USUAL)
@click.argument("data", type=FILE, required=False)
@click.option(
    "--n-rows", type=int, required=True, help="Public number of rows; of persons, if a --dictionary has a unit."
)
@click.option("--n-features", type=int, help="Public number of features; a --dictionary says it.")
@click.option("--sparse", is_flag=True, help="The plan is for sparse rows; DATA or a --dictionary says it, too.")
@dictionary_option
@model_options
@click.option("--signal", type=float, help="Part of a constant predictor's error that the best linear model removes.")
@click.option(
    "--feature-scale", type=float, help="Standard deviation of a typical feature. Default: it fills most of its bounds."
)
@click.option(
    "--base-rate", type=float, help="Classification: share of the rarer class. Default: a --dictionary's base_rate."
)
@click.option(
    "--half-width", type=float, help="With --intervals: also say how many rows an interval of this half-width takes."
)
@click.option("--plot", type=FILE, help="Draw the expected error against epsilon to this file.")
@click.option(
    "--html",
    "page",
    type=FILE,
    help="Write a page on which epsilon, rows and coefficients can be moved; it needs no server and no network.",
)
@click.option("--details", is_flag=True, help="Also every query with its noise, all settings, and further errors.")
@json_option
def plan(
    data: Path | None,
    n_rows: int,
    n_features: int | None,
    sparse: bool,
    dictionary_file: Path | None,
    signal: float | None,
    feature_scale: float | None,
    base_rate: float | None,
    half_width: float | None,
    plot: Path | None,
    page: Path | None,
    details: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Print what a fit would cost and what to expect of it, before any data is read.

    Six lines: verdict, cost, error, what a useful fit needs, what is assumed, and what would run; --details
    shows every query and its noise. Reads no row, spends nothing. A fit of rows of this shape and kind,
    with the same options, sends exactly these queries. Recipes treat sparse rows differently from dense ones,
    so say which kind will be fitted: by --sparse, by a --dictionary, or by DATA, the file itself. Of DATA only its kind
    is read: svmlight files hold sparse rows; npz, Parquet and .dpsrows files say what they hold.

    \b
    Examples:
      dpsparse plan --n-rows 20000 --n-features 5000 --task regression \\
          --epsilon 3 --sparsity 20 --feature-bound 0,2 --target-bound 4 --plot error.png
      dpsparse plan --n-rows 3000 --dictionary patients.yaml --epsilon 2 --html plan.html
      dpsparse plan --n-rows 20000 --n-features 50000 --sparse --task classification \\
          --row-norm 1 --classes 0,1
      dpsparse plan reviews.svmlight --n-rows 20000 --n-features 50000 \\
          --task classification --row-norm 1 --classes 0,1
      dpsparse plan --n-rows 20000 --n-features 200 --task regression --sparsity 8 \\
          --feature-bound 1 --target-bound 4 --intervals --half-width 0.05
    """
    for file, option in ((plot, "--plot"), (page, "--html")):
        if file is not None:
            check_file(file, option=option, inputs=[] if dictionary_file is None else [dictionary_file])
    dictionary = apply(dictionary_file, options)
    if dictionary is not None:
        if n_features is not None or sparse:
            given = "--n-features" if n_features is not None else "--sparse"
            raise Refusal(f"the dictionary says which columns there are, and how they are encoded. Leave {given} out.")
        n_features, sparse = encoded_shape(dictionary)
    elif n_features is None:
        raise Refusal("Missing option '--n-features'. A --dictionary says it, too.")
    elif data is not None:
        sparse = _sparse_file(data, sparse)
    known: dict[str, Any] = {"signal": signal, "feature_scale": feature_scale, "base_rate": base_rate}
    if base_rate is None and dictionary is not None and dictionary.target is not None:
        known["base_rate"] = dictionary.target.base_rate
    width = 1 if dictionary is None else n_features
    if options["task"] == "survival":
        raise Refusal(
            "survival fits are not planned yet: there is no forecast for them. dpsparse fit plans and prices one "
            "before it reads a row."
        )
    model = make_estimator(n_rows=n_rows, n_features=width, **options)
    if dictionary is not None and dictionary.unit is not None:
        from ..core.checks import PERSON

        model.set_params(unit=PERSON)
    found = model.plan(n_rows=n_rows, n_features=n_features, sparse=sparse, **known)
    if plot is not None:
        with writing(plot, option="--plot"):
            found.plot(plot)
    if page is not None:
        from ..report.plan_page import plan_page

        with writing(page, option="--html"):
            write_text(page, plan_page(model, n_rows=n_rows, n_features=n_features, sparse=sparse, known=known))
    needed = {} if half_width is None else {"rows_for_half_width": _rows(found, half_width)}
    if as_json:
        print_json({**found.to_dict(), **needed})
        return
    echo(found if details else found.brief())
    for rows in needed.values():
        told = "more than a billion" if rows is None else f"about {rows:,}"
        echo(f"rows for intervals of half-width {half_width:g}: {told}")


def _sparse_file(data: Path, sparse: bool) -> bool:
    """Whether a file holds sparse rows; refuses --sparse where it does not."""
    from ..io.rows import holds_sparse

    found = holds_sparse(data)
    if sparse and not found:
        raise Refusal(f"{data} holds dense rows. Leave --sparse out, or plan for another file.")
    return found


def _rows(found: PlanSummary, half_width: float) -> int | None:
    """Rows that intervals of a half-width take; refuses where no number of rows is enough."""
    if found.intervals is None or half_width <= 0:
        raise Refusal("--half-width asks for a positive half-width of intervals, and belongs to --intervals.")
    return found.intervals.rows_needed(half_width)
