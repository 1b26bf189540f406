"""``dpsparse show``: what a saved model holds and guarantees."""

from __future__ import annotations

from pathlib import Path

import click

from .describe import print_model
from .exits import NoPromise, Refusal
from .options import FILE, json_option
from .output import echo, print_json


@click.command()
@click.argument("model", type=FILE)
@click.option("--details", is_flag=True, help="All coefficients, every noisy answer, and no limit of one screen.")
@json_option
def show(model: Path, details: bool, as_json: bool) -> None:
    """Print the statement of the saved MODEL, pipeline or search, caveats first, its coefficients, its digest and the \
entry of a ledger that paid for it.

    Says first if the file was edited after it was saved, and then exits with 2; and if the model
    carries no guarantee (a seed, a plan without a proof, a baseline), and then exits with 7. Prints at
    most one screen; --details prints everything.

    \b
    Examples:
      dpsparse show model.json
      dpsparse show model.json --details
    """  # noqa: D205
    from .. import load
    from ..core.errors import ModelEditedError
    from ..estimators.files import digest_in
    from ..estimators.summary import shown_model, summary

    edited = None
    try:
        fitted = load(model)
    except ModelEditedError as error:
        edited = str(error)
        fitted = load(model, edited=True)
    statement, inner = fitted.statement_, shown_model(fitted)
    digest, record = digest_in(model), statement.ledger
    if as_json:
        content = {"edited": edited is not None, "private": statement.private, **summary(inner)}
        print_json({**content, "statement": statement.to_dict(), "digest": digest, "ledger": record})
    else:
        echo(print_model(inner, details, statement))
        echo(f"Digest: {'none' if digest is None else digest}{'' if edited is None else ', which does not fit'}")
        echo("Ledger: none was charged" if record is None else "Ledger:")
        for name, value in (record or {}).items():
            echo(f"  {name}: {value}")
    if edited is not None:
        raise Refusal(edited)
    if not statement.private:
        raise NoPromise(f"{model} carries no guarantee for anyone in the data; its caveats say why.")
