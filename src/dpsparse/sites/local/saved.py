"""The state of a server as JSON: what came in, round by round, and nothing that can be computed from it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import PrivacyError
from ...core.sealed_files import SealedKind
from .protocol import Protocol

#: Saved servers; room for some million people.
KIND = SealedKind("dpsparse-local-server", 2, 2**28, "a saved server")
IDENTIFIER = re.compile(r"[0-9a-f]{32}")


@dataclass
class RoundTotal:
    """Reports of one round, added up.

    Attributes
    ----------
    total : array of int64
    count : int
        How many reports.
    labels : dict
        Where labels are asked for: each row's report.
    """

    total: NDArray[np.int64]
    count: int = 0
    labels: dict[int, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        labels = {str(k): v for k, v in self.labels.items()}
        return {"total": self.total.tolist(), "count": self.count, "labels": labels}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> RoundTotal:
        """The inverse; refuses, with ValueError, TypeError or KeyError, what is none."""
        total, count, labels = content["total"], content["count"], content["labels"]
        if not (type(count) is int and count >= 0 and set(content) == {"total", "count", "labels"}):
            raise ValueError
        if not all(type(v) is int and abs(v) <= count * 2**31 for v in (*total, *labels.values())):
            raise ValueError
        return cls(np.array(total, dtype=np.int64), count, {int(k): v for k, v in labels.items()})


@dataclass(frozen=True)
class Saved:
    """A server between two messages.

    Attributes
    ----------
    protocol : Protocol
    tallies : list of Tally
        The closed rounds, and the open one if there is one.
    open : bool
        Whether the last tally is of a round that is open.
    seen : frozenset of bytes
        Identifiers of all reports that were taken.
    """

    protocol: Protocol
    tallies: list[RoundTotal]
    open: bool
    seen: frozenset[bytes]

    def write(self, path: str | PathLike[str]) -> None:
        """Write a file that appears whole or not at all."""
        content = {
            "protocol": self.protocol.to_json(),
            "open": self.open,
            "tallies": [t.to_dict() for t in self.tallies],
            "seen": sorted(s.hex() for s in self.seen),
        }
        KIND.write(path, content)

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Saved:
        """The inverse.

        Raises
        ------
        DataError
            If the file is none, was edited, or contradicts itself.
        """
        content = KIND.read(path)
        try:
            tallies = [RoundTotal.from_dict(t) for t in content["tallies"]]
            if not all(IDENTIFIER.fullmatch(s) for s in content["seen"]) or type(content["open"]) is not bool:
                raise ValueError
            seen = frozenset(bytes.fromhex(s) for s in content["seen"])
            found = cls(Protocol.from_json(content["protocol"]), tallies, content["open"], seen)
            found.check(len(content["seen"]))
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError, PrivacyError):
            raise KIND.damaged(path) from None
        return found

    def check(self, listed: int) -> None:
        """Refuse counts that do not agree with each other or with the protocol."""
        facts = self.protocol.facts
        width = 1 if self.protocol.labels else self.protocol.restored_facts().dimension
        closed = len(self.tallies) - self.open
        counts = [t.count for t in self.tallies]
        holds = (
            closed <= self.protocol.rounds
            and self.open == (closed < self.protocol.rounds)
            and all(t.total.shape == (width,) for t in self.tallies)
            and all(count > 0 for count in counts[:closed])
            and max(counts) <= facts["n_rows"]
            and listed == len(self.seen) == sum(counts)
        )
        if self.protocol.labels:
            numbers = {int.from_bytes(s, "little") for s in self.seen}
            holds = holds and all(
                t.labels.keys() <= numbers and len(t.labels) == t.count and int(t.total[0]) == sum(t.labels.values())
                for t in self.tallies
            )
            holds = holds and all(number < facts["n_rows"] for number in numbers)
        else:
            holds = holds and not any(t.labels for t in self.tallies)
        if not holds:
            raise ValueError
