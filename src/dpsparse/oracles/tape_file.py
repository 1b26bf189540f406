"""A file of records that one process appends to, each with a digest of everything up to it.

Guarantee
---------
`TapeFile.append` returns when the record is on the disk. Of a process that ends while it appends,
the file keeps the whole records before, and a tail: a record that is cut off, or bytes that never
reached the disk. `read_frames` passes over such a tail, and over nothing else. Each record begins
with its lengths and a digest of these and of all before, so that damaged lengths in the middle are
not taken for a tail. A record that could not be stored is taken off again.
"""

from __future__ import annotations

import errno
import hashlib
import math
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from ..core.codec import Count, canonical_json, read, write
from ..core.errors import ResumeError, RetryLaterError
from ..core.private_files import lock, open_private, read_at, write_at
from ..core.regular_files import parse_json, sync_folder
from ..core.statement import Receipt

#: Before each record: bytes of its description and of its numbers, and a digest of these. After it: a digest.
FRAME, CHECK, DIGEST = struct.Struct("<IQ"), 8, 32
HEAD = FRAME.size + CHECK


@dataclass(frozen=True)
class Header:
    """What a tape belongs to.

    Attributes
    ----------
    ledger, dataset, entry, entry_hash
        The entry that pays; its hash covers the bill, the label and the run_id.
    release : str
    seed : int or None
    key : str
        A digest of the key of the run; empty where the key is gone.
    public : str
        The seed of public draws of the plan, such as lengths of epochs.
    run : int or None
        Which run of a search it holds; None for the tape of a whole.
    made : int
        How much a seed had given when that run began.
    """

    ledger: str
    dataset: str
    entry: int
    entry_hash: str
    release: str
    seed: int | None
    key: str
    public: str
    run: int | None = None
    made: Count = 0


@dataclass(frozen=True)
class Token:
    """A process goes on from here, and reports it to the ledger."""

    token: str


@dataclass(frozen=True)
class Section:
    """A new oracle: the digest of its public values, and the mark of its rows."""

    bound: str
    mark: str


@dataclass(frozen=True)
class Answer:
    """One answer: its query, the form of its numbers, what was drawn, and how much a seed has given so far."""

    ask: str
    kind: str
    query: str
    dtype: Literal["<f8", "<i8"]
    shape: tuple[Count, ...]
    made: Count
    receipts: tuple[Receipt, ...]


@dataclass(frozen=True)
class End:
    """The run is done; of a search, with the candidate of its best run as JSON, where that has a plain form."""

    kept: str | None = None


Record: TypeAlias = Header | Token | Section | Answer | End
#: A missing right, another kind of file, and a file system without locks: a retry meets them again.
_STAYS = (
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ELOOP, errno.ENOTDIR, errno.EISDIR),
    *(errno.ENOLCK, errno.EOPNOTSUPP),
)
#: Records by the name under which they are stored.
RECORDS: dict[str, type[Record]] = {kind.__name__.lower(): kind for kind in (Header, Token, Section, Answer, End)}


class Frame(NamedTuple):
    """A stored record with its numbers, the digest of everything up to it, and where it ends in the file."""

    record: Record
    data: bytes
    digest: bytes
    end: int


class TapeFile:
    """The file, for this process alone; made for its owner alone if it does not exist."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._process = os.getpid()
        self._handle = _locked(path)
        self._last, self._end = b"", 0
        self._broken = False

    def frames(self) -> Iterator[Frame]:
        """Whole records, from the first one on."""
        return read_frames(self._handle, self.path)

    def go_on_after(self, last: Frame | None) -> None:
        """Let appended records follow this one; what stands after it is removed, and what stands before it is durable.

        A process that was killed between writing and syncing leaves a whole record that a power cut could still take.
        """
        self._last, self._end = (b"", 0) if last is None else (last.digest, last.end)
        with refusals(self.path):
            os.ftruncate(self._handle, self._end)
            os.fsync(self._handle)

    def append(self, record: Record, data: bytes = b"") -> None:
        """Make a record durable; nothing that it holds may be returned to anybody before."""
        if self._broken or os.getpid() != self._process:
            raise ResumeError(f"{self.path} is written by the process that opened it, as long as writing succeeds.")
        self._broken = True  # also where a signal comes between here and the last line
        content, last = _stored(self._last, record, data)
        try:
            self._write(content)
        except OSError as error:
            with suppress(OSError):  # a system that could not sync may give back bytes that are not on the disk
                os.ftruncate(self._handle, self._end)
            raise RetryLaterError(
                f"an answer could not be stored in {self.path} ({_reason(error)}), so nobody received it. Free some "
                "space, then run the same again: it goes on where it stopped."
            ) from None
        self._last, self._end, self._broken = last, self._end + len(content), False

    def _write(self, content: bytes) -> None:
        write_at(self._handle, content, self._end)

    def close(self) -> None:
        """Let another process have the file."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def stored_frames(path: Path) -> Iterator[Frame]:
    """The whole records of a file, whichever process has it."""
    with path.open("rb") as file:
        yield from read_frames(file.fileno(), path)


