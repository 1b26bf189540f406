"""Tasks and reports as bytes: small, versioned, and checked before anything is believed.

A message is a fixed header, numbers, and a digest of both:

========  =====================================================================
4 bytes   ``DPSL``
1         version
1         kind: 1 task, 2 report
16        which run of which protocol: the digest of its text, nonce included
4         round, counted from 0
16        identifier of a report; zero in tasks
8         radius to which answers are held (task); zero in reports
4         how many numbers follow
8 or 4    each number: a float of the model (task), or a whole number (report)
8         digest: finds damage, proves nothing about the sender
========  =====================================================================

All numbers are little-endian. A report of 54 numbers takes 278 bytes.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..rounds.protocol import MessageError

MAGIC = b"DPSL"
VERSION = 1
TASK, REPORT = 1, 2
HEADER = struct.Struct("<4sBB16sI16sdI")
DIGEST = 8
#: Messages beyond this many numbers are not read.
LARGEST_ENTRIES = 2**21
#: Radii of tasks beyond these would leave the range of floats on a device.
SMALLEST_RADIUS, LARGEST_RADIUS = 1e-100, 1e100


@dataclass(frozen=True, eq=False)
class Task:
    """What the server asks of everybody in a round.

    Attributes
    ----------
    protocol : bytes
        Which run of which protocol, 16 bytes.
    round : int
    radius : float
        Answers are held within this norm before they are randomised.
    w : array
        The model at which gradients are taken; empty where labels are asked for.
    """

    protocol: bytes
    round: int
    radius: float
    w: NDArray[np.float64]

    def to_bytes(self) -> bytes:
        """As bytes."""
        w = np.asarray(self.w, dtype="<f8")
        return _sealed(TASK, self.protocol, self.round, bytes(16), self.radius, w)

    @classmethod
    def from_bytes(cls, message: Any) -> Task:
        """The inverse; refuses anything else."""
        protocol, turn, _, radius, numbers = _opened(message, TASK, "<f8")
        if not (np.all(np.isfinite(numbers)) and SMALLEST_RADIUS <= radius <= LARGEST_RADIUS):
            raise MessageError(
                f"the numbers of a task must be finite, and its radius between {SMALLEST_RADIUS:g} "
                f"and {LARGEST_RADIUS:g}."
            )
        return cls(protocol, turn, radius, numbers.astype(float))


@dataclass(frozen=True, eq=False)
class Report:
    """What one device says, once.

    Attributes
    ----------
    protocol : bytes
        Which run of which protocol, 16 bytes.
    round : int
    identifier : bytes
        16 bytes, different for every report; where labels are asked for, the number of the row.
    values : array of int32
        In units of the randomiser.
    """

    protocol: bytes
    round: int
    identifier: bytes
    values: NDArray[np.int32]

    def to_bytes(self) -> bytes:
        """As bytes."""
        values = np.asarray(self.values, dtype="<i4")
        return _sealed(REPORT, self.protocol, self.round, self.identifier, 0.0, values)

    @classmethod
    def from_bytes(cls, message: Any) -> Report:
        """The inverse; refuses anything else."""
        protocol, turn, identifier, radius, numbers = _opened(message, REPORT, "<i4")
        if radius != 0:
            raise MessageError("a report has no radius; that of its task is the server's.")
        return cls(protocol, turn, identifier, numbers.astype(np.int32))


def message_digest(content: bytes) -> bytes:
    """What a message ends with."""
    return hashlib.blake2b(content, digest_size=DIGEST).digest()


def _sealed(kind: int, protocol: bytes, turn: int, identifier: bytes, radius: float, numbers: NDArray[Any]) -> bytes:
    content = HEADER.pack(MAGIC, VERSION, kind, protocol, turn, identifier, radius, numbers.size) + numbers.tobytes()
    return content + message_digest(content)


def _opened(message: Any, kind: int, number: str) -> tuple[bytes, int, bytes, float, NDArray[Any]]:
    if not isinstance(message, bytes | bytearray | memoryview):
        raise MessageError(f"a message is bytes, got {type(message).__name__}.")
    message = bytes(message)
    if len(message) < HEADER.size + DIGEST:
        raise MessageError(f"a message has at least {HEADER.size + DIGEST} bytes, got {len(message)}.")
    magic, version, found, protocol, turn, identifier, radius, entries = HEADER.unpack_from(message)
    if magic != MAGIC:
        raise MessageError("this is not a message of dpsparse.")
    if version != VERSION:
        raise MessageError(f"the message has version {version}; this release reads version {VERSION}.")
    if found != kind:
        raise MessageError("a task came where a report was expected, or the other way round.")
    width = np.dtype(number).itemsize
    if entries > LARGEST_ENTRIES or len(message) != HEADER.size + entries * width + DIGEST:
        raise MessageError(f"the message should hold {entries} numbers, and its length does not fit.")
    if message_digest(message[:-DIGEST]) != message[-DIGEST:]:
        raise MessageError("the message is damaged: its digest does not fit.")
    return protocol, turn, identifier, radius, np.frombuffer(message, number, entries, HEADER.size)
