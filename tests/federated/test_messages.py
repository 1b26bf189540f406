"""Messages between sites and their server: versioned, bounded, and refused whole."""

import struct

import numpy as np
import pytest

from dpsparse.federated import MessageError, Report, Task
from dpsparse.sites.rounds.messages import DIGEST, HEADER, LARGEST_ENTRIES, message_digest

RUN = bytes(range(16))


def sealed(content: bytes) -> bytes:
    return content + message_digest(content)


def report(values=(1.0, -2.0), **changes) -> bytes:
    return Report(**{"run": RUN, "round": 3, "site": 1, "change": np.array(values), **changes}).to_bytes()


def test_what_is_sent_is_what_is_read():
    task = Task.from_bytes(Task(RUN, 7, np.array([0.5, -1.0, 3.0])).to_bytes())
    assert (task.run, task.round, task.w.tolist()) == (RUN, 7, [0.5, -1.0, 3.0])
    found = Report.from_bytes(report())
    assert (found.run, found.round, found.site, found.change.tolist()) == (RUN, 3, 1, [1.0, -2.0])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e101])
def test_numbers_that_are_none_are_refused(value):
    with pytest.raises(MessageError, match="finite"):
        Report.from_bytes(report((1.0, value)))


def test_every_damaged_byte_is_found():
    message = report()
    for place in range(len(message)):
        broken = bytearray(message)
        broken[place] ^= 0x11
        with pytest.raises(MessageError):
            Report.from_bytes(bytes(broken))
    for end in range(len(message)):
        with pytest.raises(MessageError):
            Report.from_bytes(message[:end])
    with pytest.raises(MessageError):
        Report.from_bytes(message + b"\0")


def test_another_version_another_kind_and_a_false_length_are_refused():
    content = report()[:-DIGEST]
    with pytest.raises(MessageError, match="version 9"):
        Report.from_bytes(sealed(content[:4] + b"\x09" + content[5:]))
    with pytest.raises(MessageError, match="other way round"):
        Task.from_bytes(report())
    with pytest.raises(MessageError, match="not a message"):
        Report.from_bytes(sealed(b"XXXX" + content[4:]))
    for entries in (1, 3, LARGEST_ENTRIES + 1, 2**32 - 1):
        false = content[: HEADER.size - 4] + struct.pack("<I", entries) + content[HEADER.size :]
        with pytest.raises(MessageError, match="length does not fit"):
            Report.from_bytes(sealed(false))
    with pytest.raises(MessageError, match="bytes"):
        Report.from_bytes("text")


def test_a_task_is_for_every_site():
    content = bytearray(Task(RUN, 0, np.zeros(2)).to_bytes()[:-DIGEST])
    content[26:30] = struct.pack("<I", 1)
    with pytest.raises(MessageError, match="every site"):
        Task.from_bytes(sealed(bytes(content)))
