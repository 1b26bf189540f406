"""What every server of sites does, whatever it trains: it enrols sites, and keeps the model and what came in.

It knows no recipe. `Saved` is its state as a file: the model, the round, what came in since, and what sites guaranteed.
"""

from __future__ import annotations

import hashlib
import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from ...core import DataError, PrivacyError, checks
from ...core.facts import Vector
from ...core.log import log_event
from ...core.regular_files import parse_json, same_file
from ...core.release import difference
from ...core.sealed_files import SealedKind
from ..rounds import Coordinator, FileStore, MessageError, ServerState
from ..rounds.coordinator import Model_co
from ..rounds.messages import LARGEST_NUMBER, Report, Task
from ..rounds.protocol import AgreedBySites, SiteProtocol
from .certificate import Certificate, Federation

#: No run has it: stands for that of a state whose protocol cannot be read, so that it is refused.
NO_NONCE = "0" * 32


@dataclass(frozen=True, eq=False)
class Saved(ServerState):
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

    #: Space for some ten million coefficients; for the eyes of the server alone.
    kind: ClassVar = SealedKind("dpsparse-federated-server", 2, 2**30, "a saved server of sites", rights=0o600)

    protocol: str
    round: int
    w: Vector
    changes: dict[int, Vector]
    invited: tuple[int, ...]
    answered: tuple[int, ...]
    certificates: tuple[Certificate, ...]

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
            raise self.kind.damaged(path)


