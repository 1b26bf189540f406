"""Tasks and reports between a server and its sites.

Bytes of one version, bounded, and checked before anything is believed.

A message is a fixed header, numbers, and a digest of both:

========  =====================================================================
4 bytes   ``DPSF``
1         version
1         kind: 1 task, 2 report
16        which run of which protocol: the digest of its text, nonce included
4         round, counted from 0
4         number of the site (report); all ones in tasks
2         bytes of the release (report); zero in tasks
4         how many numbers follow
...       the release that computed the report, as text
8 each    the model (task), or what a site changed in it (report): floats
16        digest: finds damage. Who sent a message is for the transport to prove
========  =====================================================================

All numbers are little-endian.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.facts import Vector
from ...core.release import release
from ..rounds.protocol import MessageError

MAGIC = b"DPSF"
VERSION = 2
TASK, REPORT = 1, 2
HEADER = struct.Struct("<4sBB16sIIHI")
DIGEST = 16
#: The site of a task: all of them.
EVERYBODY = 2**32 - 1
#: Releases of more bytes are cut off.
LARGEST_RELEASE = 2**12
#: Messages beyond this many numbers are not read: 32 MB.
LARGEST_ENTRIES = 2**22
#: Numbers beyond would leave the range of floats in a sum of squares.
LARGEST_NUMBER = 1e100


@dataclass(frozen=True, eq=False)
class Task:
    """What the server asks of every site in a round.

    Attributes
    ----------
    run : bytes
        Which run of which protocol, 16 bytes.
    round : int
    w : array
        The model, those of several classes one after the other.
    """

    run: bytes
    round: int
    w: Vector

    def to_bytes(self) -> bytes:
        """As bytes."""
        return _sealed(TASK, self.run, self.round, EVERYBODY, "", self.w)

    @classmethod
    def from_bytes(cls, message: Any) -> Task:
        """The inverse; refuses anything else."""
        run, turn, site, said, numbers = _opened(message, TASK)
        if site != EVERYBODY or said:
            raise MessageError("a task is for every site.")
        return cls(run, turn, numbers)


@dataclass(frozen=True, eq=False)
class Report:
    """What one site changed in one round.

    Attributes
    ----------
    run : bytes
        Which run of which protocol, 16 bytes.
    round : int
    site : int
        Its number in the protocol.
    change : array
        The model of the site less that of the task.
    release : str
        The release that computed it: that of this process.
    """

    run: bytes
    round: int
    site: int
    change: Vector
    release: str = field(default_factory=release)

    def to_bytes(self) -> bytes:
        """As bytes."""
        return _sealed(REPORT, self.run, self.round, self.site, self.release, self.change)

    @classmethod
    def from_bytes(cls, message: Any) -> Report:
        """The inverse; refuses anything else."""
        run, turn, site, said, change = _opened(message, REPORT)
        return cls(run, turn, site, change, said)


def message_digest(content: bytes) -> bytes:
    """What a message ends with."""
    return hashlib.blake2b(content, digest_size=DIGEST).digest()


def _sealed(kind: int, run: bytes, turn: int, site: int, said: str, values: Vector) -> bytes:
    numbers, text = np.asarray(values, dtype="<f8").ravel(), said.encode()[:LARGEST_RELEASE]
    content = HEADER.pack(MAGIC, VERSION, kind, run, turn, site, len(text), numbers.size) + text + numbers.tobytes()
    return content + message_digest(content)


def _opened(message: Any, kind: int) -> tuple[bytes, int, int, str, NDArray[np.float64]]:
    if not isinstance(message, bytes | bytearray | memoryview):
        raise MessageError(f"a message is bytes, got {type(message).__name__}.")
    message = bytes(message)
    if len(message) < HEADER.size + DIGEST:
        raise MessageError(f"a message has at least {HEADER.size + DIGEST} bytes, got {len(message)}.")
    magic, version, found, run, turn, site, length, entries = HEADER.unpack_from(message)
    if magic != MAGIC:
        raise MessageError("this is not a message between sites of dpsparse.")
    if version != VERSION:
        raise MessageError(f"the message has version {version}; this release reads version {VERSION}. Use one release.")
    if found != kind:
        raise MessageError("a task came where a report was expected, or the other way round.")
    start = HEADER.size + length
    if entries > LARGEST_ENTRIES or length > LARGEST_RELEASE or len(message) != start + 8 * entries + DIGEST:
        raise MessageError(f"the message should hold {entries} numbers, and its length does not fit.")
    if message_digest(message[:-DIGEST]) != message[-DIGEST:]:
        raise MessageError("the message is damaged: its digest does not fit.")
    numbers = np.frombuffer(message, "<f8", entries, start).astype(np.float64)
    if not np.all(np.abs(numbers) <= LARGEST_NUMBER):  # false for NaN too
        raise MessageError(f"the numbers of a message must be finite, and at most {LARGEST_NUMBER:g}.")
    return run, turn, site, message[HEADER.size : start].decode("utf-8", "replace"), numbers
