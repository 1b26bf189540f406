"""What every server of sites does, whatever it trains: it enrols sites, and keeps the model and what came in.

It knows no recipe.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import numpy as np

from ...core import DataError, PrivacyError, checks
from ...core.facts import Vector
from ...core.regular_files import same_file
from ...core.release import difference
from ..rounds import Coordinator, FileStore, MessageError
from ..rounds.coordinator import Model_co
from ..rounds.protocol import AgreedBySites
from .certificate import Certificate, Federation
from .messages import Report, Task
from .saved import Saved


class SiteCoordinator(Coordinator[AgreedBySites, Report, Model_co]):
    """Rounds of a run, as a server of sites keeps them.

    Guarantee
    ---------
    A message that is malformed, damaged, not finite, beyond the radius, of another run, protocol,
    round or release, of a site that has not said what it promises or was not asked, or the second
    of a site in a round, is refused with `MessageError` and changes nothing. Where there is a
    `state`, a round that is closed is noted in it before the step is made: after a crash in between
    the round counts as closed, and the model is that of the round before.

    Where the server adds the noise (`noise` given), who was asked and how many answered is neither
    saved nor shown, and there is a `state`. A round is closed once in a run, whichever server of
    the run asks, in whichever process, and from whichever copy of the state it was resumed: the
    mark carries the name of the run, is on the disk before the step is made, and is made under a
    lock of the operating system (`FileStore`). A state in a folder without these marks is refused.
    Whoever copies the state *and* the marks into another folder, and goes on with both, has two
    memories of one run: that is not found. A run goes on with the noise with which it began, and
    with a seed only if it began with one: a server states one price for all rounds.

    Parameters
    ----------
    protocol : SiteProtocol
    w : array
        The public start.
    least_sites : int
        With how many reports a round may be closed.
    state : path or None
    noise : str or None
        The digest of the price of the server's own noise, and whether it comes from a seed; None:
        it adds none.
    """

    def __init__(
        self,
        protocol: AgreedBySites,
        w: Vector,
        least_sites: int,
        state: str | PathLike[str] | None,
        noise: str | None = None,
    ) -> None:
        least, most = checks.whole(least_sites, "least_sites"), len(protocol.sites)
        if least > most:
            raise ValueError(f"least_sites must be at most the number of sites, {most}, got {least_sites!r}.")
        super().__init__(protocol, "sites", least if noise is None else 0)
        self._w = w
        self._answered: list[int] = []
        self._certificates: dict[str, Certificate] = {}
        self.state = state
        self._noise = noise
        self._marks: FileStore | None = None
        if noise is not None:
            if state is None:
                raise PrivacyError(
                    "a server that protects whole sites needs state=..., a file: rounds are noted "
                    "beside it before their noise is drawn, so "
                    "that none gets a second noise after a restart."
                )
            self._marks = FileStore(Path(state).parent, f"{protocol.identity.hex()}-server")
        self._open_round()

    def _open_round(self) -> None:
        self._invited = list(self._invite())
        self._reports: dict[int, Vector] = {}

    def _invite(self) -> Sequence[int]:
        """The numbers of the sites that take part in a round."""
        return range(len(self.protocol.sites))

    @abstractmethod
    def _step(self, w: Vector, turn: int, came: dict[int, Vector]) -> Vector:
        """The next model from a model, the round, and what sites changed, by their numbers."""

    # ---------------------------------------------------------------------------------------------- shown

    @property
    def count(self) -> int:
        """Reports taken in this round. Where sites are drawn by coins: **secret**."""
        return len(self._reports)

    @property
    def answered(self) -> tuple[int, ...]:
        """How many sites answered each closed round; empty where that is secret."""
        return tuple(self._answered)

    @property
    def invited(self) -> tuple[str, ...]:
        """The sites to ask in this round. Where they are drawn by coins: **secret**."""
        return tuple(self.protocol.sites[i] for i in self._invited)

    @property
    def secret(self) -> bool:
        """Whether who is asked, and how many answer, is for this server alone: where it protects whole sites."""
        return self._noise is not None

    @property
    def federation(self) -> Federation:
        """What each site promises, and what it means together."""
        return Federation(dict(self._certificates))

    # ---------------------------------------------------------------------------------------------- rounds

    def enrol(self, certificate: str) -> None:
        """Take a site's certificate: before its first report. The same one may come again; another one is refused."""
        given = Certificate.from_json(certificate)
        given.check(self.protocol)
        with self._lock:
            known = self._certificates.get(given.site)
            if known is not None and known.to_json() != given.to_json():
                raise MessageError("this site has given another certificate already.")
            self._certificates[given.site] = given

    def _task(self) -> bytes:
        return Task(self.protocol.identity, self.round, self._w).to_bytes()

    @property
    def _size(self) -> int:
        return self._w.size

    def _read_report(self, message: bytes) -> tuple[bytes, int, int, Report]:
        report = Report.from_bytes(message)
        return report.run, report.round, report.change.size, report

    def _take(self, report: Report) -> None:
        if report.site not in self._invited:
            raise MessageError("the report is of a site that was not asked in this round.")
        name = self.protocol.sites[report.site]
        if name not in self._certificates:
            raise MessageError(
                "the report is of a site that has not said what it promises; enrol its certificate first."
            )
        other = difference(f"site {name!r}", report.release, "the server", self.protocol.release)
        if other:
            raise MessageError(other)
        if not np.linalg.norm(report.change) <= self.protocol.radius:
            raise MessageError("no honest site changes the model so much: the report is beyond the radius.")
        if report.site in self._reports:
            raise MessageError("a report of this site was taken in this round already.")
        self._reports[report.site] = report.change

    def _close(self) -> None:
        turn, came = self.round, dict(sorted(self._reports.items()))
        if self._marks is not None and self._marks.note(turn, b"closed") is not None:
            raise PrivacyError(
                f"round {turn} of this run was closed before, by another server or from another "
                "copy of its state. No second noise is drawn "
                "for it. Go on with Server.resume(path, ...)."
            )
        if not self.secret:
            self._answered.append(len(came))
        self.round += 1
        self._open_round()
        self._save()
        self._w = self._step(self._w, turn, came)
        self._save()

    # ---------------------------------------------------------------------------------------------- saving

    def _begin(self) -> None:
        """Write the first state of a run whose reports are private; refuses a file that is there already."""
        if self._marks is None or self.state is None or self._noise is None:
            return
        if Path(self.state).exists():
            raise DataError(
                f"{self.state} exists. Go on with that run by Server.resume(path, ...), or give a "
                "new one a file of its own."
            )
        self._marks.note_paid(self._noise)
        self._save()

    def _save(self) -> None:
        if self.state is not None:
            self._write(self.state)

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to a JSON file (no pickle, no row); `resume` goes on from it.

        Where whole sites are protected: to `state` alone.

        Reports that were taken after the last save are not in it: sites send them again, as the
        same bytes, when they are asked again.
        """
        if self.state is not None and self.secret and not same_file(path, self.state):
            raise PrivacyError(
                f"a run that protects whole sites has one state, {self.state}: a second noise "
                "could be drawn from another one. It is written "
                "whenever a round is closed."
            )
        self._write(path)

    def _write(self, path: str | PathLike[str]) -> None:
        with self._lock:
            Saved(
                self.protocol.to_json(),
                self.round,
                self._w,
                {} if self.secret else dict(self._reports),
                () if self.secret else tuple(self._invited),
                tuple(self._answered),
                tuple(self._certificates.values()),
            ).write(path)

    def _load(self, saved: Saved, path: str | PathLike[str]) -> None:
        """Go on where another server of the same settings was saved."""
        self._check_saved(path, saved.protocol, saved.release)
        saved.check(self.protocol, path, keeps=not self.secret)
        self.round, self._w = saved.round, saved.w
        self._certificates = {c.site: c for c in saved.certificates}
        if self._marks is None:
            self._reports, self._invited = dict(saved.changes), list(saved.invited)
            self._answered = list(saved.answered)
            return
        begun = self._marks.paid()
        if begun is None:
            raise PrivacyError(
                f"{self.state} is a copy: the file that notes which rounds of its run were closed "
                "is not beside it, so a second noise could be "
                "drawn for a round. Resume from the original, in its folder."
            )
        if begun != self._noise:
            raise PrivacyError(
                f"the run of {self.state} began with another noise, which its statement would not "
                "tell. Give the same site_privacy, and a "
                "random_state only if it had one."
            )
        closed = self._marks.noted()
        while self.round in closed:
            self.round += 1


def weights_of_sites(sites: Sequence[str], weights: Sequence[float] | None) -> dict[str, float]:
    """The public part of each site in the average, by name; together 1, and all alike where none are given."""
    count = len(sites)
    if isinstance(sites, str) or not count or len(set(sites)) != count:
        raise ValueError("sites must be a list of different names, one for each site.")
    found = [1.0] * count if weights is None else [checks.positive(v, "weights") for v in weights]
    if len(found) != count:
        raise ValueError(f"weights must hold one number for each of the {count} sites.")
    total = math.fsum(found)
    return {site: v / total for site, v in zip(sites, found, strict=True)}
