"""``dpsparse show``: what a saved model holds and promises."""

from __future__ import annotations

from pathlib import Path

import click

from .exits import Refusal
from .fit import brief, describe_features, summary
from .options import json_option
from .output import as_json as print_json


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@json_option
def show(model: Path, as_json: bool) -> None:
    """Print the statement and the selected features of the saved MODEL.

    Says first if the file was edited after it was saved, and then exits with 2.

    \b
    Example:
      dpsparse show model.json
    """
    from .. import load
    from ..privacy.errors import ModelEditedError

    edited = None
    try:
        fitted = load(model)
    except ModelEditedError as error:
        edited = str(error)
        fitted = load(model, edited=True)
    if as_json:
        print_json({"edited": edited is not None, **summary(fitted)})
    else:
        click.echo(brief(fitted.statement_))
        click.echo(describe_features(fitted))
    if edited is not None:
        raise Refusal(edited)
