"""A server without rows for a network across sites: DP-FedSGD-HT, DP-FedGD-HT and FedSGD-HT of paper 004."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from os import PathLike

import torch

from ...core import Adjacency, checks
from ...core.facts import Vector
from ...core.release import release
from ...ops import hard_threshold
from ..federated.certificate import state_federation
from ..federated.coordinator import SiteCoordinator, weights_of_sites
from ..rounds.protocol import LARGEST_BOUND
from .gradients import LARGEST_CLIP, SMALLEST_CLIP, RowGradients
from .network import SparseNetwork
from .protocol import LIBRARIES, NetworkProtocol
from .targets import LOSSES


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
        self._module = module
        gradients = RowGradients(module, LOSSES[checks.one_of(loss, "loss", LOSSES)])
        shares = weights_of_sites(sites, weights)
        way = local_steps * step_size
        protocol = NetworkProtocol(
            nonce=secrets.token_hex(16) if nonce is None else nonce,
            sites=tuple(shares),
            weights=tuple(shares.values()),
            rounds=checks.whole(rounds, "rounds"),
            local_steps=checks.whole(local_steps, "local_steps"),
            step_size=checks.positive(step_size, "step_size"),
            sparsity=checks.whole(sparsity, "sparsity"),
            clip=checks.positive(clip, "clip", least=SMALLEST_CLIP, most=LARGEST_CLIP),
            rate=float(rate),
            radius=LARGEST_BOUND
            if not private
            else 4 * way * clip
            if radius is None
            else checks.positive(radius, "radius"),
            adjacency=str(Adjacency.named(adjacency)),
            loss=loss,
            classes=checks.whole(classes, "classes", least=2) if loss == "cross_entropy" else None,
            shapes=tuple(gradients.shapes.items()),
            private=private,
            release=release(*LIBRARIES),
        )
        protocol.check()
        super().__init__(protocol, hard_threshold(gradients.start(), sparsity), least_sites, state)
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
        protocol = self.protocol
        made = SparseNetwork(
            self._module,
            epsilon=None,
            sparsity=protocol.sparsity,
            steps=protocol.turns,
            step_size=protocol.step_size,
            clip=protocol.clip,
            loss=protocol.loss,
            classes=protocol.classes,
            adjacency=protocol.adjacency,
        )
        return made.keep(self._w.copy(), state_federation(self.federation, protocol.about))
