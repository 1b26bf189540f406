"""What every protocol of sites says, whatever is trained."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Protocol as Interface

from ...core import Plan

if TYPE_CHECKING:
    from .certificate import SiteSummary


class Agreed(Interface):
    """What a server and its sites agree on, as far as rounds and messages need it."""

    @property
    def identity(self) -> bytes:
        """16 bytes that no other run has."""
        ...

    @property
    def release(self) -> str:
        """The release of the server, which is that of every site."""
        ...

    @property
    def sites(self) -> tuple[str, ...]:
        """Names, in the order of their numbers."""
        ...

    @property
    def weights(self) -> tuple[float, ...]:
        """Public part of each site in the average; together 1."""
        ...

    @property
    def rounds(self) -> int:
        """How often models are exchanged."""
        ...

    @property
    def radius(self) -> float:
        """Norm within which a site changes the model in a round."""
        ...

    @property
    def size(self) -> int:
        """Numbers in a task or a report."""
        ...

    @property
    def turns(self) -> int:
        """Noisy answers of a site in all rounds together."""
        ...

    @property
    def site_plan(self) -> Plan:
        """What one site is asked in all rounds together: what its bill must be for."""
        ...

    @property
    def about(self) -> SiteSummary:
        """What the statements of sites are about."""
        ...

    @property
    def private(self) -> bool:
        """Whether sites add noise themselves."""
        ...
