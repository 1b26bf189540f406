"""The command line, ``dpsparse``.

Commands are imported when they are asked for, and import what is heavy when they run, so that ``--help`` is quick.
"""

from __future__ import annotations

import click

from .. import __version__
from .exits import Commands

#: The commands, each in the module of its name.
COMMANDS = (
    *("demo", "dictionary", "convert", "fit", "predict", "plan", "show", "score", "report", "recipes", "ledger"),
    *("audit", "bench"),
)


@click.group(cls=Commands, later=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dpsparse")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    help="Write events, with public facts only, to standard error as lines of JSON.",
)
def main(log_level: str | None) -> None:
    """Sparse models on sensitive, high-dimensional data under differential privacy.

    Every command takes --help, which shows an example, and --json, which prints one JSON object to standard
    output: the result, or {"error": {"kind", "message", "exit_code"}}.

    \b
    Exit codes:
      0  done
      2  a bad argument, data or a model that cannot be used, a missing right
      3  the privacy budget was refused
      4  try again later: a full disk, or a ledger, a cluster or another process that is in the way
      5  a ledger does not verify
      6  an audit refuted a guarantee
      7  there is no guarantee: a seed, a plan without a proof, or a baseline
    """
    if log_level is not None:
        import logging

        from ..core.log import LOGGER, JsonLines

        handler = logging.StreamHandler()
        handler.setFormatter(JsonLines())
        LOGGER.addHandler(handler)
        LOGGER.setLevel(log_level.upper())
        click.get_current_context().call_on_close(lambda: LOGGER.removeHandler(handler))


__all__ = ["main"]