class SiteCoordinator(Coordinator[AgreedBySites, Report, Model_co]):
    """Rounds of a run, as a server of sites keeps them.

    Guarantee
    ---------
    A message that is malformed, damaged, not finite, beyond the radius, of another run, protocol,
    round or release, of a site that has not said what it guarantees or was not asked, or the second
    of a site in a round, is refused with `MessageError` and changes nothing.

    Where there is a `state`, a server that is killed at any moment loses nothing: the protocol with
    its nonce is on the disk before the first task leaves, a certificate before the task or report
    that follows it, a report before `receive` returns, and a closed round with the model that
    follows from its reports. A constructor never replaces a state: `open` and `resume` go on from
    it. A state that another server of the run has written since is not replaced either.

    Where the server adds the noise (`noise` given), what sites changed, who was asked and how many
    answered is neither saved nor shown, and there is a `state`; after a crash the open round is
    asked again, and sites send the same bytes. A round is closed once in a run, whichever server of
    the run asks, in whichever process, and from whichever copy of the state it was resumed: the
    mark carries the name of the run, is on the disk before the step is made, and is made under a
    lock of the operating system (`FileStore`); after a crash in between the round counts as closed,
    and the model is that of the round before. A state in a folder without these marks is refused.
    Anyone who copies the state *and* the marks into another folder, and goes on with both, has two
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
        self._unsaved = False
        self.state = state
        self._on_disk: str | None = None
        self._noise = noise
        self._store: FileStore | None = None
        if state is not None:
            self._store = FileStore(Path(state).parent, f"{protocol.identity.hex()}-server")
        elif noise is not None:
            raise PrivacyError(
                "a server that protects whole sites needs state=..., a file: rounds are noted beside it before their "
                "noise is drawn, so that none gets a second noise after a restart."
            )
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
    def heard(self) -> frozenset[str]:
        """The sites whose reports were taken in this round. Where they are drawn by coins: **secret**."""
        return frozenset(self.protocol.sites[i] for i in self._reports)

    @property
    def secret(self) -> bool:
        """Whether who is asked, and how many answer, is for this server alone: where it protects whole sites."""
        return self._noise is not None

    @property
    def federation(self) -> Federation:
        """What each site guarantees, and what it means together."""
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
            self._unsaved |= known is None
            self._certificates[given.site] = given

    def _task(self) -> bytes:
        self._save_certificates()
        return Task(self.protocol.identity, self.round, self._w).to_bytes()

    def end(self) -> bytes:
        """What to send to sites when all rounds are closed: they confirm the entries of their ledgers."""
        self._require_finished()
        return Task(self.protocol.identity, self.protocol.rounds, np.zeros(0)).to_bytes()

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
                "the report is of a site that has not said what it guarantees; enrol its certificate first."
            )
        other = difference(f"site {name!r}", report.release, "the server", self.protocol.release)
        if other:
            raise MessageError(other)
        if not np.linalg.norm(report.change) <= self.protocol.radius:
            raise MessageError("no honest site changes the model so much: the report is beyond the radius.")
        if report.site in self._reports:
            raise MessageError("a report of this site was taken in this round already.")
        if self._store is not None and not self.secret:
            self._save_certificates()
            self._store.keep(report.site, report.to_bytes())
        self._reports[report.site] = report.change

    def _close(self) -> None:
        turn, came = self.round, dict(sorted(self._reports.items()))
        if self.secret:
            self._note_closed(turn)
        else:  # the step follows from the reports: after a crash it is made again
            self._w = self._step(self._w, turn, came)
            self._answered.append(len(came))
        self.round += 1
        self._open_round()
        self._save()
        if self.secret:
            self._w = self._step(self._w, turn, came)
            self._save()
        elif self._store is not None:
            for site in came:
                self._store.forget(site)

    def _note_closed(self, turn: int) -> None:
        assert self._store is not None
        if self._store.note(turn, b"closed") is not None:
            raise PrivacyError(
                f"round {turn} of this run was closed before, by another server or from another copy of its state. No "
                f"second noise is drawn for it. Go on with {type(self).__name__}.open(path, ...)."
            )

    # ---------------------------------------------------------------------------------------------- saving

    @classmethod
    def open(cls, path: str | PathLike[str], trained: Any, **arguments: Any) -> Self:
        """Begin a run whose state is at `path`, or go on with the one that is there; as `resume` otherwise.

        A program that always calls this may be killed and started again at any moment. A run that
        is finished gives its model again.
        """
        return cls.resume(path, trained, **arguments) if Path(path).exists() else cls(trained, state=path, **arguments)

    @classmethod
    def resume(cls, path: str | PathLike[str], trained: Any, **arguments: Any) -> Self:
        """Go on with the run that was saved at `path`, which is its `state` from then on.

        Parameters
        ----------
        path : str or Path
        trained, arguments
            As they were given to the server that was saved; with others the file is refused.

        Raises
        ------
        DataError
            If the file is not a saved server of these settings, was edited, or contradicts itself.
        """
        saved, state = Saved.read(path), arguments.pop("state", None)
        if state is not None and not same_file(path, state):
            raise PrivacyError("a run goes on with its own state: leave state=None.")
        return cls(trained, **{**arguments, "state": path, "nonce": saved.nonce or NO_NONCE})

    def _begin(self, nonce: str | None) -> None:
        """Write the first state of a new run; or read that of the run whose nonce is given."""
        if self.state is None or self._store is None:
            return
        if nonce is not None:
            self._load(Saved.read(self.state), self.state)
            return
        if Path(self.state).exists():
            name = type(self).__name__
            raise DataError(
                f"{self.state} exists and is not replaced. Go on with the run that it holds by {name}.open(path, "
                "...), with the same arguments; or give a new run, for which sites pay once more, a file of its own."
            )
        if self._noise is not None:
            self._store.note_paid(self._noise)
        self._save()

    def _save_certificates(self) -> None:
        if self._unsaved:
            self._save()

    def _save(self) -> None:
        if self.state is None:
            return
        if self._on_disk is not None and file_digest(self.state) != self._on_disk:
            raise DataError(
                f"{self.state} was written by another server of this run, and is not replaced. End all of them but "
                f"one, and go on with {type(self).__name__}.open(path, ...)."
            )
        self._write(self.state)
        self._on_disk, self._unsaved = file_digest(self.state), False

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to a JSON file (no pickle, no row); `resume` goes on from it.

        A server with a `state` does so by itself. Where whole sites are protected: to `state` alone.
        """
        if self.state is not None and self.secret and not same_file(path, self.state):
            raise PrivacyError(
                f"a run that protects whole sites has one state, {self.state}: a second noise could be drawn from "
                "another one. It is written whenever a round is closed."
            )
        if self.state is not None and same_file(path, self.state):
            self._save()
        else:
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
        self._on_disk = file_digest(path)
        if self.secret:
            self._skip_closed_rounds()
            return
        self._reports, self._invited = dict(saved.changes), list(saved.invited)
        self._answered = list(saved.answered)
        self._take_kept_reports()

    def _take_kept_reports(self) -> None:
        """Take the reports of the open round that came after the state was written, and remove older ones."""
        assert self._store is not None
        for site, name in enumerate(self.protocol.sites):
            kept = self._store.kept(site)
            try:
                if kept is None or site in self._reports:
                    continue
                if Report.from_bytes(kept).round == self.round:
                    self.receive(kept)
                else:
                    self._store.forget(site)
            except MessageError as error:  # sites send it again
                log_event("report refused", site=name, reason=str(error))

    def _skip_closed_rounds(self) -> None:
        """Go on after the last round that was noted as closed."""
        assert self._store is not None
        begun = self._store.paid()
        if begun is None:
            raise PrivacyError(
                f"{self.state} is a copy: the file that notes which rounds of its run were closed is not beside it, "
                "so a second noise could be drawn for a round. Resume from the original, in its folder."
            )
        if begun != self._noise:
            raise PrivacyError(
                f"the run of {self.state} began with another noise, which its statement would not tell. Give the same "
                "site_privacy, and a random_state only if it had one."
            )
        closed = self._store.noted()
        while self.round in closed:
            self.round += 1


def file_digest(path: str | PathLike[str]) -> str:
    """A digest of what a file holds; empty if the file does not exist."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except FileNotFoundError:
        return ""


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
