"""Which tape a run goes on from, and whether it may."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol, Self

import numpy as np

from ..core.digests import digest_of
from ..core.errors import ResumeError, RetryLaterError
from ..core.mechanisms import Randomness, keyed_generator
from ..core.regular_files import open_whole, sync_folder
from ..core.release import release
from .tape import KEY, Tape, derived, key_path
from .tape_file import End, Header, refusals, stored_frames, stored_header


class EntryLike(Protocol):
    """The entry of a ledger that pays for a run, as a tape needs it."""

    ledger: str
    dataset: str
    entry: int
    entry_hash: str

    @property
    def status(self) -> str:
        """``reserved``, ``started`` or ``done``."""
        ...

    @property
    def token(self) -> str:
        """The last token of a tape that the ledger was given for this entry; empty if there was none."""
        ...


@dataclass(frozen=True)
class Resume:
    """Where the released answers of a run are kept.

    Parameters
    ----------
    folder : Path
    dataset, run_id : str
        Which run of which dataset.
    """

    folder: Path
    dataset: str
    run_id: str

    @classmethod
    def of(cls, folder: str | os.PathLike[str] | None, dataset: str | None, run_id: str | None) -> Self | None:
        """From the arguments of an estimator; None where nothing is kept. Refuses a folder without a run."""
        if folder is None:
            return None
        if dataset is None or run_id is None:
            raise ResumeError(
                "resume needs a ledger, a dataset and a run_id: they say which run goes on, and that it was paid for."
            )
        return cls(Path(folder), dataset, run_id)

    @property
    def path(self) -> Path:
        """The file of the tape."""
        plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in self.run_id)[:40]
        return self.folder / f"{plain}-{digest_of(self.dataset, self.run_id)[:16]}.tape"

    @cached_property
    def key(self) -> bytes:
        """The key of the run: the one that is stored, or a fresh one."""
        with suppress(FileNotFoundError):
            stored = key_path(self.path).read_bytes()
            if len(stored) == KEY:
                return stored
        return secrets.token_bytes(KEY)

    @cached_property
    def public_seed(self) -> bytes:
        """For draws of the plan that are public: the one on the tape, or one that the key gives."""
        header = stored_header(self.path)
        return derived(self.key, "public") if header is None else bytes.fromhex(header.public)

    def generator(self, purpose: str) -> np.random.Generator:
        """Secret draws that are the same when the run is resumed."""
        return keyed_generator(int.from_bytes(derived(self.key, purpose)[:16], "little"))

    @property
    def kept(self) -> tuple[str | None] | None:
        """What the record of the end keeps; None for a run that is not done."""
        with suppress(FileNotFoundError):
            ends = [frame.record for frame in stored_frames(self.path) if isinstance(frame.record, End)]
            return (ends[-1].kept,) if ends else None
        return None

    @contextmanager
    def open(self, entry: EntryLike, randomness: Randomness) -> Iterator[Tape]:
        """The tape of the run that an entry pays for; refuses one with which it cannot go on.

        Raises
        ------
        ResumeError
            If it is missing although the run began, or it is damaged, or of another run.
        RetryLaterError
            If another process has it, or the folder cannot be written.
        """
        path, begun = self.path, entry.status != "reserved"
        if begun and not path.exists():
            raise ResumeError(
                f"run {self.run_id!r} began, and {path}, where its answers were kept, is not there: entry "
                f"{entry.entry} counts. Give the folder in which it began, or choose another run_id, and pay once more."
            )
        with refusals(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            sync_folder(self.folder.parent)
        key = None if begun and not key_path(path).exists() else self._stored_key()
        named = "" if key is None else digest_of(key)
        bound = entry.ledger, entry.dataset, entry.entry, entry.entry_hash, release(), randomness.seed
        header = Header(*bound, named, self.public_seed.hex())
        with closing(Tape(path, header, key)) as tape:
            self._check_tokens(tape, entry)
            yield tape

    def _stored_key(self) -> bytes:
        """The key of the run, durable."""
        path, key = key_path(self.path), self.key
        with refusals(path):
            if not path.exists():
                with open_whole(path, 0o600) as file:
                    file.write(key)
            if path.read_bytes() != key:
                raise RetryLaterError(
                    f"another process began run {self.run_id!r} at the same time. Run the same again."
                )
        return key

    def _check_tokens(self, tape: Tape, entry: EntryLike) -> None:
        """Refuse a tape from which another process went on, and a ledger or a tape that is older than the other."""
        if entry.status == "reserved" and (tape.known or tape.done):
            raise ResumeError(
                f"{tape.path} holds answers, and the ledger does not know that the run began: the ledger is an older "
                "copy. Restore the original."
            )
        if entry.status == "done" and not tape.done:
            raise ResumeError(
                f"run {self.run_id!r} is done, and {tape.path} is an older copy of its tape. Restore the newest "
                "one, or choose another run_id, and pay once more."
            )
        if entry.status == "started" and entry.token not in tape.tokens[max(0, tape.known - 1) :]:
            raise ResumeError(
                f"run {self.run_id!r} went on from another copy of {tape.path}, or began without it: entry "
                f"{entry.entry} counts. Go on from the newest copy, or choose another run_id, and pay once more."
            )
