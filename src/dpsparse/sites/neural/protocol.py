"""The protocol of a network across sites: what a server and its sites agree on. Public, and checked by every site."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import ClassVar

from ...core import Adjacency, Plan
from ...core.codec import Document, form
from ..federated.certificate import NOTHING, ROWS, SiteSummary
from .gradients import LARGEST_CLIP, SMALLEST_CLIP
from .oracle import gradients_plan
from .targets import LOSSES

NONCE = re.compile(r"[0-9a-f]{32}")
#: Whose versions belong to the release of sites that train networks.
LIBRARIES = ("torch",)
#: No honest bound: where nothing is private.
UNBOUNDED = 1e100


@form(made=lambda protocol: protocol.check() or protocol)
@dataclass(frozen=True, kw_only=True)
class NetworkProtocol(Document):
    """What sites do in every round with a network of agreed shape.

    Attributes
    ----------
    nonce, sites, weights, rounds, local_steps, sparsity, clip, rate, radius, adjacency
        As in `dpsparse.federated.Protocol`.
    step_size : float
    loss : str
    classes : int or None
    shapes : tuple of (str, tuple of int)
        Names and shapes of the parameters.
    private : bool
        Whether sites add noise themselves.
    release : str
        The server's release, with its version of PyTorch; sites of another one do not take part.
    """

    format: ClassVar[str] = "dpsparse-federated-network"
    version: ClassVar[int] = 2
    what: ClassVar[str] = "a protocol of networks"

    nonce: str
    sites: tuple[str, ...]
    weights: tuple[float, ...]
    rounds: int
    local_steps: int
    step_size: float
    sparsity: int
    clip: float
    rate: float
    radius: float
    adjacency: str
    loss: str
    classes: int | None
    shapes: tuple[tuple[str, tuple[int, ...]], ...]
    private: bool
    release: str

    def check(self) -> None:
        """Refuse, with ValueError or TypeError, what no server of ours publishes."""
        numbers = (self.step_size, self.clip, self.radius, *self.weights)
        holds = (
            NONCE.fullmatch(self.nonce) is not None
            and all(type(v) is int and 1 <= v <= 10**9 for v in (self.rounds, self.local_steps, self.sparsity))
            and all(0 < v <= UNBOUNDED for v in numbers)
            and SMALLEST_CLIP <= self.clip <= LARGEST_CLIP
            and len(self.sites) == len(self.weights) == len(set(self.sites)) > 0
            and math.isclose(math.fsum(self.weights), 1.0, rel_tol=1e-9)
            and 0 < self.rate <= 1
            and self.loss in LOSSES
            and (
                type(self.classes) is int and self.classes >= 2
                if self.loss == "cross_entropy"
                else self.classes is None
            )
            and type(self.private) is bool
            and type(self.release) is str
            and all(d >= 0 for _, shape in self.shapes for d in shape)
        )
        if not holds:
            raise ValueError("a number of the protocol is none that a server publishes.")
        Adjacency.named(self.adjacency)

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
