"""Tasks and reports of sites and devices as bytes: of one version, bounded, and checked before anything is believed.

A message is a fixed header, a text, numbers, and a digest of all of them:

========  =====================================================================
4 bytes   ``DPSF``
1         version
1         kind: task or report of sites (1, 2), task or report of devices (3, 4)
16        which run of which protocol: the digest of its text, nonce included
4         round, counted from 0
16        sender: number of the site, or identifier of the report; zero in tasks
8         norm to which devices hold their answers; zero in other messages
2         bytes of the release that computed a report of a site; else zero
4         how many numbers follow
...       the release, as text
8 or 4    each number: a float, or in reports of devices a whole number
16        digest: finds damage. Who sent a message is for the transport to prove
========  =====================================================================

All numbers are little-endian. The report of a device with 54 numbers takes 288 bytes.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.facts import Vector
from ...core.release import release
from .protocol import MessageError

MAGIC = b"DPSF"
VERSION = 3
HEADER = struct.Struct("<4sBB16sI16sdHI")
DIGEST = 16
SENDER = 16
NOBODY = bytes(SENDER)
#: What the numbers of each kind of message are.
SITE_TASK, SITE_REPORT, DEVICE_TASK, DEVICE_REPORT = 1, 2, 3, 4
NUMBERS = {SITE_TASK: "<f8", SITE_REPORT: "<f8", DEVICE_TASK: "<f8", DEVICE_REPORT: "<i4"}
#: Releases of more bytes are cut off.
LARGEST_RELEASE = 2**12
#: Messages beyond this many numbers are not read: 32 MB.
LARGEST_ENTRIES = 2**22
#: Numbers of sites beyond would leave the range of floats in a sum of squares.
LARGEST_NUMBER = 1e100
#: Radii of tasks beyond these would leave the range of floats on a device.
SMALLEST_RADIUS, LARGEST_RADIUS = 1e-100, 1e100


class MessageFrame(NamedTuple):
    """What every message says."""

    run: bytes
    round: int
    sender: bytes
    radius: float
    release: str
    numbers: NDArray[Any]


def message_digest(content: bytes) -> bytes:
    """What a message ends with."""
    return hashlib.blake2b(content, digest_size=DIGEST).digest()


def pack(kind: int, frame: MessageFrame) -> bytes:
    """A message as bytes."""
    numbers, text = np.asarray(frame.numbers, dtype=NUMBERS[kind]).ravel(), frame.release.encode()[:LARGEST_RELEASE]
    said = MAGIC, VERSION, kind, frame.run, frame.round, frame.sender, frame.radius, len(text), numbers.size
    content = HEADER.pack(*said) + text + numbers.tobytes()
    return content + message_digest(content)


def unpack(message: object, kind: int) -> MessageFrame:
    """The inverse; refuses anything else."""
    if not isinstance(message, bytes | bytearray | memoryview):
        raise MessageError(f"a message is bytes, got {type(message).__name__}.")
    message = bytes(message)
    if len(message) < HEADER.size + DIGEST:
        raise MessageError(f"a message has at least {HEADER.size + DIGEST} bytes, got {len(message)}.")
    magic, version, found, run, turn, sender, radius, length, entries = HEADER.unpack_from(message)
    if magic != MAGIC:
        raise MessageError("this is not a message of dpsparse.")
    if version != VERSION:
        raise MessageError(f"the message has version {version}; this release reads version {VERSION}. Use one release.")
    if found != kind:
        raise MessageError("a task came where a report was expected, or the other way round.")
    start, width = HEADER.size + length, np.dtype(NUMBERS[kind]).itemsize
    if entries > LARGEST_ENTRIES or length > LARGEST_RELEASE or len(message) != start + width * entries + DIGEST:
        raise MessageError(f"the message should hold {entries} numbers, and its length does not fit.")
    if message_digest(message[:-DIGEST]) != message[-DIGEST:]:
        raise MessageError("the message is damaged: its digest does not fit.")
    text = message[HEADER.size : start].decode("utf-8", "replace")
    return MessageFrame(run, turn, sender, radius, text, np.frombuffer(message, NUMBERS[kind], entries, start))


# ------------------------------------------------------------------------------------------------ sites


def _unseal_floats(message: object, kind: int) -> tuple[MessageFrame, Vector]:
    frame = unpack(message, kind)
    if not np.all(np.abs(frame.numbers) <= LARGEST_NUMBER):  # false for NaN too
        raise MessageError(f"the numbers of a message must be finite, and at most {LARGEST_NUMBER:g}.")
    return frame, frame.numbers.astype(np.float64)


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
        return pack(SITE_TASK, MessageFrame(self.run, self.round, NOBODY, 0.0, "", self.w))

    @classmethod
    def from_bytes(cls, message: object) -> Task:
        """The inverse; refuses anything else."""
        frame, w = _unseal_floats(message, SITE_TASK)
        if frame.sender != NOBODY or frame.release or frame.radius != 0:
            raise MessageError("a task is for every site.")
        return cls(frame.run, frame.round, w)


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
        sender = self.site.to_bytes(SENDER, "little")
        return pack(SITE_REPORT, MessageFrame(self.run, self.round, sender, 0.0, self.release, self.change))

    @classmethod
    def from_bytes(cls, message: object) -> Report:
        """The inverse; refuses anything else."""
        frame, change = _unseal_floats(message, SITE_REPORT)
        if frame.radius != 0:
            raise MessageError("a report has no radius.")
        return cls(frame.run, frame.round, int.from_bytes(frame.sender, "little"), change, frame.release)


# ------------------------------------------------------------------------------------------------ devices


@dataclass(frozen=True, eq=False)
class DeviceTask:
    """What the server asks of everybody in a round.

    Attributes
    ----------
    protocol : bytes
        Which run of which protocol, 16 bytes.
    round : int
    radius : float
        Answers are clipped to this norm before they are randomised.
    w : array
        The model at which gradients are taken; empty where labels are asked for.
    """

    protocol: bytes
    round: int
    radius: float
    w: NDArray[np.float64]

    def to_bytes(self) -> bytes:
        """As bytes."""
        return pack(DEVICE_TASK, MessageFrame(self.protocol, self.round, NOBODY, self.radius, "", self.w))

    @classmethod
    def from_bytes(cls, message: object) -> DeviceTask:
        """The inverse; refuses anything else."""
        frame = unpack(message, DEVICE_TASK)
        if not (np.all(np.isfinite(frame.numbers)) and SMALLEST_RADIUS <= frame.radius <= LARGEST_RADIUS):
            raise MessageError(
                f"the numbers of a task must be finite, and its radius between {SMALLEST_RADIUS:g} "
                f"and {LARGEST_RADIUS:g}."
            )
        return cls(frame.run, frame.round, frame.radius, frame.numbers.astype(np.float64))


@dataclass(frozen=True, eq=False)
class DeviceReport:
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
        return pack(DEVICE_REPORT, MessageFrame(self.protocol, self.round, self.identifier, 0.0, "", self.values))

    @classmethod
    def from_bytes(cls, message: object) -> DeviceReport:
        """The inverse; refuses anything else."""
        frame = unpack(message, DEVICE_REPORT)
        if frame.radius != 0 or frame.release:
            raise MessageError("a report of a device has no radius and no release; those of its task are the server's.")
        return cls(frame.run, frame.round, frame.sender, frame.numbers.astype(np.int32))
