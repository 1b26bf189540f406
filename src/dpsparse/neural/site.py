"""A site that trains a network on rows that stay where they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import torch

from .. import checks
from ..accounting import PlanBill, PricedPlan, price
from ..data.source import silence
from ..facts import Vector
from ..federated.certificate import SEPARATE, Certificate
from ..federated.desk import Desk, Purse
from ..federated.rounds import rounds_of
from ..federated.site import NOBODY, SERVER
from ..fits import Seed, default_delta, public_rows, warn_if_seeded
from ..ledger import Ledger
from ..mechanisms import Randomness
from ..privacy import Adjacency, Budget, PrivacyError, Statement
from .gradients import RowGradients
from .network import state_network
from .oracle import NetworkOracle, receipt, walk
from .protocol import NetworkProtocol
from .targets import LOSSES, example_target, private_rows


class NetworkSite:
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
        self.protocol = NetworkProtocol.from_json(protocol) if isinstance(protocol, str) else protocol
        if name not in self.protocol.sites:
            raise ValueError(f"the protocol has no site {name!r}.")
        checks.one_of(trust, "trust", (NOBODY, SERVER))
        if not self.protocol.private and trust != SERVER:
            raise PrivacyError(
                "sites of this protocol send networks without noise: the server would have to be trusted with them. To take part "
                "nevertheless, give trust='server'."
            )
        self.name = name
        self._gradients = RowGradients(module, LOSSES[self.protocol.loss])
        if tuple(self._gradients.shapes.items()) != self.protocol.shapes:
            raise ValueError("the network has other parameters than the protocol says.")
        self._n = public_rows(n_rows, Adjacency.named(self.protocol.adjacency), np.shape(X)[0])
        self._delta = default_delta(self._n) if delta is None else delta
        self._priced = self._price(epsilon)
        self._randomness = Randomness(random_state)
        if self._priced is not None:
            warn_if_seeded(self._randomness, "site")
        number = self.protocol.sites.index(name)
        run = f"{self.protocol.identity.hex()}-{number}"
        bill = None if self._priced is None else PlanBill.of(self._priced)
        purse = Purse.of(ledger, dataset, bill, self.protocol.about.recipe, run, self._delta)
        self._gradients.rehearse(tuple(np.shape(X)[1:]), example_target(self.protocol.loss))
        self._rows = private_rows(X, y, self.protocol.loss, self.protocol.classes, self._n)
        self._desk = Desk(self.protocol, number, rounds_of(memory, run), purse, self._walk)

    def _price(self, epsilon: float | None) -> PricedPlan | None:
        """The price of all rounds."""
        if not self.protocol.private:
            return None
        if epsilon is None:
            raise PrivacyError("a site says what it may spend: give epsilon.")
        plan = self.protocol.round_plan().repeated(self.protocol.rounds)
        return price(plan, Budget.approx(epsilon, self._delta, self.protocol.adjacency))

    @property
    def statement(self) -> Statement:
        """What this site promises to the people in its rows, if all rounds are asked for; public."""
        drawn = [] if self._priced is None else [receipt(self._priced, self.protocol.clip)] * self.protocol.turns
        secure = self._randomness.secure
        said = state_network(self.protocol.about, self._n, self._priced, self._delta, drawn, secure=secure)
        return said if self._priced is None else replace(said, assumptions=(*said.assumptions, SEPARATE))

    def certificate(self) -> str:
        """What this site tells the server before it takes part."""
        bill = None if self._priced is None else PlanBill.of(self._priced)
        return Certificate(self.protocol.identity.hex(), self.name, self.statement, bill).to_json()

    def answer(self, task: bytes) -> bytes:
        """A report for this task, once; see `dpsparse.federated.Site.answer`."""
        return self._desk.answer(task)

    def _walk(self, w: Vector) -> Vector:
        protocol, plan = self.protocol, self.protocol.round_plan()
        asked = plan if self._priced is None else replace(self._priced, plan=plan)
        with silence():
            oracle = NetworkOracle(self._gradients, self._rows, asked, protocol.clip, self._randomness)
            return walk(w, oracle, protocol.local_steps, protocol.step_size, protocol.sparsity) - w

    def __repr__(self) -> str:
        return f"NetworkSite({self.name!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a site holds rows and is not copied or stored.")
