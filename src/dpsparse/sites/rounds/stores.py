"""What a participant remembers of its answers.

On its disk, in the host application, or as long as the process lives.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
import stat
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ...core import DataError, PrivacyError
from ...core.codec import read, write
from ...core.private_files import PLAIN, known, lock, open_private, read_at
from ...core.regular_files import open_whole, parse_json, read_bytes, sync_folder

#: A larger file of marks is not read: space for some hundred thousand rounds.
LARGEST_BYTES = 2**25
#: The same for the answers of one device: space for some thousand.
LARGEST_BYTES_OF_A_DEVICE = 2**20
#: A larger report is not read.
LARGEST_REPORT = 2**26
#: Sums of epsilons may exceed what is allowed by this part, which rounding makes.
ROUNDING = 1e-12

#: Bytes of the key with which a site marks its rows.
KEY = 32

ANSWERED = "this site has answered this round already, and answers no second time."
LOST = f"{ANSWERED[:-1]}: the report that it gave is no longer in its memory."
OVER = "this run is over for this site, and nothing more is computed for it."
NO_KEY = (
    "the file with the key of this site's run is missing from its memory, so that its rows cannot be compared with "
    "those of earlier rounds. Restore it."
)
DAMAGED = "the file in which answers are remembered is damaged. What was answered is not known, so nothing is answered."

Mark = dict[str, Any]


@dataclass(frozen=True)
class AnswerClaim:
    """One answer that a device is about to give: to which run of a protocol, and at which price."""

    protocol: str
    epsilon: float
    delta: float


class AnswerStore(ABC):
    """Remembers marks, which are durable before anything is answered, and the reports that were given.

    A site marks the price of its run and each round that it answers; a device marks each run that
    it answers, with its price.
    """

    @abstractmethod
    def marks(self) -> list[Mark]:
        """The marks so far, oldest first."""

    @abstractmethod
    def add(self, make: Callable[[list[Mark]], Mark | None]) -> None:
        """Add what `make` returns for the marks so far; None adds nothing. Nobody else adds a mark in between."""

    @abstractmethod
    def keep(self, number: int, report: bytes) -> None:
        """Keep a report, which may be sent again."""

    @abstractmethod
    def kept(self, number: int) -> bytes | None:
        """A report; None if it was not kept."""

    @abstractmethod
    def alone(self) -> AbstractContextManager[object]:
        """Nobody else who shares this store is inside at the same time."""

    @abstractmethod
    def key(self, *, new: bool) -> bytes:
        """The secret key of this run; a `new` one is drawn if it does not exist, and else its loss is refused."""

    @abstractmethod
    def forget_key(self) -> None:
        """Remove the key, which nothing depends on any more."""

    # ---------------------------------------------------------------------------------------------- rounds of one run

    def values(self, name: str) -> list[str]:
        """What was marked under a name, oldest first."""
        return [str(mark[name]) for mark in self.marks() if name in mark]

    def paid(self) -> str | None:
        """The digest of the price at which this run was marked as paid for; None: it was not."""
        return next(iter(self.values("paid")), None)

    def note_paid(self, price: str, rows: str = "") -> str:
        """Mark this run as paid for, with a mark of its rows; the first ones stay. Returns the mark of the rows."""
        self.add(lambda marks: None if any("paid" in mark for mark in marks) else {"paid": price, "rows": rows})
        return self.values("rows")[0]

    def new_token(self) -> str:
        """A token that is durable here, and that a ledger is then given: it knows an older copy of this store by it."""
        token = secrets.token_hex(16)
        self.add(lambda _: {"token": token})
        return token

    def noted(self) -> frozenset[int]:
        """The rounds that were marked."""
        return frozenset(map(int, self.values("round")))

    def note(self, number: int, task: bytes) -> str | None:
        """Mark a round; returns the task, hexadecimal, for which it was marked before, and None if it was not."""
        earlier: list[Mark] = []

        def mark(marks: list[Mark]) -> Mark | None:
            earlier.extend(m for m in marks if m.get("round") == number)
            return None if earlier else {"round": number, "task": task.hex()}

        self.add(mark)
        return str(earlier[0]["task"]) if earlier else None

    @property
    def over(self) -> bool:
        """Whether nothing more is computed for this run."""
        return bool(self.values("over"))

    def note_over(self) -> None:
        """Mark this run as over."""
        self.add(lambda marks: None if any("over" in mark for mark in marks) else {"over": 1})

    def answer_once(self, number: int, task: bytes, compute: Callable[[], bytes]) -> bytes:
        """The report of a round: computed for one task, stored, and the same bytes from then on. Call it `alone`.

        Guarantee
        ---------
        A report is returned only after it is stored, and after the mark that says so. Where that
        mark is missing, the process that computed the report was killed before anybody saw it, and it is
        computed again, for the same task; where it is there, nothing is computed any more.

        Raises
        ------
        PrivacyError
            If the round was answered to another task, its report is lost, or the run is over.
        """
        if self.note(number, task) not in (None, task.hex()):
            raise PrivacyError(ANSWERED)
        given = [mark["report"] for mark in self.marks() if mark.get("given") == number]
        if not given:
            if self.over:
                raise PrivacyError(OVER)
            report = compute()
            self.keep(number, report)
            self.add(lambda _: {"given": number, "report": _digest(report)})
            return report
        stored = self.kept(number)
        if stored is None or _digest(stored) != given[0]:
            raise PrivacyError(LOST)
        return stored

    # ---------------------------------------------------------------------------------------------- runs of one person

    def claims(self) -> list[AnswerClaim]:
        """The answers that a device gave, oldest first."""
        return _claims(self.marks())

    def claim_answer(self, claim: AnswerClaim, epsilon: float, delta: float) -> None:
        """Mark the answer to a run before it is given; `PrivacyError` if it must not be given.

        `epsilon` and `delta` are the most that the person allows, for all answers together.
        """

        def mark(marks: list[Mark]) -> Mark:
            check_claim(claim, _claims(marks), epsilon, delta)
            return cast(Mark, write(claim))

        self.add(mark)


class MemoryStore(AnswerStore):
    """Remembers as long as this object lives, in the process that made it. For simulations and tests.

    Guarantee
    ---------
    A copy that a fork makes of it refuses everything; a restart forgets everything.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._marks: list[Mark] = []
        self._reports: dict[int, bytes] = {}
        self._alone = threading.Lock()
        self._key = secrets.token_bytes(KEY)

    def marks(self) -> list[Mark]:
        """The marks so far."""
        return list(self._marks)

    def add(self, make: Callable[[list[Mark]], Mark | None]) -> None:
        """Add a mark, under a lock."""
        if os.getpid() != self._process:
            raise PrivacyError("this object was copied by a fork, and only the original answers.")
        with self._lock:
            mark = make(self.marks())
            if mark is not None:
                self._marks.append(mark)

    def keep(self, number: int, report: bytes) -> None:
        """Keep a report."""
        self._reports[number] = report

    def kept(self, number: int) -> bytes | None:
        """A report that was kept."""
        return self._reports.get(number)

    def alone(self) -> AbstractContextManager[object]:
        """One thread at a time."""
        return self._alone

    def key(self, *, new: bool) -> bytes:
        """As long as this object lives."""
        return self._key

    def forget_key(self) -> None:
        """Nothing is stored."""


