"""The protocol of a network across sites: what a server and its sites agree on. Public, and checked by every site."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass

from ...core import Plan, PrivacyError
from ...core.regular_files import parse_json
from ..rounds.protocol import NOTHING, ROWS, SiteProtocol, SiteSummary
from .gradients import LARGEST_CLIP, SMALLEST_CLIP
from .oracle import gradients_plan
from .targets import LOSSES

FORMAT, VERSION = "dpsparse-federated-network", 2
#: Whose versions belong to the release of sites that train networks.
LIBRARIES = ("torch",)
#: Limit of rounds, steps and parameters of what a site takes part in.
LARGEST_NUMBER = 10**9


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

    step_size: float
    loss: str
    classes: int | None
    shapes: tuple[tuple[str, tuple[int, ...]], ...]
    private: bool

    def to_json(self) -> str:
        """As text, the same for the same protocol."""
        return json.dumps({"format": FORMAT, "version": VERSION, **asdict(self)}, sort_keys=True, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> NetworkProtocol:
        """The inverse; refuses what is not a protocol of this version."""
        try:
            content = parse_json(text)
            if content.pop("format") != FORMAT or content.pop("version") != VERSION:
                raise ValueError
            content["sites"], content["weights"] = tuple(content["sites"]), tuple(content["weights"])
            content["shapes"] = tuple((str(n), tuple(map(int, s))) for n, s in content["shapes"])
            made = cls(**content)
            made.check()
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError) as error:
            raise PrivacyError(
                f"this is not a protocol of networks, version {VERSION} ({type(error).__name__}). Ask the server for it again, and use "
                "the server's release."
            ) from None
        return made

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
