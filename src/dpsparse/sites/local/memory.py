"""What a device remembers of its answers: on its disk, in the host application, or as long as the process lives."""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol as Interface

from ...core import PrivacyError
from ...core.codec import read, write
from ...core.regular_files import parse_json, sync_folder

#: A file of answers beyond this is not read: room for some thousand answers.
LARGEST_BYTES = 2**20
#: Sums of epsilons may exceed what is allowed by this part, which rounding makes.
ROUNDING = 1e-12


@dataclass(frozen=True)
class AnswerClaim:
    """One answer that is about to be given: to which run of a protocol, and at which price."""

    protocol: str
    epsilon: float
    delta: float


class Memory(Interface):
    """Remembers answers."""

    def claim(self, claim: AnswerClaim, epsilon: float, delta: float) -> None:
        """Remember an answer, durably, before it is given; `PrivacyError` if it must not be given.

        `epsilon` and `delta` are the most that the person allows, for all answers together.
        """


class MemoryStore:
    """Remembers as long as this object lives, in the process that made it. For simulations and tests: not for people.

    Guarantee
    ---------
    A copy that a fork makes of it refuses everything; a restart forgets everything.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._claims: list[AnswerClaim] = []

    def claim(self, claim: AnswerClaim, epsilon: float, delta: float) -> None:
        """Remember, or refuse."""
        if os.getpid() != self._process:
            raise PrivacyError("this device was copied by a fork, and only the original answers.")
        with self._lock:
            check_claim(claim, self._claims, epsilon, delta)
            self._claims.append(claim)


class FileStore:
    """Remembers in a file that belongs to one person's device.

    Guarantee
    ---------
    An answer is on the disk before `claim` returns, and so before a report exists: a crash at any moment counts as answered. Processes
    that share the file take turns (a lock of the operating system), so restarts, forks and copies of the program answer once together. A
    file that is damaged, or ends in the middle of a line, allows nothing. Whoever removes the file, or gives an older copy back, makes
    the device forget: keep it where its owner keeps keys, and out of backups that are restored.

    Parameters
    ----------
    path : str or Path
        Made when it does not exist, readable by its owner alone.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def claim(self, claim: AnswerClaim, epsilon: float, delta: float) -> None:
        """Remember, or refuse."""
        try:
            self._claim(claim, epsilon, delta)
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            raise PrivacyError(
                f"the answer could not be remembered in {self.path} ({reason}), so it is not given."
            ) from None

    def claims(self) -> list[AnswerClaim]:
        """The answers that were given, oldest first."""
        try:
            with open(self.path, "rb", opener=_opened_to_read) as file:
                return _read(file.read(LARGEST_BYTES + 1))
        except FileNotFoundError:
            return []

    def _claim(self, claim: AnswerClaim, epsilon: float, delta: float) -> None:
        try:
            import fcntl
        except ImportError:
            raise PrivacyError(
                "this system has no locks for files. Give the device a function that stores its answers: memory=..."
            ) from None
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise PrivacyError(f"{self.path} is not an ordinary file, so no answer can be remembered in it.")
            fcntl.flock(handle, fcntl.LOCK_EX)
            check_claim(claim, _read(_all(handle)), epsilon, delta)
            line = _line(claim)
            if os.write(handle, line) != len(line):
                raise OSError(None, "the disk is full")
            os.fsync(handle)
        finally:
            os.close(handle)
        sync_folder(self.path.parent)


class CallbackStore:
    """Remembers by a function of the host application, which must return True after it has stored the claim durably.

    Guarantee
    ---------
    A report is made only after the function has returned True. Whether "once" holds across restarts is then the application's to keep:
    the function must return False for a run it has stored before, and when the sum of what it stored exceeds what the person allows.
    """

    def __init__(self, store: Callable[[AnswerClaim], bool]) -> None:
        self._store = store

    def claim(self, claim: AnswerClaim, epsilon: float, delta: float) -> None:
        """Ask the application."""
        check_claim(claim, [], epsilon, delta)
        if self._store(claim) is not True:
            raise PrivacyError(
                "the application does not allow this answer: it has stored it before, or could not store it."
            )


def memory_of(given: Memory | Callable[[AnswerClaim], bool] | str | Path | None) -> Memory:
    """A memory from what a user gives: a memory, a path, a function, or None for this process."""
    if given is None:
        return MemoryStore()
    if isinstance(given, str | Path):
        return FileStore(given)
    if isinstance(given, FileStore | CallbackStore | MemoryStore):
        return given
    if callable(given):
        return CallbackStore(given)
    raise TypeError(f"memory must be a path, a function, a FileStore or a MemoryStore, got {type(given).__name__}.")


def check_claim(claim: AnswerClaim, earlier: list[AnswerClaim], epsilon: float, delta: float) -> None:
    """Refuse a second answer to one run, and an answer with which all together would cost more than is allowed."""
    if any(e.protocol == claim.protocol for e in earlier):
        raise PrivacyError("this device has answered a round already, and answers no second one.")
    cost = math.fsum(e.epsilon for e in (*earlier, claim))
    slack = math.fsum(e.delta for e in (*earlier, claim))
    if not (cost <= epsilon * (1 + ROUNDING) and slack <= delta * (1 + ROUNDING)):
        raise PrivacyError(
            f"this device allows ({epsilon:g}, {delta:g}) in all; with its earlier answers this one would make it ({cost:g}, {slack:g})."
        )


def _line(claim: AnswerClaim) -> bytes:
    content = json.dumps(write(claim), sort_keys=True)
    return f"{_digest(content)} {content}\n".encode()


def _digest(content: str) -> str:
    return hashlib.blake2b(content.encode(), digest_size=8).hexdigest()


def _read(content: bytes) -> list[AnswerClaim]:
    try:
        if len(content) > LARGEST_BYTES or (content and not content.endswith(b"\n")):
            raise ValueError
        found = []
        for line in content.decode("ascii").splitlines():
            check, _, text = line.partition(" ")
            if check != _digest(text):
                raise ValueError
            found.append(read(AnswerClaim, parse_json(text), "claim"))
        return found
    except ValueError:
        raise PrivacyError(
            "the file in which this device remembers its answers is damaged. What it has answered is not known, so it answers nothing."
        ) from None


def _all(handle: int) -> bytes:
    os.lseek(handle, 0, os.SEEK_SET)
    parts, size = [], 0
    while size <= LARGEST_BYTES and (part := os.read(handle, 2**16)):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _opened_to_read(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