def stored_header(path: Path) -> Header | None:
    """What a file belongs to; None if there is no file, or no whole record in it."""
    with suppress(FileNotFoundError):
        found = next((frame.record for frame in stored_frames(path)), None)
        return found if isinstance(found, Header) else None
    return None


def read_frames(handle: int, path: Path) -> Iterator[Frame]:
    """Whole records; refuses a file that was edited or is damaged anywhere but in its last record."""
    size, last, place = os.fstat(handle).st_size, b"", 0
    while place + HEAD <= size:
        head = read_at(handle, HEAD, place)
        if head[FRAME.size :] != _digest(last, head[: FRAME.size])[:CHECK]:
            if any(read_at(handle, size - place, place)):  # zeros: a power cut, before they were written
                raise _damaged(path)
            return
        described, numbers = FRAME.unpack(head[: FRAME.size])
        end = place + HEAD + described + numbers + DIGEST
        if end > size:
            return
        content = read_at(handle, end - DIGEST - place, place)
        last = _digest(last, content)
        if last != read_at(handle, DIGEST, end - DIGEST):
            if end < size:
                raise _damaged(path)
            return
        data = content[HEAD + described :]
        yield Frame(_record(content[HEAD : HEAD + described], numbers, path), data, last, end)
        place = end


def _stored(before: bytes, record: Record, data: bytes) -> tuple[bytes, bytes]:
    """The bytes of a record with its digest, and that digest."""
    said = canonical_json({"record": type(record).__name__.lower(), **write(record)}).encode()
    lengths = FRAME.pack(len(said), len(data))
    content = lengths + _digest(before, lengths)[:CHECK] + said + data
    last = _digest(before, content)
    return content + last, last


def _digest(before: bytes, content: bytes) -> bytes:
    return hashlib.sha256(before + content).digest()


def _record(said: bytes, numbers: int, path: Path) -> Record:
    try:
        content = parse_json(said)
        record: Record = read(RECORDS[content.pop("record")], content, "record")
        if isinstance(record, Answer) and numbers != math.prod(record.shape) * np.dtype(record.dtype).itemsize:
            raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError):
        raise _damaged(path) from None
    return record


def _damaged(path: Path) -> ResumeError:
    return ResumeError(
        f"{path} was edited or is damaged. What was answered is not known, so nothing is answered: restore the file, "
        "or choose another run_id, and pay again."
    )


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


def _locked(path: Path) -> int:
    with refusals(path):
        handle = open_private(path)
        try:
            lock(handle, wait=False)
            sync_folder(path.parent)
        except BlockingIOError:
            os.close(handle)
            raise RetryLaterError(f"another process runs this run_id: it holds {path}. Wait for its end.") from None
        except OSError:
            os.close(handle)
            raise
    return handle


@contextmanager
def refusals(path: Path) -> Iterator[None]:
    """Turn what the operating system refuses into our words: a missing right stays, a full disk passes."""
    try:
        yield
    except OSError as error:
        stays = error.errno in _STAYS
        kind: type[ResumeError | RetryLaterError] = ResumeError if stays else RetryLaterError
        raise kind(
            f"{path} cannot be used: {_reason(error)}. Choose another folder for resume, or "
            f"{'ask for the right to use it' if stays else 'free some space'}."
        ) from None
