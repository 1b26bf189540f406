"""The state of a server as JSON: the model, the round, what came in since, and what sites promised."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..facts import Vector
from ..privacy import DataError, PrivacyError
from ..regular_files import open_regular, parse_json, read_bytes, write_whole
from .certificate import Certificate
from .messages import LARGEST_NUMBER
from .protocol import Protocol

FORMAT = "dpsparse-federated-server"
VERSION = 1
#: Files beyond are not read.
LARGEST_BYTES = 2**30
STARTS = re.compile(rb'\{"content": \{"format": "dpsparse-federated-server"')


@dataclass(frozen=True, eq=False)
class Saved:
    """A server between two messages.

    Attributes
    ----------
    protocol : Protocol
    round : int
        The round that is open; as many as there are when all are closed.
    w : array
        The model of that round.
    changes : dict
        By number of the site: what came in this round.
    invited : tuple of int
        Sites that take part in this round.
    answered : tuple of int
        How many sites answered each closed round.
    certificates : tuple of Certificate
    """

    protocol: Protocol
    round: int
    w: Vector
    changes: dict[int, Vector]
    invited: tuple[int, ...]
    answered: tuple[int, ...]
    certificates: tuple[Certificate, ...]

    def write(self, path: str | PathLike[str]) -> None:
        """Write a file that appears whole or not at all."""
        content = {
            "format": FORMAT,
            "version": VERSION,
            "protocol": self.protocol.to_json(),
            "round": self.round,
            "w": self.w.tolist(),
            "changes": {str(k): v.tolist() for k, v in self.changes.items()},
            "invited": list(self.invited),
            "answered": list(self.answered),
            "certificates": [c.to_json() for c in self.certificates],
        }
        text = json.dumps({"content": content, "digest": _digest(content)}, allow_nan=False)
        write_whole(path, text, _check_replaceable)

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Saved:
        """The inverse.

        Raises
        ------
        DataError
            If the file is none, was edited, or contradicts itself.
        """
        text = read_bytes(path, LARGEST_BYTES, "a saved server of sites")
        try:
            outer = parse_json(text.decode("utf-8"))
            content = outer["content"]
            if content["format"] != FORMAT or content["version"] != VERSION or outer["digest"] != _digest(content):
                raise ValueError
            found = cls(
                protocol=Protocol.from_json(content["protocol"]),
                round=content["round"],
                w=np.array(content["w"], dtype=float),
                changes={int(k): np.array(v, dtype=float) for k, v in content["changes"].items()},
                invited=tuple(content["invited"]),
                answered=tuple(content["answered"]),
                certificates=tuple(Certificate.from_json(c) for c in content["certificates"]),
            )
            found.check()
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError, PrivacyError):
            raise DataError(
                f"{path} is not a saved server of sites, or was edited or damaged after it was saved. Resume from the original."
            ) from None
        return found

    def check(self) -> None:
        """Refuse what does not agree with itself or with the protocol."""
        protocol, size, sites = self.protocol, self.protocol.size, len(self.protocol.sites)
        radius = protocol.radius
        holds = (
            type(self.round) is int
            and 0 <= self.round <= protocol.rounds
            and len(self.answered) == self.round
            and all(type(k) is int and 0 <= k <= sites for k in self.answered)
            and self.w.shape == (size,)
            and bool(np.all(np.abs(self.w) <= LARGEST_NUMBER))
            and all(v.shape == (size,) and np.linalg.norm(v) <= radius for v in self.changes.values())
            and all(type(k) is int and 0 <= k < sites for k in self.invited)
            and set(self.changes) <= set(self.invited)
            and not (self.changes and self.round == protocol.rounds)
        )
        if not holds:
            raise ValueError
        for certificate in self.certificates:
            certificate.check(protocol)


def _digest(content: dict[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _check_replaceable(path: Path) -> None:
    """Refuse to replace anything but a saved server."""
    if not path.exists():
        return
    with open_regular(path, 2**62, "a saved server that may be replaced") as file:
        head = file.read(100)
    if head and not STARTS.match(head):
        raise DataError(
            f"{path} exists and is not a saved server of sites, so it is not replaced. Choose another name."
        )
