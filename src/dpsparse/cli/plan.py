"""``dpsparse plan``: what a fit would ask and with how much noise, before any data is touched."""

from __future__ import annotations

from typing import Any

import click

from .options import json_option, make_estimator, model_options
from .output import as_json as print_json


@click.command()
@click.option("--n-rows", type=int, required=True, help="Public number of rows.")
@click.option("--n-features", type=int, required=True, help="Public number of features.")
@model_options
@json_option
def plan(n_rows: int, n_features: int, as_json: bool, **options: Any) -> None:
    """Print the plan of a fit: its asks, their noise and their cost. Reads no data, spends nothing.

    \b
    Example:
      dpsparse plan --n-rows 20000 --n-features 5000 --task regression \\
          --epsilon 3 --sparsity 20 --feature-bound 0,2 --target-bound 4
    """
    found = make_estimator(n_rows=n_rows, **options).plan(n_rows=n_rows, n_features=n_features)
    if as_json:
        print_json(found.to_dict())
    else:
        click.echo(found)
