"""The protocol of a network across sites: what a server and its sites agree on. Public, and checked by every site."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ...core import Plan
from ...core.codec import form
from ..rounds.protocol import NOTHING, ROWS, SiteProtocol, SiteSummary
from .gradients import LARGEST_CLIP, SMALLEST_CLIP
from .oracle import gradients_plan
from .targets import LOSSES

#: Whose versions belong to the release of sites that train networks.
LIBRARIES = ("torch",)
#: Limit of rounds, steps and parameters of what a site takes part in.
LARGEST_NUMBER = 10**9


@form(made=lambda protocol: protocol.check() or protocol)
@dataclass(frozen=True, kw_only=True)
class NetworkProtocol(SiteProtocol):
    """What sites do in every round with a network of agreed shape.

    Attributes
    ----------
    nonce, rounds, release, sites, weights, local_steps, sparsity, clip, rate, radius, adjacency
        As in `SiteProtocol`; the release holds the version of PyTorch, too.
    step_size : float
    loss : str
    classes : int or None
    shapes : tuple of (str, tuple of int)
        Names and shapes of the parameters.
    private : bool
        Whether sites add noise themselves.
    """

    format: ClassVar[str] = "dpsparse-federated-network"
    version: ClassVar[int] = 2
    what: ClassVar[str] = "a protocol of networks"

    step_size: float
    loss: str
    classes: int | None
    shapes: tuple[tuple[str, tuple[int, ...]], ...]
    private: bool

    def check(self) -> None:
        """Refuse, with ValueError or TypeError, what no server of ours publishes."""
        whole = (self.rounds, self.local_steps, self.sparsity)
        self.check_rounds([(v, LARGEST_NUMBER) for v in whole], [self.step_size])
        holds = (
            SMALLEST_CLIP <= self.clip <= LARGEST_CLIP
            and self.loss in LOSSES
            and (
                type(self.classes) is int and self.classes >= 2
                if self.loss == "cross_entropy"
                else self.classes is None
            )
            and type(self.private) is bool
            and all(d >= 0 for _, shape in self.shapes for d in shape)
        )
        if not holds:
            raise ValueError("a field of the protocol is out of range.")

    @property
    def size(self) -> int:
        """Numbers in a task or a report."""
        return sum(math.prod(shape) for _, shape in self.shapes)

    @property
    def turns(self) -> int:
        """Noisy answers of a site in all rounds together."""
        return self.rounds * self.local_steps

    @property
    def about(self) -> SiteSummary:
        """For statements."""
        name = "fedsgd_ht" if not self.private else "dp_fedgd_ht" if self.rate >= 1 else "dp_fedsgd_ht"
        return SiteSummary(name, self.loss, self.adjacency, ROWS if self.private else NOTHING)

    @property
    def site_plan(self) -> Plan:
        """What one site is asked in all rounds together."""
        return self.round_plan().repeated(self.rounds)

    def round_plan(self) -> Plan:
        """What one site is asked in one round."""
        return gradients_plan(self.local_steps, self.rate, private=self.private)
