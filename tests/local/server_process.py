"""A server in a process of its own: length-prefixed messages on standard input, one line for each on standard output.

A line says ``accepted`` or ``refused``, and a digest of everything the server holds.
"""

import hashlib
import struct
import sys

from dpsparse import SparseRegressor
from dpsparse.local import MessageError, Server
from dpsparse.recipes import LDPIHT


def make() -> Server:
    model = SparseRegressor(epsilon=2.0, recipe=LDPIHT(steps=3), feature_bound=1.0, target_bound=2.0)
    return Server(model, n_people=10_000, n_features=6)


def digest(server: Server) -> str:
    held = (
        server.round,
        server.count,
        server._tally.total.tolist(),
        sorted(server._seen),
        [a.tolist() for a in server._answers],
    )
    return hashlib.sha256(repr(held).encode()).hexdigest()[:16]


def main() -> None:
    server = make()
    print(server.protocol.to_json().encode().hex(), server.task().hex(), digest(server), flush=True)
    while head := sys.stdin.buffer.read(4):
        message = sys.stdin.buffer.read(struct.unpack("<I", head)[0])
        try:
            server.receive(message)
            verdict = "accepted"
        except MessageError:
            verdict = "refused"
        print(verdict, digest(server), flush=True)


if __name__ == "__main__":
    main()