class FileStore(AnswerStore):
    """Remembers in a file of its own: the answers of one person's device, or the rounds of one run of a site.

    Guarantee
    ---------
    A mark is on the disk before `add` returns. Processes that share the file take turns by a lock
    of the operating system, so restarts, forks and copies of the program answer once together. A
    file that is damaged, or ends in the middle of a line, allows nothing; a line that a full disk
    cut off is removed at once. The answer of a device counts from its mark on; the report of a
    site from when it is stored (`answer_once`), and it is sent again only as the same bytes, to
    the same task. Anyone who removes the file, or gives an older copy back, makes a device forget:
    keep it where its owner keeps keys, and out of backups that are restored. A site that has
    forgotten a run, or has a copy from before its last restart, is refused by its ledger.

    Parameters
    ----------
    path : str or Path
        The file of a device; or, with `run`, the folder of a site. Made when it does not exist, for
        its owner alone.
    run : str or None
        Which run of which site; a file name.
    """

    def __init__(self, path: str | Path, run: str | None = None) -> None:
        self.path = Path(path)
        self._reports, self._largest = self.path, LARGEST_BYTES_OF_A_DEVICE
        if run is None:
            return
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError:
            raise DataError(f"the folder {path} cannot be made. Choose another one for the site's memory.") from None
        self.path, self._reports, self._largest = self.path / f"{run}.rounds", self.path / run, LARGEST_BYTES

    def marks(self) -> list[Mark]:
        """The marks so far."""
        try:
            handle = os.open(self.path, os.O_RDONLY | PLAIN | known("O_NONBLOCK"))
        except FileNotFoundError:
            return []
        try:
            return self._marks(handle)
        finally:
            os.close(handle)

    def _marks(self, handle: int) -> list[Mark]:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise PrivacyError(f"{self.path} is not an ordinary file, so no answer can be remembered in it.")
        return _read(read_at(handle, min(found.st_size, self._largest + 1), 0), self._largest)

    def add(self, make: Callable[[list[Mark]], Mark | None]) -> None:
        """Append a mark, under a lock; it is on the disk when this returns."""
        try:
            self._append(make)
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            raise PrivacyError(
                f"the answer could not be remembered in {self.path} ({reason}), so it is not given."
            ) from None

    def _append(self, make: Callable[[list[Mark]], Mark | None]) -> None:
        with _locked(self.path, append=True) as handle:
            mark = make(self._marks(handle))
            if mark is None:
                return
            line, before = _line(mark), os.fstat(handle).st_size
            if os.write(handle, line) != len(line):
                os.ftruncate(handle, before)
                raise OSError(None, "the disk is full")
            os.fsync(handle)
        sync_folder(self.path.parent)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """One process and thread at a time, by a file that the operating system locks; it is free when they end."""
        with _locked(self.path.with_suffix(".lock")):
            yield

    def key(self, *, new: bool) -> bytes:
        """The key in a file of its own, for the owner alone."""
        path = self.path.with_suffix(".key")
        if not path.exists():
            if not new:
                raise PrivacyError(NO_KEY)
            with open_whole(path, 0o600) as file:
                file.write(secrets.token_bytes(KEY))
        return read_bytes(path, KEY, "the key of this site's run")

    def forget_key(self) -> None:
        """Remove its file."""
        self.path.with_suffix(".key").unlink(missing_ok=True)

    def keep(self, number: int, report: bytes) -> None:
        """Keep a report; it appears whole or not at all."""
        with open_whole(self._report(number), 0o600) as file:
            file.write(report)

    def kept(self, number: int) -> bytes | None:
        """A report that was kept."""
        try:
            return read_bytes(self._report(number), LARGEST_REPORT, "a report of this site")
        except FileNotFoundError:
            return None

    def forget(self, number: int) -> None:
        """Remove a report that is not needed any more."""
        self._report(number).unlink(missing_ok=True)

    def _report(self, number: int) -> Path:
        return self._reports.with_name(f"{self._reports.name}-{number}.report")


