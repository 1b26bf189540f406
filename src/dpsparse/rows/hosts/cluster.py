"""The host of rows on a cluster: it asks their parts, and adds up what comes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import NoReturn

import numpy as np

from ...core.errors import DataError
from ...core.facts import Facts, Vector
from ...queries.charge import Charge, use
from ...queries.losses import Loss
from ...queries.sensitivity import Integers
from ..lattice import Lattice
from ..narrow import narrow
from ..records import Records
from .base import check_units
from .cluster_rows import ClusterRows, check_memory, part_limit
from .disk import Tell
from .message import Message
from .partial import refuse_other_release, value_of
from .worker import BuildReport, BuildSpec, PartSpec, WorkerRefusal


class ClusterHost:
    r"""Clipped rows on a cluster, which answer only with sums.

    Guarantee
    ---------
    Sums are the integers that `MemoryHost` gives: rows are sanitised one by one, samples follow the
    global numbers of rows, or of units, of which each is in one part (`cluster_units`), and every
    part is added exactly once, as it was when its targets were read (`marks`). Rows are never
    brought together: `shards` is None, and statistics are refused.

    Parameters
    ----------
    source : Records
        Of rows on a cluster, perhaps in other units.
    y : array of shape (rows,)
        Targets: classes coded 0, 1, ..., or centred outcomes; NaN makes a record empty.
    facts : Facts
    memory_limit : int or None
        Bytes for the rows of each worker; None: all of them stay in its memory.
    tell : callable, optional
        Told which part of the rows is built.
    lattice : Lattice, optional
    """

    shards = None

    def __init__(
        self,
        source: Records,
        y: Vector,
        facts: Facts,
        memory_limit: int | None = None,
        *,
        tell: Tell | None = None,
        lattice: Lattice | None = None,
    ) -> None:
        rows = source.spread
        if not isinstance(rows, ClusterRows) or rows.shape != (np.shape(y)[0], facts.n_features):
            raise DataError(f"expected rows on a cluster with {facts.n_features} features and one target each.")
        self.facts = facts
        self.lattice = lattice or Lattice(facts)
        if rows.sparse and not self.lattice.holds_zero:
            raise DataError("sparse rows hold zeros, so feature_bound must contain zero for every feature.")
        check_units(source, facts)
        check_memory(rows, facts, memory_limit)
        limit = None if memory_limit is None else part_limit(rows, memory_limit)
        order = BuildSpec(replace(self.lattice), source.scale, rows.steps, limit, rows.key)
        self._holding = rows.engine.hold(order, _own_orders(rows, np.asarray(y, dtype=float)), tell)
        try:
            self._seals = _seals(self._holding.reports)
        except BaseException:
            self.close()
            raise

    def total(self, charge: Charge, loss: Loss) -> Integers:
        """Sum of a part over all shards, wherever they are: **private**."""
        use(charge)
        found = self._holding.ask(Message(charge, loss).packed())
        if isinstance(found, WorkerRefusal):
            raise DataError(found.message)
        return value_of(found, self._seals, self.lattice.largest_total)

    def close(self) -> None:
        """Let the workers forget the rows; nothing is answered any more."""
        self._holding.close()

    def __repr__(self) -> str:
        return f"ClusterHost({self.facts.n_features} features)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("private rows are not copied or stored.")


def _own_orders(rows: ClusterRows, y: Vector) -> list[PartSpec]:
    """Number, first row or unit, targets and chosen rows of each part."""
    edges = rows.cut(0)
    numbers = edges if rows.units is None else [0, *accumulate(rows.units)]
    return [
        PartSpec(
            number,
            part.checksum,
            numbers[number],
            narrow(y[first:last]),
            None if rows.chosen is None else rows.chosen[number],
        )
        for number, (part, (first, last)) in enumerate(zip(rows.surveyed, pairwise(edges), strict=True))
    ]


def _seals(reports: Sequence[BuildReport]) -> dict[int, bytes]:
    """The seal of each part; refuses parts that could not be built, or were built by another release."""
    for report in reports:
        refuse_other_release(report.origin)
        if report.refused is not None:
            raise DataError(report.refused.message)
    return {report.number: report.seal for report in reports}
