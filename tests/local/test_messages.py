"""Messages: what goes in comes out, and nothing else is read."""

import math

import numpy as np
import pytest

from dpsparse.local import MessageError, Report, Task
from dpsparse.sites.rounds.messages import DIGEST, HEADER, message_digest

IDENTITY = bytes(range(16))
VALUES = np.array([1, -2, 2**31 - 1, -(2**31)], dtype=np.int32)


def test_reports_come_back_as_they_were():
    report = Report.from_bytes(Report(IDENTITY, 3, b"i" * 16, VALUES).to_bytes())
    assert (report.protocol, report.round, report.identifier) == (IDENTITY, 3, b"i" * 16)
    assert np.array_equal(report.values, VALUES)


def test_tasks_come_back_as_they_were():
    w = np.array([1.5, -1e300, 0.0])
    task = Task.from_bytes(Task(IDENTITY, 2, 0.7, w).to_bytes())
    assert (task.protocol, task.round, task.radius) == (IDENTITY, 2, 0.7)
    assert np.array_equal(task.w, w)


def test_messages_are_small():
    assert len(Report(IDENTITY, 0, bytes(16), np.zeros(54, dtype=np.int32)).to_bytes()) == 54 * 4 + HEADER.size + DIGEST
    assert 54 * 4 + HEADER.size + DIGEST == 288


def resealed(message: bytes, **fields) -> bytes:
    names = ("magic", "version", "kind", "protocol", "round", "identifier", "radius", "release", "entries")
    values = dict(zip(names, HEADER.unpack_from(message), strict=True)) | fields
    content = HEADER.pack(*(values[n] for n in names)) + message[HEADER.size : -DIGEST]
    return content + message_digest(content)


GOOD = Report(IDENTITY, 0, bytes(16), VALUES).to_bytes()


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (None, "a message is bytes"),
        ("text", "a message is bytes"),
        (b"", "at least"),
        (GOOD[:-1], "length does not fit"),
        (GOOD + b"x", "length does not fit"),
        (b"x" * 500, "not a message of dpsparse"),
        (resealed(GOOD, version=2), "version 2"),
        (resealed(GOOD, kind=3), "a task came"),
        (resealed(GOOD, kind=2), "a task came"),
        (resealed(GOOD, radius=1.0), "no radius"),
        (resealed(GOOD, radius=math.nan), "no radius"),
        (resealed(GOOD, entries=3), "length does not fit"),
        (resealed(GOOD, entries=2**32 - 1), "length does not fit"),
        (GOOD[:-1] + bytes([GOOD[-1] ^ 1]), "damaged"),
        (GOOD[:60] + bytes([GOOD[60] ^ 1]) + GOOD[61:], "damaged"),
    ],
)
def test_anything_else_is_refused_with_its_reason(message, reason):
    with pytest.raises(MessageError, match=reason):
        Report.from_bytes(message)


@pytest.mark.parametrize(
    ("w", "radius"),
    [([math.nan], 1.0), ([math.inf], 1.0), ([0.0], 0.0), ([0.0], -1.0), ([0.0], math.inf), ([0.0], math.nan)],
)
def test_tasks_of_impossible_numbers_are_refused(w, radius):
    with pytest.raises(MessageError, match="finite"):
        Task.from_bytes(Task(IDENTITY, 0, radius, np.array(w)).to_bytes())
