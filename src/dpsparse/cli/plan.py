"""``dpsparse plan``: what a fit would ask, with how much noise and what to expect of it, before any data is touched."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .exits import Refusal
from .model import ModelOptions
from .options import command
from .output import check_file, echo, print_json, write_text, writing

if TYPE_CHECKING:
    from ..report.planner import PlanSummary


@command(
    usual="n-rows n-features dictionary task epsilon sparsity row-norm feature-bound target-bound signal base-rate "
    "html details json"
)
def plan(
    data: Path | None = None,
    *,
    n_rows: int,
    n_features: int | None = None,
    sparse: bool = False,
    dictionary: Path | None = None,
    model: ModelOptions,
    signal: float | None = None,
    feature_scale: float | None = None,
    base_rate: float | None = None,
    half_width: float | None = None,
    plot: Path | None = None,
    html: Path | None = None,
    details: bool = False,
    json_: bool = False,
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

    Parameters
    ----------
    n_rows
        Public number of rows; of persons, if a --dictionary has a unit.
    n_features
        Public number of features; a --dictionary says it.
    sparse
        The plan is for sparse rows; DATA or a --dictionary says it, too.
    signal
        Part of a constant predictor's error that the best linear model removes.
    feature_scale
        Standard deviation of a typical feature. Default: it fills most of its bounds.
    base_rate
        Classification: share of the rarer class. Default: a --dictionary's base_rate.
    half_width
        With --intervals: also say how many rows an interval of this half-width takes.
    plot
        Draw the expected error against epsilon to this file.
    html
        Write a page on which epsilon, rows and coefficients can be moved; it needs no server and no network.
    details
        Also every query with its noise, all settings, and further errors.
    """
    from ..core.checks import PERSON

    for file, option in ((plot, "--plot"), (html, "--html")):
        if file is not None:
            check_file(file, option=option, inputs=[] if dictionary is None else [dictionary])
    options, described = model.described(dictionary)
    if described is None:
        if n_features is None:
            raise Refusal("Missing option '--n-features'. A --dictionary says it, too.")
        sparse = sparse if data is None else _sparse_file(data, sparse)
    elif n_features is not None or sparse:
        given = "--n-features" if n_features is not None else "--sparse"
        raise Refusal(f"the dictionary says which columns there are, and how they are encoded. Leave {given} out.")
    else:
        from ..io.dictionary import TableEncoder

        encoder = TableEncoder(described)
        n_features, sparse = int(encoder.output_bounds().lower.size), encoder.output_sparse()
    if options.survival:
        raise Refusal(
            "survival fits are not planned yet: there is no forecast for them. dpsparse fit plans and prices one "
            "before it reads a row."
        )
    fitted = options.estimator(n_rows=n_rows, n_features=1 if described is None else n_features)
    if described is not None and described.unit is not None:
        fitted.set_params(unit=PERSON)
    known: dict[str, Any] = {"signal": signal, "feature_scale": feature_scale, "base_rate": base_rate}
    shape: dict[str, Any] = {"n_rows": n_rows, "n_features": n_features, "sparse": sparse}
    found = fitted.plan(**shape, **known)
    if plot is not None:
        with writing(plot, option="--plot"):
            found.plot(plot)
    if html is not None:
        from ..report.plan_page import plan_page

        with writing(html, option="--html"):
            write_text(html, plan_page(fitted, **shape, known=known))
    needed = {} if half_width is None else {"rows_for_half_width": _rows(found, half_width)}
    if json_:
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
