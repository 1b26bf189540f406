"""What tests build again and again: hosts, oracles, and sums by their old-fashioned arguments."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse as sp

from dpsparse.accounting import price
from dpsparse.core import Adjacency, Ask, Budget, EveryRow, Noise, Plan, PoissonRows
from dpsparse.core.facts import Clip, Facts
from dpsparse.core.mechanisms import Randomness
from dpsparse.estimators.linear import SparseLinear
from dpsparse.fitting import FitPlan, Shape, plan_fit
from dpsparse.losses import Loss, Squared
from dpsparse.oracles import CentralOracle, Gate, noise_info
from dpsparse.queries.charge import Charge
from dpsparse.queries.gradient import contributions
from dpsparse.queries.kinds import (
    Count,
    Gradient,
    GradientChange,
    MeanAbsolute,
    MeanRowNorm,
    MeanSquares,
    Query,
    WeightedGradient,
)
from dpsparse.queries.rules import CHOICES, SUMS, measure
from dpsparse.queries.rules import exact_sum as charged_exact_sum
from dpsparse.queries.sensitivity import Sensitivity
from dpsparse.rows.hosts import MemoryHost
from dpsparse.rows.lattice import Lattice
from dpsparse.rows.records import Records
from dpsparse.rows.sampling import PoissonSample
from dpsparse.rows.shard import Shard
from dpsparse.rows.single_records import PIECE_ENTRIES, PublicRows, private_targets
from dpsparse.rows.slopes import exact_gradient
from dpsparse.rows.support_rows import RestrictedRows, restricted
from dpsparse.rows.unread import CheckedColumns, UnreadCells

#: Units of the clip of one record, for the few rows of tests.
SUM_UNITS = 2.0**36


def charge_for(question: Any, host: Any, draw: Any = None) -> Charge:
    """A charge for an exact sum: of all rows, or of a given draw of them."""
    rows = EveryRow() if draw is None else PoissonRows(0.5)
    plan = Plan(asks=(Ask(name="exact", noise=Noise.NONE, rows=rows, draws=getattr(question, "count", 1)),))
    terms = noise_info.ZeroNoise(plan, host.facts, host.shards is not None, host.lattice)
    charge = Gate(terms, lambda: 0).next(question, "exact")
    object.__setattr__(charge, "sample", draw)
    return charge


def whole_sum(host: Any, question: Any, loss: Loss, draw: Any = None) -> Any:
    """The exact integers of a host."""
    return host.total(charge_for(question, host, draw), loss)


class Chosen:
    """A draw of given rows, whatever their coins."""

    def __init__(self, rows: Any) -> None:
        self._rows = np.asarray(rows)

    def mask(self, first_row: int, count: int) -> Any:
        return self._rows[first_row : first_row + count]


def _drawn(chosen: Any) -> Any:
    return None if chosen is None else Chosen(chosen)


def checked(X: Any, columns: int) -> Records:
    """Rows that say which cells of a table with so many columns were not understood: a function of each row alone."""
    source = Records(X)
    rows = source.rows(0, source.shape[0])
    rows = np.nan_to_num(rows.toarray() if sp.issparse(rows) else rows, nan=9.0, posinf=9.0)
    d = rows.shape[1]
    public = CheckedColumns(tuple(f"c{j}" for j in range(columns)), np.arange(d) % columns, np.zeros(d))
    source.unread = UnreadCells.of(public, [np.abs(rows[:, j % d]) > 0.4 * (1 + j // d) for j in range(columns)])
    return source


class Rows(MemoryHost):
    """A host in memory whose sums can be asked for one by one."""

    def __init__(self, X: Any, y: Any, facts: Facts, *, lattice: bool = True, parts: int = 1) -> None:
        super().__init__(X, y, facts, exact=not lattice, parts=parts)
        self.coordinate_bounds = self.lattice.coordinate_bounds
        self.norm_bound = self.lattice.norm_bound
        self.applied_intercept = self.lattice.applied_intercept
        self.applied_shift = self.lattice.applied_shift
        self.unit = self.lattice.unit

    @property
    def only(self) -> Shard:
        """The one shard."""
        [shard] = self.shards
        return shard

    def gradient_sum(self, loss: Loss, w: Any, clip: Clip, *, support: Any = None, chosen: Any = None) -> Any:
        return whole_sum(self, Gradient(np.asarray(w), clip, support), loss, _drawn(chosen))

    def change_sum(self, loss: Loss, w: Any, anchor: Any, clip: Clip, change: float, *, chosen: Any = None) -> Any:
        return whole_sum(self, GradientChange(w, anchor, clip, change), loss, _drawn(chosen))

    def square_sum(self) -> tuple[Any, float]:
        return whole_sum(self, MeanSquares(), Squared()), self.unit**2

    def weighted_gradient_sum(self, loss: Loss, w: Any, norm: float, weights: Any, *, support: Any = None) -> Any:
        question = WeightedGradient(w, weights, norm, support)
        return whole_sum(self, question, loss), float(np.max(measure(question, self.lattice).unit / weights))

    def absolute_sum(self) -> tuple[Any, float]:
        return whole_sum(self, MeanAbsolute(), Squared()), self.unit

    def size_sum(self, weights: Any, top: float, support: Any = None) -> int:
        return int(whole_sum(self, MeanRowNorm(weights, top, support), Squared())[0])

    def exact_gradient_sum(self, loss: Loss, w: Any, *, support: Any = None, chosen: Any = None) -> Any:
        return exact_gradient(w, self.shards, loss, _drawn(chosen), support)

    def exact_square_sum(self) -> Any:
        return SUMS[MeanSquares].exact(MeanSquares(), self.shards, Squared())

    def support_rows(self, support: Any, norm: float) -> list[RestrictedRows]:
        return [restricted(self.shards, support, norm)]

    def contributions(self, loss: Loss, w: Any, clip: Clip, chosen: Any, *, entries: int = PIECE_ENTRIES) -> Any:
        return contributions(charge_for(Gradient(w, clip), self), self.shards, loss, chosen, entries)

    def targets(self) -> Any:
        return private_targets(charge_for(Count(), self), self.shards)

    def public(self, loss: Loss) -> PublicRows:
        return PublicRows(self.shards, loss)


@dataclass(frozen=True)
class Measured:
    """An exact sum, its units and its reach."""

    total: Any
    unit: Any
    reach: Sensitivity

    @property
    def values(self) -> Any:
        """In real units."""
        return self.total * self.unit


def measured(question: Any, host: MemoryHost, loss: Loss) -> Measured:
    """The exact sum that answers a question."""
    found = measure(question, host.lattice)
    return Measured(whole_sum(host, question, loss), found.unit, found.reach)


def exact_sum(question: Any, host: MemoryHost, loss: Loss) -> Any:
    """The sum without lattice, as the exact oracle takes it."""
    return charged_exact_sum(charge_for(question, host), host.shards, loss)


def choice_scores(question: Any, host: MemoryHost, loss: Loss, relation: Adjacency) -> tuple[Any, float]:
    """Scores of a choice, and how far the difference of two of them moves."""
    rule = CHOICES[type(question)]
    return rule.scores(question, whole_sum(host, question, loss)), rule.spread(question, relation)


def halved(found: Sensitivity) -> Sensitivity:
    """Half of every constant: what a control must catch."""
    pair = (None if v is None else v / 2 for v in (found.pair_norm, found.pair_entry))
    return Sensitivity(found.norm / 2, found.entry / 2, *pair)


@contextlib.contextmanager
def halved_constants() -> Iterator[None]:
    """A central oracle that believes in half of every reach and range."""
    choices = {
        kind: replace(rule, spread=lambda q, r, rule=rule: rule.spread(q, r) / 2) for kind, rule in CHOICES.items()
    }

    def less(question: Any, lattice: Lattice) -> Any:
        found = measure(question, lattice)
        return replace(found, reach=halved(found.reach))

    with mock.patch.object(noise_info, "measure", less), mock.patch.object(noise_info, "CHOICES", choices):
        yield


def total_of(question: Query, host: MemoryHost, loss: Loss, draw: PoissonSample | None = None) -> Any:
    """The exact sum that answers a question, in real units."""
    return whole_sum(host, question, loss, draw) * measure(question, host.lattice).unit  # type: ignore[arg-type]


def host_of(given: Any, parts: int = 1, **options: Any) -> Rows:
    """The rows of a table."""
    return Rows(given.X, given.y, given.facts, parts=parts, **options)


def lattice_of(**facts: Any) -> Lattice:
    """The lattice of some facts."""
    return Lattice(Facts(**facts))


def oracle_of(
    host: MemoryHost,
    loss: Loss,
    *asks: Ask,
    budget: Budget | None = None,
    seed: int | None = 0,
) -> CentralOracle:
    """A central oracle for some asks, or for one Gaussian ask called 'ask' with many turns."""
    plan = Plan(asks=asks or (Ask(name="ask", noise=Noise.GAUSSIAN, times=100),))
    return CentralOracle(host, loss, price(plan, budget or Budget.zcdp(1.0)), Randomness(seed))


def prepared_for(
    estimator: SparseLinear, n_rows: int, n_features: int, *, sparse: bool = False, models: int = 1
) -> FitPlan:
    """What an estimator would run on data of this shape."""
    return plan_fit(estimator.request(), Shape(n_rows=n_rows, n_features=n_features, sparse=sparse, models=models))
