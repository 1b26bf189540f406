"""Runs that go on where they stopped: options, the default folder, and runs that are done already."""

from __future__ import annotations

import os
import secrets
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from .exits import Refusal
from .options import FILE, together
from .output import echo

if TYPE_CHECKING:
    from ..estimators.linear import SparseLinear

#: Environment variable with the folder for released answers.
VARIABLE = "DPSPARSE_RESUME"

#: The options that name a run and say where it is kept.
resume_options = together(
    click.option(
        "--run-id",
        help="Names this run in the ledger: the same command goes on where a killed one stopped, and does not pay "
        "twice. Default with a ledger: a new name, which an interrupted run prints.",
    ),
    click.option(
        "--resume-dir",
        "resume",
        type=FILE,
        help="Folder for released answers, from which a killed run goes on. Default with a ledger: DPSPARSE_RESUME, "
        "or LEDGER.runs beside an SQLite ledger, or ~/.local/state/dpsparse/runs.",
    ),
    click.option("--no-resume", is_flag=True, help="Keep no answers: a killed run is lost with its budget."),
)


def choose_folder(options: dict[str, Any], what: str) -> None:
    """Name the run and its folder in the options of a command that a ledger pays for.

    Parameters
    ----------
    options : dict
        With `ledger`, `dataset`, `run_id`, `resume` and `no_resume`, which is taken out.
    what : str
        Begins the name of a run that has none.
    """
    never, charged = options.pop("no_resume"), options["dataset"] is not None
    if never and options["resume"] is not None:
        raise Refusal("--resume-dir and --no-resume contradict each other. Leave one of them out.")
    if options["resume"] is not None and not charged:
        raise Refusal("--resume-dir needs a ledger, which knows what was paid. Give --ledger and --dataset too.")
    if never or not charged:
        return
    if options["run_id"] is None:
        options["run_id"] = f"{what}-{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
    if options["resume"] is None:
        options["resume"] = default_folder(options["ledger"])


def default_folder(address: str | None) -> Path:
    """Where the answers of runs are kept that do not say another place."""
    from .. import Ledger

    given = os.environ.get(VARIABLE)
    if given:
        return Path(given)
    file: Path | None = Ledger(address).file
    if file is not None:
        return file.with_name(f"{file.name}.runs")
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "dpsparse" / "runs"


def done_already(options: dict[str, Any], out: Path) -> SparseLinear | None:
    """The model at `out`, if it is that of this very run, which is done; None otherwise."""
    from .. import Ledger, load
    from ..core.errors import DataError

    if options["run_id"] is None or options["dataset"] is None or not out.exists():
        return None
    ledger = Ledger(options["ledger"])
    entry = ledger.find_run(options["dataset"], options["run_id"])
    if entry is None or entry.status != "done":
        return None
    try:
        model = load(out)
    except (DataError, OSError):
        return None
    said = model.statement_
    cited = said.ledger or {}
    same = (cited.get("ledger"), cited.get("dataset"), cited.get("entry")) == (
        ledger.identity(),
        entry.dataset,
        entry.number,
    )
    asked = options["delta"] in (None, said.delta) and abs(said.epsilon - options["epsilon"]) <= 1e-6 * said.epsilon
    return model if same and asked else None


@contextmanager
def _termination_raised() -> Iterator[None]:
    """Let SIGTERM, which schedulers send, unwind like an interrupt from the keyboard; the exit code stays 143.

    A handler that somebody else has set is left in place.
    """
    number = signal.SIGTERM
    own = threading.current_thread() is threading.main_thread() and signal.getsignal(number) is signal.SIG_DFL

    def stop(number: int, frame: object) -> NoReturn:
        raise SystemExit(128 + number)

    if own:
        signal.signal(number, stop)
    try:
        yield
    finally:
        if own:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def saying_how_to_go_on(options: dict[str, Any]) -> Iterator[None]:
    """Print the name of a run that is interrupted after it was paid for."""
    try:
        with _termination_raised():
            yield
    except BaseException:
        if options["resume"] is not None:
            from .. import Ledger
            from ..core.errors import PrivacyError

            try:
                entry = Ledger(options["ledger"]).find_run(options["dataset"], options["run_id"])
            except PrivacyError:
                entry = None  # the error that is on its way says why
            if entry is not None and entry.status == "started":
                echo(
                    f"Entry {entry.number} is paid for. The same command with --run-id {options['run_id']} goes on "
                    "where this one stopped.",
                    err=True,
                )
        raise
