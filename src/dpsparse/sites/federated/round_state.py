"""The book of a server: the model, the round that is open, what came in, and what sites promised. It knows no row and no recipe."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from os import PathLike

import numpy as np

from ...core import DataError, PrivacyError
from ...core.codec import write
from ...core.facts import Vector
from ...core.regular_files import same_file
from ...core.release import difference
from .agreed import Agreed
from .certificate import Certificate, Federation
from .closed import ClosedRounds
from .messages import MessageError, Report, Task
from .saved import Saved

#: The server's step: a model, the round, and what sites changed, by their numbers.
Step = Callable[[Vector, int, dict[int, Vector]], Vector]


class RoundState:
    """Rounds of a run, as a server keeps them.

    Guarantee
    ---------
    A message that is malformed, damaged, not finite, beyond the radius, of another run, protocol, round or release, of a site that has not said
    what it promises or was not asked, or the second of a site in a round, is refused with `MessageError` and changes nothing. Where there is a `state`,
    a round that is closed is noted in it before the step is made: after a crash in between the round counts as closed, and the model is that of the
    round before. Where reports are private (`keeps` False) there is a `state`, and no step, and no noise in it, is made twice for one round
    (`ClosedRounds`); who was asked and how many answered is neither saved nor told; and a run goes on with the noise with which it began.

    Parameters
    ----------
    protocol : Agreed
    w : array
        The public start.
    step : Step
    invite : function
        The numbers of the sites that take part in a round.
    least : int
        With how many reports a round may be closed.
    state : path or None
    noise : str or None
        Where reports are private: the price of the server's noise, and whether it comes from a seed, in a word. Reports of the open round, who was asked, and how
        many answered are then neither saved nor told: after a restart sites are drawn anew, and send what they sent before as the same bytes.
    """

    def __init__(
        self,
        protocol: Agreed,
        w: Vector,
        step: Step,
        invite: Callable[[], Sequence[int]],
        least: int,
        state: str | PathLike[str] | None,
        *,
        noise: str | None = None,
    ) -> None:
        self.lock = threading.RLock()
        self.protocol = protocol
        self.w = w
        self.round = 0
        self.answered: list[int] = []
        self.certificates: dict[str, Certificate] = {}
        self.state = state
        self._step = step
        self._invite = invite
        self._least = least
        self.keeps = noise is None
        self._closed = None if noise is None else ClosedRounds(_required(state), protocol.identity, noise)
        self._open()

    def _open(self) -> None:
        self.invited = list(self._invite())
        self.reports: dict[int, Vector] = {}

    @property
    def finished(self) -> bool:
        """Whether all rounds are closed."""
        return self.round >= self.protocol.rounds

    @property
    def federation(self) -> Federation:
        """What sites promise."""
        return Federation(dict(self.certificates))

    def require_open(self) -> None:
        """Refuse what is asked after the last round."""
        if self.finished:
            raise MessageError("all rounds are closed; ask for the model.")

    def require_finished(self) -> None:
        """Refuse what is asked before."""
        if not self.finished:
            raise MessageError(f"round {self.round} of {self.protocol.rounds} is open; close it first.")

    def enrol(self, certificate: str) -> None:
        """Take a site's certificate; the same one may come again."""
        given = Certificate.from_json(certificate)
        given.check(self.protocol)
        with self.lock:
            known = self.certificates.get(given.site)
            if known is not None and known.to_json() != given.to_json():
                raise MessageError("this site has given another certificate already.")
            self.certificates[given.site] = given

    def task(self) -> bytes:
        """What to send to the sites of this round."""
        with self.lock:
            self.require_open()
            return Task(self.protocol.identity, self.round, self.w).to_bytes()

    def receive(self, message: bytes) -> None:
        """Take a report, or refuse it."""
        report = Report.from_bytes(message)
        with self.lock:
            self.require_open()
            if report.run != self.protocol.identity:
                raise MessageError("the report belongs to another run or another protocol.")
            if report.round != self.round:
                raise MessageError(f"the report is of round {report.round}, and round {self.round} is open.")
            if report.site not in self.invited:
                raise MessageError("the report is of a site that was not asked in this round.")
            if self.protocol.sites[report.site] not in self.certificates:
                raise MessageError(
                    "the report is of a site that has not said what it promises; enrol its certificate first."
                )
            site = f"site {self.protocol.sites[report.site]!r}"
            other = difference(site, report.release, "the server", self.protocol.release)
            if other:
                raise MessageError(other)
            if report.change.size != self.w.size:
                raise MessageError(f"a report of this protocol holds {self.w.size} numbers, got {report.change.size}.")
            if not np.linalg.norm(report.change) <= self.protocol.radius:
                raise MessageError("no honest site changes the model so much: the report is beyond the radius.")
            if report.site in self.reports:
                raise MessageError("a report of this site was taken in this round already.")
            self.reports[report.site] = report.change

    def close(self) -> None:
        """End the round with the reports that came, and go on."""
        with self.lock:
            self.require_open()
            if len(self.reports) < self._least:
                raise MessageError(
                    f"{len(self.reports)} sites have answered, and {self._least} are needed to close a round. It stays open."
                )
            turn, came = self.round, dict(sorted(self.reports.items()))
            if self._closed is not None:
                self._closed.close(turn)
            if self.keeps:
                self.answered.append(len(came))
            self.round += 1
            self._open()
            self._save()
            self.w = self._step(self.w, turn, came)
            self._save()

    # ---------------------------------------------------------------------------------------------- saving

    def begin(self) -> None:
        """Write the first state of a run whose reports are private; refuses a file that is there already."""
        if self._closed is not None:
            self._closed.begin()
            self._save()

    def _save(self) -> None:
        if self.state is not None:
            self._write(self.state)

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to a JSON file."""
        if self._closed is not None and not same_file(path, _required(self.state)):
            raise PrivacyError(
                f"a run that protects whole sites has one state, {self.state}: a second noise could be drawn from another one. It is written "
                "whenever a round is closed."
            )
        self._write(path)

    def _write(self, path: str | PathLike[str]) -> None:
        with self.lock:
            Saved(
                write(self.protocol),
                self.round,
                self.w,
                dict(self.reports) if self.keeps else {},
                tuple(self.invited) if self.keeps else (),
                tuple(self.answered),
                tuple(self.certificates.values()),
            ).write(path)

    def load(self, saved: Saved, path: str | PathLike[str]) -> None:
        """Go on where another book of the same settings was saved."""
        other = difference("the server that saved it", saved.release, "this one", self.protocol.release)
        if other:
            raise DataError(f"{path}: {other} A run is finished by the release that began it.")
        if saved.protocol != write(self.protocol):
            raise DataError(f"{path} was saved by a server with other settings. Give the same ones.")
        saved.check(self.protocol, path, keeps=self.keeps)
        self.round, self.w = saved.round, saved.w
        self.certificates = {c.site: c for c in saved.certificates}
        if self._closed is None:
            self.reports, self.invited = dict(saved.changes), list(saved.invited)
            self.answered = list(saved.answered)
            return
        closed = self._closed.noted()
        while self.round in closed:
            self.round += 1


def _required(state: str | PathLike[str] | None) -> str | PathLike[str]:
    """Where rounds are noted."""
    if state is None:
        raise PrivacyError(
            "a server that protects whole sites needs state=..., a file: rounds are noted beside it before their noise is drawn, so that none "
            "gets a second noise after a restart."
        )
    return state
