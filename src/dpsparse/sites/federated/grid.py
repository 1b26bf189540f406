"""An in-process grid: a server and its sites in one program, for tests and simulations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic

from ...core import PrivacyError
from ..rounds import MessageError
from ..rounds.coordinator import Model_co
from .coordinator import SiteCoordinator
from .participant import SiteParticipant

#: What the wire does to a report on its way: the same bytes, others, or None for a report that is
#: lost. Takes the name of the site and the round.
Wire = Callable[[str, int, bytes], bytes | None]


def perfect(_: str, __: int, report: bytes) -> bytes | None:
    """A wire that delivers every report."""
    return report


class Grid(Generic[Model_co]):
    """Carries tasks and reports between a server and sites of this process.

    Parameters
    ----------
    server : Server
    sites : iterable of Site
        Those that are there; others of the protocol do not answer.
    wire : function of a name, a round and bytes
        What becomes of a report on its way.

    Attributes
    ----------
    refused : list of (str, int, str)
        Reports that the server refused, and why.
    """

    def __init__(
        self, server: SiteCoordinator[Any, Model_co], sites: Iterable[SiteParticipant[Any]], wire: Wire = perfect
    ) -> None:
        self.server = server
        self.sites = {site.name: site for site in sites}
        self.wire = wire
        self.refused: list[tuple[str, int, str]] = []
        for site in self.sites.values():
            server.enrol(site.certificate())

    def step(self) -> None:
        """One round: ask every site that was invited, take what comes, close."""
        task, turn = self.server.task(), self.server.round
        for name in self.server.invited:
            if name not in self.sites:
                continue
            try:
                report = self.wire(name, turn, self.sites[name].answer(task))
                if report is not None:
                    self.server.receive(report)
            except (MessageError, PrivacyError) as error:
                self.refused.append((name, turn, str(error)))
        self.server.close()

    def run(self) -> Model_co:
        """All rounds that are left, and the model; then sites confirm the entries of their ledgers."""
        while not self.server.finished:
            self.step()
        model = self.server.model()
        for site in self.sites.values():
            site.finish(self.server.end())
        return model
