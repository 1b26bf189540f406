"""The state of a server as JSON: the model, the round, what came in since, and what sites guaranteed."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike

import numpy as np

from ...core.facts import Vector
from ...core.regular_files import parse_json
from ...core.sealed_files import SealedKind
from ..rounds.messages import LARGEST_NUMBER
from ..rounds.protocol import MessageError, SiteProtocol
from .certificate import Certificate

#: Saved servers; space for some ten million coefficients. They are for the eyes of the server alone.
KIND = SealedKind("dpsparse-federated-server", 2, 2**30, "a saved server of sites", rights=0o600)


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
        Sites that take part in this round; none where they were drawn by secret coins.
    answered : tuple of int
        How many sites answered each closed round; none there.
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

    @property
    def nonce(self) -> str:
        """Which run was saved."""
        return self._of_protocol("nonce")

    @property
    def release(self) -> str:
        """By which release."""
        return self._of_protocol("release")

    def _of_protocol(self, name: str) -> str:
        try:
            return str(parse_json(self.protocol)[name])
        except (ValueError, TypeError, KeyError):
            return ""

    def check(self, protocol: SiteProtocol, path: str | PathLike[str], *, keeps: bool) -> None:
        """Refuse, with `DataError`, what does not agree with itself or with the protocol.

        `keeps` whether reports are saved.
        """
        size, sites = protocol.size, len(protocol.sites)
        holds = (
            0 <= self.round <= protocol.rounds
            and len(self.answered) == (self.round if keeps else 0)
            and (keeps or not (self.changes or self.invited))
            and all(0 <= k <= sites for k in self.answered)
            and self.w.shape == (size,)
            and bool(np.all(np.abs(self.w) <= LARGEST_NUMBER))
            and all(v.shape == (size,) and np.linalg.norm(v) <= protocol.radius for v in self.changes.values())
            and all(0 <= k < sites for k in self.invited)
            and set(self.changes) <= set(self.invited)
            and not (self.changes and self.round == protocol.rounds)
        )
        try:
            for certificate in self.certificates:
                certificate.check(protocol)
        except MessageError:
            holds = False
        if not holds:
            raise KIND.damaged(path)
