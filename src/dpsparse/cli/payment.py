"""How a command is paid for: the options of ledgers and runs, and runs that go on where they stopped."""

from __future__ import annotations

import os
import secrets
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Self

from .exits import Refusal
from .output import echo

if TYPE_CHECKING:
    from ..estimators.linear import SparseLinear
    from ..ledger import Ledger

#: Environment variable with the folder for released answers.
VARIABLE = "DPSPARSE_RESUME"


@dataclass(frozen=True, kw_only=True)
class PaymentOptions:
    """The ledger that pays, and the run that it pays for.

    Parameters
    ----------
    ledger
        Address of a ledger that is charged, such as sqlite:///budget.db; needs --dataset. Default:
        DPSPARSE_LEDGER.
    dataset
        Name of this data in the ledger.
    label
        What the ledger's entry is called. Default: the recipe, or private score.
    run_id
        Names this run in the ledger: the same command goes on where a killed one stopped, and does not pay
        twice. Default with a ledger: a new name, which an interrupted run prints.
    resume_dir
        Folder for released answers, from which a killed run goes on. Default with a ledger: DPSPARSE_RESUME,
        or LEDGER.runs beside an SQLite ledger, or ~/.local/state/dpsparse/runs.
    no_resume
        Keep no answers: a killed run is lost with its budget.
    """

    ledger: str | None = None
    dataset: str | None = None
    label: str | None = None
    run_id: str | None = None
    resume_dir: Path | None = None
    no_resume: bool = False

    @property
    def arguments(self) -> dict[str, object]:
        """What estimators and scores call them."""
        names = ("ledger", "dataset", "label", "run_id")
        return {name: getattr(self, name) for name in names} | {"resume": self.resume_dir}

    def _charged(self) -> Ledger | None:
        """The ledger that is charged, which is not opened; None where no ledger is."""
        from .. import Ledger
        from ..ledger.address import has_default

        charged = self.ledger is not None or (self.dataset is not None and has_default())
        return Ledger(self.ledger) if charged else None

    def files(self) -> list[Path]:
        """The file of the ledger that is charged; none where a database is, or no ledger."""
        book = self._charged()
        return [] if book is None or book.file is None else [book.file]

    def check_charge(self) -> None:
        """Refuse a ledger that cannot be charged, before a file is read."""
        book = self._charged()
        if (book is None) is not (self.dataset is None):
            raise Refusal("--ledger and --dataset belong together. Give both, or neither.")
        if book is not None and self.dataset is not None:
            book.remaining(self.dataset)

    def named(self, what: str) -> Self:
        """The same with a name of the run, which begins with `what`, and its folder, where a ledger pays."""
        if self.no_resume and self.resume_dir is not None:
            raise Refusal("--resume-dir and --no-resume contradict each other. Leave one of them out.")
        if self.resume_dir is not None and self.dataset is None:
            raise Refusal("--resume-dir needs a ledger, which knows what was paid. Give --ledger and --dataset too.")
        if self.no_resume or self.dataset is None:
            return self
        run = self.run_id or f"{what}-{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
        return replace(self, run_id=run, resume_dir=self.resume_dir or default_folder(self.ledger))

    def done_already(self, out: Path, epsilon: float, delta: float | None) -> SparseLinear | None:
        """The model at `out`, if it is that of this very run, which is done; None otherwise."""
        from .. import Ledger, load
        from ..core.errors import DataError

        if self.run_id is None or self.dataset is None or not out.exists():
            return None
        ledger = Ledger(self.ledger)
        entry = ledger.find_run(self.dataset, self.run_id)
        if entry is None or entry.status != "done":
            return None
        try:
            model: SparseLinear = load(out)
        except (DataError, OSError):
            return None
        said = model.statement_
        cited = said.ledger or {}
        place = ledger.identity(), entry.dataset, entry.number
        same = (cited.get("ledger"), cited.get("dataset"), cited.get("entry")) == place
        asked = delta in (None, said.delta) and abs(said.epsilon - epsilon) <= 1e-6 * said.epsilon
        return model if same and asked else None

    @contextmanager
    def saying_how_to_go_on(self) -> Iterator[None]:
        """Print the name of a run that is interrupted after it was paid for."""
        try:
            with _termination_raised():
                yield
        except BaseException:
            if self.resume_dir is not None and self.dataset is not None and self.run_id is not None:
                from .. import Ledger
                from ..core.errors import PrivacyError

                try:
                    entry = Ledger(self.ledger).find_run(self.dataset, self.run_id)
                except PrivacyError:
                    entry = None  # the error that is on its way says why
                if entry is not None and entry.status == "started":
                    echo(
                        f"Entry {entry.number} is paid for. The same command with --run-id {self.run_id} goes on "
                        "where this one stopped.",
                        err=True,
                    )
            raise


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
