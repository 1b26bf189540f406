"""``dpsparse convert``: rows of any kind of file as a block file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .inputs import csv_form, csv_options, need_target, sample_options
from .options import FILE, json_option, zero_based_option
from .output import check_file, echo, print_json, progress, telling, writing


@click.command()
@click.argument("data", type=FILE)
@click.argument("out", type=FILE)
@click.option(
    "--target", help="Column of the target; svmlight and npz files hold their own. For .npy: another such file."
)
@click.option(
    "--n-features", type=int, help="Public number of features; required for svmlight files and for lists in Parquet."
)
@zero_based_option
@csv_options
@sample_options
@json_option
def convert(
    data: Path,
    out: Path,
    target: str | None,
    n_features: int | None,
    zero_based: bool,
    delimiter: str | None,
    encoding: str | None,
    covariates: str | None,
    fill: float | None,
    as_json: bool,
) -> None:
    """Write the rows of DATA to OUT, a block file (.dpsrows), which fits read quickly and within any memory.

    DATA is a file (.csv, .parquet, .svmlight, .npy, .npz, .bed, .pgen or .h5ad), or a pattern in quotes. Rows are raw:
    bounds are declared when a model is fitted. OUT can be read by its owner alone; it holds the
    private rows, so keep it as you keep them.

    \b
    Examples:
      dpsparse convert 'visits/*.parquet' visits.dpsrows --target readmitted
      dpsparse convert text.svmlight text.dpsrows --n-features 62061
      dpsparse fit visits.dpsrows --task classification --row-norm 1 --memory-limit 2GB
    """
    from ..io.rows import convert as write
    from ..io.rows import expand

    need_target(data, target)
    beside: dict[str, Any] = {"csv": csv_form(delimiter, encoding), "covariates": covariates, "fill": fill}
    check_file(out, "OUT", inputs=expand(data))
    with progress(as_json) as visible, telling(f"converting {data}", visible) as tell, writing(out, "OUT"):
        write(data, out, target, n_features=n_features, zero_based=zero_based, tell=tell, **beside)
    if as_json:
        print_json({"out": out})
    else:
        echo(f"Saved: {out}")
