"""A device: one person's row, which answers once and never leaves."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ...core import PrivacyError
from ...core.facts import Clip
from ...core.mechanisms import Randomness
from ...oracles.local import person_charge
from ...queries.gradient import contributions
from ...queries.kinds import Gradient, RandomizedLabels
from ...rows.hosts import MemoryHost
from ...rows.records import Records
from ...rows.single_records import private_targets
from ..rounds import AnswerClaim, CallbackStore, Participant, Store, device_store
from ..rounds.messages import DeviceReport as Report
from ..rounds.messages import DeviceTask as Task
from .protocol import Protocol


class Device(Participant[Protocol, Task]):
    """Holds one person's row and answers one round of one protocol.

    Guarantee
    ---------
    The report is epsilon-LDP, at the epsilon of the protocol, for any two rows, whatever the server
    asks: the gradient is clipped here, to the radius of the task, and randomised here. A protocol
    that costs more than this device allows, or was published by another release than that of this
    device, is refused before a row is looked at.

    **Once** means: for one run of a protocol, whatever its rounds, at most one report is ever
    computed by all devices that share a `memory`; and over all runs that this memory has seen, the
    epsilons (and deltas) add up to no more than `epsilon` and `delta`. The mark is made, and with a
    file is on the disk, before the report exists: a crash, or a report that is lost on its way,
    counts as answered. With a path this holds across restarts, forks and several processes, as long
    as the file is kept; with a function, as far as the application keeps it; with ``None`` only for
    this object in this process, which is for simulations and not for people.

    Parameters
    ----------
    x : array of shape (n_features,)
    y : number or class
    protocol : Protocol or str
        What the server published.
    epsilon : float
        The most that this person allows, for all answers in `memory` together.
    delta : float
        The same for delta; 0: pure reports only.
    memory : path, callable, FileStore, MemoryStore or None
        Where the device remembers that it has answered: a file of its own, or a function of the
        host application that stores a `AnswerClaim` durably and then returns True. None: as long as
        this object lives.
    number : int or None
        Where labels are asked for: which row of the public features this is.
    randomness : Randomness or None
        None: cryptographic. Seeds are for tests.

    Examples
    --------
    >>> from dpsparse import SparseRegressor
    >>> from dpsparse.local import Device, Server
    >>> model = SparseRegressor(epsilon=1.0, recipe="ldp_iht", feature_bound=1.0, target_bound=1.0)
    >>> server = Server(model, n_people=2, n_features=3)
    >>> device = Device([0.1, -0.4, 1.0], 0.3, server.protocol, epsilon=1.0)
    >>> server.receive(device.answer(server.task()))
    >>> device.answer(server.task())
    Traceback (most recent call last):
        ...
    dpsparse.core.errors.PrivacyError: this device has answered a round already, and answers no second one.
    """

    def __init__(
        self,
        x: object,
        y: object,
        protocol: Protocol | str,
        *,
        epsilon: float,
        delta: float = 0.0,
        memory: Store | CallbackStore | Callable[[AnswerClaim], bool] | str | Path | None = None,
        number: int | None = None,
        randomness: Randomness | None = None,
    ) -> None:
        super().__init__(Protocol.from_json(protocol) if isinstance(protocol, str) else protocol, "this device")
        cost = self.protocol.epsilon()
        if not (cost <= epsilon * (1 + 1e-12) and self.protocol.delta <= delta):
            raise PrivacyError(
                f"this device allows ({epsilon:g}, {delta:g}) and the protocol costs ({cost:g}, "
                f"{self.protocol.delta:g}). "
                "It does not take part."
            )
        if self.protocol.labels and (number is None or not 0 <= number < self.protocol.facts["n_rows"]):
            raise ValueError("where labels are asked for, a device needs the number of its row.")
        self._terms = self.protocol.terms
        self._loss = self.protocol.restored_loss()
        row = np.asarray(x, dtype=float).reshape(1, -1)
        if row.shape[1] != self._terms.facts.n_features:
            raise ValueError(f"a row of this protocol has {self._terms.facts.n_features} features.")
        shown = Records(row).rescaled(self._terms.facts.scale)
        self._host = MemoryHost(shown, np.array([self._coded(y)]), self._terms.facts)
        self._number = number
        self._randomness = randomness or Randomness()
        self._spoken = False
        self._memory = device_store(memory)
        self._allowed = (float(epsilon), float(delta))
        self._claim = AnswerClaim(self.protocol.identity.hex(), cost, self.protocol.delta)

    def _coded(self, y: Any) -> float:
        classes = self.protocol.classes
        if classes is None:
            return float(y) - self.protocol.target_center
        return float(classes.index(y)) if y in classes else float("nan")

    @property
    def spoken(self) -> bool:
        """Whether this object has given its one answer, or begun to."""
        return self._spoken

    def _read_task(self, task: bytes) -> tuple[bytes, int, int, Task]:
        asked = Task.from_bytes(task)
        return asked.protocol, asked.round, asked.w.size, asked

    def _claim_and_report(self, asked: Task, task: bytes) -> bytes:
        if self._spoken:
            raise PrivacyError("this device has answered a round already, and answers no second one.")
        self._spoken = True
        self._memory.claim_answer(self._claim, *self._allowed)
        question = RandomizedLabels() if self.protocol.labels else Gradient(asked.w, Clip(asked.radius))
        charge = person_charge(question, self._terms)
        if self.protocol.labels:
            values = self._terms.label_reports(
                charge.spec, private_targets(charge, self._host.shards), self._randomness
            )
            identifier = int(self._number or 0).to_bytes(16, "little")
        else:
            [own] = contributions(charge, self._host.shards, self._loss, np.ones(1, dtype=bool))
            values = charge.spec.reports(own, self._randomness)
            identifier = os.urandom(16)
        return Report(self.protocol.identity, asked.round, identifier, values.ravel()).to_bytes()

    def __repr__(self) -> str:
        return f"Device({'has answered' if self._spoken else 'has not answered'})"
