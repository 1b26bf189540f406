"""What every server of sites shows, whatever it trains."""

from __future__ import annotations

from os import PathLike

from .certificate import Federation
from .round_state import RoundState


class Coordinator:
    """What every server does, whatever it trains; the guarantees are those of `RoundState`."""

    _book: RoundState

    @property
    def round(self) -> int:
        """The round that is open; as many as there are when all are closed."""
        return self._book.round

    @property
    def count(self) -> int:
        """Reports taken in this round. Where sites are drawn by coins: **secret**."""
        return len(self._book.reports)

    @property
    def finished(self) -> bool:
        """Whether all rounds are closed."""
        return self._book.finished

    @property
    def answered(self) -> tuple[int, ...]:
        """How many sites answered each closed round; empty where that is secret."""
        return tuple(self._book.answered)

    @property
    def invited(self) -> tuple[str, ...]:
        """The sites to ask in this round. Where they are drawn by coins: **secret**."""
        return tuple(self._book.protocol.sites[i] for i in self._book.invited)

    @property
    def secret(self) -> bool:
        """Whether who is asked, and how many answer, is for this server alone: where it protects whole sites."""
        return not self._book.keeps

    @property
    def state(self) -> str | PathLike[str] | None:
        """The file of this server's state, if there is one."""
        return self._book.state

    @property
    def federation(self) -> Federation:
        """What each site promises, and what it means together."""
        return self._book.federation

    def enrol(self, certificate: str) -> None:
        """Take a site's certificate: before its first report. The same one may come again; another one is refused."""
        self._book.enrol(certificate)

    def task(self) -> bytes:
        """What to send to the sites of this round."""
        return self._book.task()

    def receive(self, message: bytes) -> None:
        """Take a report, or refuse it."""
        self._book.receive(message)

    def close(self) -> None:
        """End the round with the reports that came, and go on."""
        self._book.close()

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to a JSON file (no pickle, no row); `resume` goes on from it. Where whole sites are protected: to `state` alone.

        Reports that were taken after the last save are not in it: sites send them again, as the same bytes, when they are asked again.
        """
        self._book.save(path)

    def __repr__(self) -> str:
        reports = "" if self.secret else f", {self.count} reports"
        return f"{type(self).__name__}(round {self.round} of {self._book.protocol.rounds}{reports})"
