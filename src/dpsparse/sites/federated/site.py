"""A site: rows that stay where they are, a ledger of its own, and one answer to every round."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...core import Adjacency, Budget, DataError, Plan, PrivacyError, Receipt
from ...core.checks import ROW
from ...core.digests import digest_of
from ...core.facts import Vector
from ...estimators.input_checks import rows_of_units, with_ids
from ...fitting import Session, public_rows
from ...fitting.drawn import Drawn
from ...fitting.request import Seed
from ...ledger import Ledger
from ...oracles.noise_info import PricedNoise
from ...oracles.tape import mark_of
from ...queries.kinds import Gradient
from ...rows.hosts import MemoryHost
from ...rows.lattice import Lattice
from ...rows.records import Records, center_targets, code_classes, suppress_messages
from .participant import NOBODY, SiteParticipant
from .protocol import Protocol


class Site(SiteParticipant[Protocol]):
    """Holds rows and answers every round of one run once.

    Guarantee
    ---------
    *Rows.* All reports of a run together are (epsilon, delta)-DP for the rows of this site, under
    the adjacency of the protocol, whatever the server and the other sites send: every gradient is
    clipped and noised here, the noise is priced for all local steps of all rounds before the first
    one is answered, and each round is answered once. With a ledger the whole price is durable
    before the first report.

    *Once* means: for one run, all sites that share a `memory` give at most one report for each
    round, and one that was given is sent again as the same bytes. A report is given after it is on
    the disk, so one that a killed process had not stored was seen by nobody. A site that is
    restarted with the same memory and the same rows goes on with the rounds that are left, and
    pays nothing more; other rows are refused, by a keyed mark of those with which it began. After
    the last round, or when the server says that all are closed (`finish`), the entry of the ledger
    is confirmed and the key of the mark removed. Without its memory, or with an older copy of it,
    a restarted site is refused by its ledger. With ``memory=None`` and no ledger this holds as
    long as the object lives, which is for simulations.

    Protocols in which the server protects whole sites, or nobody does, are refused unless
    ``trust="server"``.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (rows, n_features)
    y : array of shape (rows,)
    protocol : Protocol or str
        What the server published.
    name : str
        Which of the protocol's sites this is.
    epsilon, delta : float
        What all reports of this run may cost together; delta None: min(1e-6, 1/(10 n)). Not needed
        with ``trust="server"``.
    n_rows : int or None
        The public number of rows; required under add-remove.
    ledger, dataset
        The durable budget of this site; see `Ledger`.
    memory : path or None
        A folder of this site's own, for what it has answered.
    trust : {"nobody", "server"}
    random_state : int or None
        None: cryptographic. Seeds are for tests.
    units : array of shape (rows,), str or None
        The id of each row's unit, or the column of a frame that holds it, where the protocol protects units:
        then *rows* above are all rows with the same id at this site together.
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        protocol: Protocol | str,
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
        units: object = None,
    ) -> None:
        super().__init__(Protocol.published(protocol), name, trust)
        if (units is None) is not (self.protocol.record == ROW):
            raise PrivacyError(
                f"this protocol protects {self.protocol.about.unit}: give units=, the id of each row, if, and only if, "
                "a record of it has several rows."
            )
        X, _, units = with_ids(X, None, units)
        source = rows_of_units(Records.of(X), units)
        n = public_rows(n_rows, Adjacency.named(self.protocol.adjacency), source.count)
        self._facts = self.protocol.site_facts(n).with_(sparse=source.sparse)
        if source.shape[1] != self._facts.n_features:
            raise DataError(f"rows of this protocol have {self._facts.n_features} features, got {source.shape[1]}.")
        self._loop = self.protocol.loop()
        self._loss = self.protocol.site_loss()
        self._join(n, epsilon, delta, ledger, dataset, memory, random_state)
        with suppress_messages():
            self._hosts = self._host_rows(source, y)

    # ---------------------------------------------------------------------------------------------- price

    @property
    def _round_plan(self) -> Plan:
        """What is asked in one round, for one model; the budget does not matter to it."""
        return self._loop.round_plan(self._facts, Budget.approx(1.0, 0.5))

    def _answers(self) -> list[Receipt]:
        """What is drawn in all rounds: known beforehand, since clip and price are."""
        if self._priced is None:
            return []
        ask = self._round_plan.asks[0]
        terms = PricedNoise(self._priced, Lattice(self._facts))
        question = Gradient(self._facts.first(), self._loop.local.clip)
        noise = terms.measure(question, ask, 0)
        one = Receipt(ask.name, ask.noise, 1, noise.rate, noise.sensitivity, noise.sensitivity / noise.strength)
        return [one] * self._priced.plan[ask.name].times

    # ---------------------------------------------------------------------------------------------- rows

    def _host_rows(self, source: Records, y: Any) -> list[MemoryHost]:
        """One host for each model; they share the clipped rows' storage only through the source."""
        classes = self.protocol.classes
        coded = center_targets(y, self.protocol.target_center) if classes is None else code_classes(y, list(classes))
        if coded.shape != (source.shape[0],):
            raise DataError("one target for each row was expected.")
        shown = source.rescaled(self._facts.scale)
        exact = not self.protocol.private
        if self.protocol.models == 1:
            return [MemoryHost(shown, coded, self._facts, exact=exact)]
        known = np.isfinite(coded)
        each = (np.where(known, coded == code, np.nan) for code in range(self.protocol.models))
        return [MemoryHost(shown, target, self._facts, exact=exact) for target in each]

    def _row_mark(self, key: bytes) -> str:
        return digest_of([mark_of(host, key) for host in self._hosts])

    # ---------------------------------------------------------------------------------------------- rounds

    def _round_change(self, w: Vector) -> Vector:
        """What this site changes in a round: noisy, so it may be sent."""
        with suppress_messages():
            return self._changes(w.reshape(self.protocol.models, -1))

    def _changes(self, models: Vector) -> Vector:
        plan = self._round_plan if self._priced is None else replace(self._priced, plan=self._round_plan)
        changes = []
        for w, host in zip(models, self._hosts, strict=True):
            oracle = Session((), self._randomness).oracle(host, self._loss, plan)
            changes.append(self._loop.local.run_from(w.copy(), oracle) - w)
            Drawn(oracle.receipts, plan).checked()
        return np.concatenate(changes)