class CallbackStore:
    """Remembers the answers of a device by a function of the host application.

    The function returns True after it has stored a claim durably.

    Guarantee
    ---------
    A report is made only after the function has returned True. Whether "once" holds across restarts
    is then the application's to keep: the function must return False for a run it has stored
    before, and when the sum of what it stored exceeds what the person allows.
    """

    def __init__(self, store: Callable[[AnswerClaim], bool]) -> None:
        self._store = store

    def claim_answer(self, claim: AnswerClaim, epsilon: float, delta: float) -> None:
        """Ask the application."""
        check_claim(claim, [], epsilon, delta)
        if self._store(claim) is not True:
            raise PrivacyError(
                "the application does not allow this answer: it has stored it before, or could not store it."
            )


def device_store(
    given: AnswerStore | CallbackStore | Callable[[AnswerClaim], bool] | str | Path | None,
) -> AnswerStore | CallbackStore:
    """The store of a device from what a user gives: a store, a path, a function, or None for this process."""
    if given is None:
        return MemoryStore()
    if isinstance(given, str | Path):
        return FileStore(given)
    if isinstance(given, AnswerStore | CallbackStore):
        return given
    if callable(given):
        return CallbackStore(given)
    raise TypeError(f"memory must be None, a path, a function or a store, got {type(given).__name__}.")


def check_claim(claim: AnswerClaim, earlier: Sequence[AnswerClaim], epsilon: float, delta: float) -> None:
    """Refuse a second answer to one run, and an answer with which all together would cost more than is allowed."""
    if any(e.protocol == claim.protocol for e in earlier):
        raise PrivacyError("this device has answered a round already, and answers no second one.")
    cost = math.fsum(e.epsilon for e in (*earlier, claim))
    slack = math.fsum(e.delta for e in (*earlier, claim))
    if not (cost <= epsilon * (1 + ROUNDING) and slack <= delta * (1 + ROUNDING)):
        raise PrivacyError(
            f"this device allows ({epsilon:g}, {delta:g}) in all; with its earlier answers this "
            f"one would make it ({cost:g}, {slack:g})."
        )


@contextmanager
def _locked(path: Path, *, append: bool = False) -> Iterator[int]:
    """A file that is made for its owner alone, open, and locked by the operating system."""
    handle = open_private(path, append=append, follow=True)
    try:
        lock(handle, wait=True)
        yield handle
    finally:
        os.close(handle)


def _line(mark: Mark) -> bytes:
    content = json.dumps(mark, sort_keys=True).encode()
    return _digest(content).encode() + b" " + content + b"\n"


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def _read(content: bytes, largest: int) -> list[Mark]:
    try:
        if len(content) > largest or (content and not content.endswith(b"\n")):
            raise ValueError
        found = []
        for line in content.decode("ascii").splitlines():
            check, _, text = line.partition(" ")
            if check != _digest(text.encode()):
                raise ValueError
            found.append(dict(parse_json(text)))
        return found
    except (ValueError, TypeError):
        raise PrivacyError(DAMAGED) from None


def _claims(marks: list[Mark]) -> list[AnswerClaim]:
    try:
        return [read(AnswerClaim, mark, "claim") for mark in marks]
    except ValueError:
        raise PrivacyError(DAMAGED) from None
