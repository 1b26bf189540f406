"""Ten thousand mutated messages: the server neither crashes nor changes its state for invalid ones."""

import struct
import subprocess
import sys
from pathlib import Path

import numpy as np

from dpsparse.local import Device, MessageError, Report
from dpsparse.sites.rounds.messages import DIGEST, HEADER, message_digest

sys.path.insert(0, str(Path(__file__).parent))
from server_process import make

MESSAGES = 10_000


def mutated(message: bytes, rng: np.random.Generator) -> bytes:
    """Bits flipped, bytes cut, doubled, exchanged or invented; half of them sealed again, to get past the digest."""
    data = bytearray(message)
    for _ in range(int(rng.integers(1, 4))):
        kind = rng.integers(0, 7)
        at = int(rng.integers(0, max(len(data), 1)))
        if kind == 0 and data:
            data[at] ^= 1 << int(rng.integers(0, 8))
        elif kind == 1:
            data = data[:at]
        elif kind == 2:
            data[at:at] = rng.bytes(int(rng.integers(1, 20)))
        elif kind == 3:
            data += data[at:]
        elif kind == 4 and data:
            data[at] = int(rng.choice([0, 1, 127, 128, 255]))
        elif kind == 5:
            data = bytearray(rng.bytes(int(rng.integers(0, 300))))
        elif len(data) > HEADER.size + DIGEST + 3:  # a number of the payload
            place = HEADER.size + 4 * int(rng.integers(0, (len(data) - HEADER.size - DIGEST) // 4 or 1))
            data[place : place + 4] = struct.pack("<i", int(rng.integers(-(2**31), 2**31)))
    if rng.random() < 0.5 and len(data) > DIGEST:
        content = bytes(data[:-DIGEST])
        data = bytearray(content + message_digest(content))
    return bytes(data)


def originals(task: bytes, protocol, rng: np.random.Generator, count: int = 30) -> list[bytes]:
    return [Device(rng.uniform(-1, 1, 6), 0.5, protocol, epsilon=2.0).answer(task) for _ in range(count)]


def test_a_server_survives_mutated_messages_and_takes_only_what_is_valid():
    rng = np.random.default_rng(1)
    server = make()
    good = originals(server.task(), server.protocol, rng)
    accepted = 0
    for _ in range(MESSAGES):
        before = server.round, server.count, server._tally.total.copy(), len(server._seen)
        message = mutated(good[int(rng.integers(len(good)))], rng)
        try:
            server.receive(message)
        except MessageError:
            assert (server.round, server.count, len(server._seen)) == (before[0], before[1], before[3])
            assert np.array_equal(server._tally.total, before[2])
        else:  # a valid report of somebody who made it up: counted once, and of bounded influence
            accepted += 1
            assert server.count == before[1] + 1
            moved = np.linalg.norm((server._tally.total - before[2]) * server._randomiser.unit)
            assert moved <= server.influence * (1 + 1e-5)
    assert accepted < MESSAGES / 20
    for message in good:
        if Report.from_bytes(message).identifier not in server._seen:
            server.receive(message)
    server.close()
    assert server.round == 1


def test_a_server_process_survives_mutated_messages():
    rng = np.random.default_rng(2)
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("server_process.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    protocol, task, state = process.stdout.readline().decode().split()
    good = originals(bytes.fromhex(task), bytes.fromhex(protocol).decode(), rng)
    refused = 0
    for _ in range(MESSAGES):
        message = mutated(good[int(rng.integers(len(good)))], rng)
        process.stdin.write(struct.pack("<I", len(message)) + message)
        process.stdin.flush()
        verdict, now = process.stdout.readline().decode().split()
        assert (verdict == "refused") == (now == state)
        refused += verdict == "refused"
        state = now
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert (output, errors) == (b"", b"")
    assert refused > 0.95 * MESSAGES
