"""What a site remembers of its rounds: on its disk, or as long as the process lives."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import threading
from pathlib import Path
from typing import Any
from typing import Protocol as Interface

from ...core import DataError, PrivacyError
from ...core.regular_files import open_whole, parse_json, read_bytes, sync_folder

#: A file of rounds beyond this is not read: room for some hundred thousand rounds.
LARGEST_BYTES = 2**25
#: A kept report beyond this is not read.
LARGEST_REPORT = 2**26

ANSWERED = "this site has answered this round already, and answers no second time."


class Rounds(Interface):
    """Remembers which rounds of a run were answered, and with what."""

    def paid(self) -> str | None:
        """The price at which this run was noted as paid for, in a word; None: it was not."""
        ...

    def note_paid(self, price: str) -> None:
        """Note, durably, that this run is paid for at this price."""
        ...

    def claim(self, number: int, task: bytes) -> bytes | None:
        """Note, durably, that a round is about to be answered; or the report that was given to the very same task before.

        Raises `PrivacyError` where the round was answered to another task, or its report is lost.
        """
        ...

    def keep(self, number: int, report: bytes) -> None:
        """Keep a report, which may be sent again."""
        ...


class MemoryStore:
    """Remembers as long as this object lives. For simulations and tests: a site that is restarted has forgotten everything."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._paid: str | None = None
        self._tasks: dict[int, bytes] = {}
        self._reports: dict[int, bytes] = {}

    def paid(self) -> str | None:
        """The price that was noted."""
        return self._paid

    def note_paid(self, price: str) -> None:
        """Note it."""
        self._paid = self._paid or price

    def claim(self, number: int, task: bytes) -> bytes | None:
        """Note a round, or give its report again."""
        with self._lock:
            if number not in self._tasks:
                self._tasks[number] = task
                return None
            if self._tasks[number] != task or number not in self._reports:
                raise PrivacyError(ANSWERED)
            return self._reports[number]

    def keep(self, number: int, report: bytes) -> None:
        """Keep a report."""
        self._reports[number] = report


class FileStore:
    """Remembers in a folder that belongs to one site: one file of marks for each run, and the reports that were given.

    Guarantee
    ---------
    A round is on the disk before `claim` returns, and so before its report exists: a crash at any moment counts as answered. Processes that share
    the folder take turns by a lock of the operating system. A file that is damaged, or ends in the middle of a line, allows nothing.
    A report is sent again only as the same bytes, to the same task. Whoever removes the folder makes the site forget: its ledger then
    refuses the run, since what was answered is not known.

    Parameters
    ----------
    folder : str or Path
        Made when it does not exist.
    run : str
        Which run of which site; a file name.
    """

    def __init__(self, folder: str | Path, run: str) -> None:
        self._folder = Path(folder)
        self._run = run
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError:
            raise DataError(
                f"the folder {self._folder} cannot be made. Choose another one for the site's memory."
            ) from None

    def paid(self) -> str | None:
        """The price that was noted first."""
        return next((str(mark["paid"]) for mark in self._marks() if "paid" in mark), None)

    def note_paid(self, price: str) -> None:
        """Note it."""
        self._append(lambda marks: None if any("paid" in m for m in marks) else {"paid": price})

    def note(self, number: int, task: bytes) -> str | None:
        """Note a round, durably; for which task it was noted before, hexadecimal, and None if it was not."""
        earlier: list[dict[str, Any]] = []

        def mark(marks: list[dict[str, Any]]) -> dict[str, Any] | None:
            earlier.extend(m for m in marks if m.get("round") == number)
            return None if earlier else {"round": number, "task": task.hex()}

        self._append(mark)
        return str(earlier[0]["task"]) if earlier else None

    def noted(self) -> frozenset[int]:
        """The rounds that were noted."""
        return frozenset(int(mark["round"]) for mark in self._marks() if "round" in mark)

    def claim(self, number: int, task: bytes) -> bytes | None:
        """Note a round, or give its report again."""
        known = self.note(number, task)
        if known is None:
            return None
        if known != task.hex():
            raise PrivacyError(ANSWERED)
        try:
            return read_bytes(self._report(number), LARGEST_REPORT, "a report of this site")
        except FileNotFoundError:
            raise PrivacyError(ANSWERED) from None

    def keep(self, number: int, report: bytes) -> None:
        """Keep a report; it appears whole or not at all."""
        with open_whole(self._report(number), 0o600) as file:
            file.write(report)

    def _report(self, number: int) -> Path:
        return self._folder / f"{self._run}-{number}.report"

    @property
    def _file(self) -> Path:
        return self._folder / f"{self._run}.rounds"

    def _marks(self) -> list[dict[str, Any]]:
        try:
            return _read(read_bytes(self._file, LARGEST_BYTES, "the rounds of a site"))
        except FileNotFoundError:
            return []

    def _append(self, mark: Any) -> None:
        """Append what `mark` makes of the marks so far, under a lock; None: nothing."""
        try:
            import fcntl
        except ImportError:
            raise PrivacyError(
                "this system has no locks for files, so a site cannot remember its rounds here."
            ) from None
        try:
            handle = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
            try:
                if not stat.S_ISREG(os.fstat(handle).st_mode):
                    raise PrivacyError(f"{self._file} is not an ordinary file, so no round can be remembered in it.")
                fcntl.flock(handle, fcntl.LOCK_EX)
                new = mark(self._marks())
                if new is None:
                    return
                line = _line(new)
                if os.write(handle, line) != len(line):
                    raise OSError(None, "the disk is full")
                os.fsync(handle)
            finally:
                os.close(handle)
            sync_folder(self._folder)
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            raise PrivacyError(f"the round could not be remembered ({reason}), so it is not answered.") from None


def round_store(memory: str | Path | None, run: str) -> Rounds:
    """Where a site remembers one run: a folder, or None for this process."""
    return MemoryStore() if memory is None else FileStore(memory, run)


def _line(mark: dict[str, Any]) -> bytes:
    content = json.dumps(mark, sort_keys=True)
    return f"{_digest(content)} {content}\n".encode()


def _digest(content: str) -> str:
    return hashlib.blake2b(content.encode(), digest_size=8).hexdigest()


def _read(content: bytes) -> list[dict[str, Any]]:
    try:
        if content and not content.endswith(b"\n"):
            raise ValueError
        found = []
        for line in content.decode("ascii").splitlines():
            check, _, text = line.partition(" ")
            if check != _digest(text):
                raise ValueError
            found.append(dict(parse_json(text)))
        return found
    except (ValueError, TypeError):
        raise PrivacyError(
            "the file in which this site remembers its rounds is damaged. What it has answered is not known, so it answers nothing."
        ) from None
