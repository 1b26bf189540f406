"""A network across sites: the protocol, a site that trains on rows that stay where they are, and a server without rows.

The server runs DP-FedSGD-HT, DP-FedGD-HT and FedSGD-HT of paper 004.
"""

from __future__ import annotations

import copy
import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch

from ...core import Adjacency, Plan, Receipt, checks
from ...core.codec import form
from ...core.facts import Vector
from ...core.release import release
from ...fitting import Seed, public_rows
from ...fitting.drawn import Drawn
from ...ledger import Ledger
from ...ops import hard_threshold
from ...rows.records import suppress_messages
from ..federated.certificate import state_federation
from ..federated.coordinator import SiteCoordinator, weights_of_sites
from ..federated.participant import NOBODY, SiteParticipant
from ..rounds.protocol import LARGEST_BOUND, NOTHING, ROWS, SiteProtocol, SiteSummary
from .gradients import LARGEST_CLIP, SMALLEST_CLIP, RowGradients
from .network import TESTED, TESTED_BITS, SparseNetwork
from .oracle import LOSSES, NetworkOracle, descend, example_target, gradients_plan, private_rows, receipt

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


class NetworkSite(SiteParticipant[NetworkProtocol]):
    """A site with private rows that trains a network; the guarantees are those of `dpsparse.federated.Site`.

    Parameters
    ----------
    module : torch.nn.Module
        Of the shapes of the protocol; its own parameters do not matter.
    X, y
        **Private** rows.
    protocol, name, epsilon, delta, n_rows, ledger, dataset, memory, trust, random_state
        As in `dpsparse.federated.Site`.
    """

    _assumptions = (TESTED, TESTED_BITS)

    def __init__(
        self,
        module: torch.nn.Module,
        X: Any,
        y: Any,
        protocol: NetworkProtocol | str,
        *,
        name: str,
        epsilon: float | None = None,
        delta: float | None = None,
        n_rows: int | None = None,
        ledger: Ledger | str | None = None,
        dataset: str | None = None,
        memory: str | Path | None = None,
        trust: str = NOBODY,
        random_state: Seed = None,
    ) -> None:
        agreed = NetworkProtocol.published(protocol)
        super().__init__(agreed, name, trust, *LIBRARIES)
        self._gradients = RowGradients(module, LOSSES[self.protocol.loss])
        if tuple(self._gradients.shapes.items()) != self.protocol.shapes:
            raise ValueError("the network has other parameters than the protocol says.")
        n = public_rows(n_rows, Adjacency.named(self.protocol.adjacency), np.shape(X)[0])
        self._join(n, epsilon, delta, ledger, dataset, memory, random_state)
        self._gradients.rehearse(tuple(np.shape(X)[1:]), example_target(self.protocol.loss, self.protocol.classes))
        self._rows = private_rows(X, y, self.protocol.loss, self.protocol.classes, n)

    def _answers(self) -> list[Receipt]:
        return [] if self._priced is None else [receipt(self._priced, self.protocol.clip)] * self.protocol.turns

    def _row_mark(self, key: bytes) -> str:
        return self._rows.mark(key)

    def _round_change(self, w: Vector) -> Vector:
        protocol, plan = self.protocol, self.protocol.round_plan()
        asked = plan if self._priced is None else replace(self._priced, plan=plan)
        with suppress_messages():
            oracle = NetworkOracle(self._gradients, self._rows, asked, protocol.clip, self._randomness)
            change = descend(w, oracle, protocol.local_steps, protocol.step_size, protocol.sparsity) - w
            Drawn(oracle.receipts, asked).checked()
            return change


class NetworkServer(SiteCoordinator[NetworkProtocol, SparseNetwork]):
    """A server without rows for a network across sites; the guarantees are those of `dpsparse.federated.Server`.

    Parameters
    ----------
    module : torch.nn.Module
        Its parameters are the public start.
    sites : sequence of str
    rounds, local_steps : int
    step_size, clip : float
    sparsity : int
        Nonzero parameters kept, by sites and by the server.
    rate : float
        Sampling rate of rows at every site; 1: every row (DP-FedGD-HT).
    loss, classes
        As in `SparseNetwork`.
    private : bool
        False: FedSGD-HT, a baseline.
    radius : float or None
        Norm within which a site changes the network in a round; None: four times the way of
        `local_steps` clipped gradients, to which honest sites hold themselves. Sites whose noise is
        wider should be given more.
    weights, adjacency, least_sites, state, nonce
        As in `dpsparse.federated.Server`.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        *,
        sites: Sequence[str],
        rounds: int,
        local_steps: int = 10,
        step_size: float,
        clip: float = 1.0,
        sparsity: int,
        rate: float = 1.0,
        loss: str = "cross_entropy",
        classes: int | None = None,
        private: bool = True,
        radius: float | None = None,
        weights: Sequence[float] | None = None,
        adjacency: str = "replace-one",
        least_sites: int = 1,
        state: str | PathLike[str] | None = None,
        nonce: str | None = None,
    ) -> None:
        rounds, local_steps = checks.whole(rounds, "rounds"), checks.whole(local_steps, "local_steps")
        self._network = network = SparseNetwork(
            module,
            epsilon=None,
            sparsity=sparsity,
            steps=rounds * local_steps,
            step_size=step_size,
            clip=clip,
            loss=loss,
            classes=classes,
            adjacency=adjacency,
        )
        shares = weights_of_sites(sites, weights)
        longest = LARGEST_BOUND if not private else 4 * local_steps * network.step_size * network.clip
        protocol = NetworkProtocol(
            nonce=secrets.token_hex(16) if nonce is None else nonce,
            sites=tuple(shares),
            weights=tuple(shares.values()),
            rounds=rounds,
            local_steps=local_steps,
            step_size=network.step_size,
            sparsity=network.sparsity,
            clip=network.clip,
            rate=float(rate),
            radius=longest if radius is None or not private else checks.positive(radius, "radius"),
            adjacency=str(network.adjacency),
            loss=network.loss,
            classes=network.classes,
            shapes=tuple(network.shapes.items()),
            private=private,
            release=release(*LIBRARIES),
        )
        protocol.check()
        super().__init__(protocol, hard_threshold(network.start(), network.sparsity), least_sites, state)
        self._begin(nonce)

    def _step(self, w: Vector, _: int, came: dict[int, Vector]) -> Vector:
        moved = w.copy()
        for number, change in came.items():
            moved += self.protocol.weights[number] * change
        return hard_threshold(moved, self.protocol.sparsity)

    def model(self) -> SparseNetwork:
        """The network with its statement.

        Of all rounds, or, before the last, of those that are closed, at the price of all.
        """
        return copy.copy(self._network).keep(self._w.copy(), state_federation(self.federation, self.protocol.about))
