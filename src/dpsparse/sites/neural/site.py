"""A site that trains a network on rows that stay where they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ...core import Adjacency, Receipt
from ...core.facts import Vector
from ...fitting import Seed, public_rows
from ...fitting.drawn import Drawn
from ...ledger import Ledger
from ...rows.records import suppress_messages
from ..federated.participant import NOBODY, SiteParticipant
from .gradients import RowGradients
from .network import TESTED, TESTED_BITS
from .oracle import NetworkOracle, descend, receipt
from .protocol import LIBRARIES, NetworkProtocol
from .targets import LOSSES, example_target, private_rows


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
        agreed = NetworkProtocol.from_json(protocol) if isinstance(protocol, str) else protocol
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
