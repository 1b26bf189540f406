"""The state of a server as JSON: what came in, round by round, and nothing that can be computed from it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from os import PathLike
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from ...core.codec import Count, FormError, Via, form, read
from ...core.sealed_files import SealedKind
from .protocol import Protocol

#: Saved servers; space for some million people.
KIND = SealedKind("dpsparse-local-server", 2, 2**28, "a saved server")
IDENTIFIER = re.compile(r"[0-9a-f]{32}")


def _check_total(total: RoundTotal) -> RoundTotal:
    if not all(abs(v) <= total.count * 2**31 for v in (*total.total.tolist(), *total.labels.values())):
        raise ValueError("sums and labels must be those of this number of reports.")
    return total


@form(made=_check_total)
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
    count: Count = 0
    labels: dict[int, int] = field(default_factory=dict)


def _identifiers(content: Any, where: str) -> frozenset[bytes]:
    listed = read(tuple[str, ...], content, where)
    if not all(map(IDENTIFIER.fullmatch, listed)) or len(set(listed)) != len(listed):
        raise FormError(f"{where} must hold different identifiers.")
    return frozenset(map(bytes.fromhex, listed))


@form(made=lambda saved: saved.check() or saved)
@dataclass(frozen=True)
class Saved:
    """A server between two messages.

    Attributes
    ----------
    protocol : Protocol
    open : bool
        Whether the last tally is of a round that is open.
    tallies : list of RoundTotal
        The closed rounds, and the open one if there is one.
    seen : frozenset of bytes
        Identifiers of all reports that were taken.
    """

    protocol: Protocol
    open: bool
    tallies: list[RoundTotal]
    seen: Annotated[frozenset[bytes], Via(lambda seen: sorted(s.hex() for s in seen), _identifiers)]

    def write(self, path: str | PathLike[str]) -> None:
        """Write a file that appears whole or not at all."""
        KIND.write(path, self)

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Saved:
        """The inverse.

        Raises
        ------
        DataError
            If the file is of another kind, was edited, or contradicts itself.
        """
        return KIND.read(path, cls)

    def check(self) -> None:
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
            and len(self.seen) == sum(counts)
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
