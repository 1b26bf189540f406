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
from .agreed import Agreed
from .certificate import Certificate
from .messages import LARGEST_NUMBER, MessageError

FORMAT = "dpsparse-federated-server"
VERSION = 1
#: Files beyond are not read.
LARGEST_BYTES = 2**30
_DAMAGED = (
    "{path} is not a saved server of sites, or was edited or damaged after it was saved. Resume from the original."
)
STARTS = re.compile(rb'\{"content": \{"format": "dpsparse-federated-server"')


@dataclass(frozen=True, eq=False)
class Saved:
    """A server between two messages.

    Attributes
    ----------
    protocol : str
        Its text.
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

    protocol: str
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
            "protocol": self.protocol,
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
                protocol=content["protocol"],
                round=content["round"],
                w=np.array(content["w"], dtype=float),
                changes={int(k): np.array(v, dtype=float) for k, v in content["changes"].items()},
                invited=tuple(content["invited"]),
                answered=tuple(content["answered"]),
                certificates=tuple(Certificate.from_json(c) for c in content["certificates"]),
            )
            if type(found.protocol) is not str or type(found.round) is not int:
                raise ValueError
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError, PrivacyError):
            raise DataError(_DAMAGED.format(path=path)) from None
        return found

    @property
    def nonce(self) -> str:
        """Which run was saved."""
        try:
            return str(parse_json(self.protocol)["nonce"])
        except (ValueError, TypeError, KeyError):
            return ""

    def check(self, protocol: Agreed, path: str | PathLike[str]) -> None:
        """Refuse, with `DataError`, what does not agree with itself or with the protocol."""
        size, sites = protocol.size, len(protocol.sites)
        holds = (
            0 <= self.round <= protocol.rounds
            and len(self.answered) == self.round
            and all(type(k) is int and 0 <= k <= sites for k in self.answered)
            and self.w.shape == (size,)
            and bool(np.all(np.abs(self.w) <= LARGEST_NUMBER))
            and all(v.shape == (size,) and np.linalg.norm(v) <= protocol.radius for v in self.changes.values())
            and all(type(k) is int and 0 <= k < sites for k in self.invited)
            and set(self.changes) <= set(self.invited)
            and not (self.changes and self.round == protocol.rounds)
        )
        try:
            for certificate in self.certificates:
                certificate.check(protocol)
        except MessageError:
            holds = False
        if not holds:
            raise DataError(_DAMAGED.format(path=path))


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
