"""Rows on a cluster: how they are read, and what an engine must offer.

Engines are Dask and Spark, each in files of its own.

Guarantee
---------
Rows stay where they are. Of each part the driver learns its shape, whether a cell is missing, its
targets, which are coded here, and after that integers: the sums of `answers.part` over the rows of
the part. They are added by number (`partial`), so that whatever an engine does again, twice or in
another order gives the same sum, and the same bytes as rows in memory. The driver is trusted, and
so are the workers: they see raw rows. All of them run one release (`dpsparse.core.release`):
whatever comes back says which release computed it, and another one is refused.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from typing import NoReturn, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...core.errors import DataError
from ...core.facts import Facts, Vector
from ..declared import ColumnBounds
from ..row_bounds import RowBounds
from .disk import Tell
from .memory_budget import MemoryBudget
from .partial import CHANGED, PartialSum, refuse_other_release
from .worker import BuildReport, BuildSpec, PartSpec, PartSummary, RawPart, Step, WorkerRefusal, margins, survey

NOT_HERE = (
    "rows on a cluster are not brought together. Ask for sums (fit, PrivateScaler, PrivateSearch, "
    "private_score), or read the files themselves."
)
DIFFERENT = (
    "the parts of the rows on the cluster have different columns or forms. Use parts of one form with the same columns."
)

#: Bytes that no part needs.
UNLIMITED = 1 << 62

Result = TypeVar("Result")
#: Makes one vector of the targets of all parts: ``numbers``, ``texts`` or ``labels``.
Gather = Callable[[Sequence[object], str], NDArray[np.generic] | None]


class BuiltParts(Protocol):
    """Parts that are built on a cluster."""

    @property
    def reports(self) -> Sequence[BuildReport]:
        """One for each part."""
        ...

    @property
    def workers(self) -> int:
        """How many machines hold them."""
        ...

    def ask(self, packed: bytes) -> PartialSum | WorkerRefusal:
        """The sum of all parts; made again, as often as an engine needs to, where a machine was lost."""
        ...

    def close(self) -> None:
        """Let go of the parts."""
        ...


class Engine(Protocol):
    """Where the parts of rows are, and how functions are run there."""

    @property
    def workers(self) -> int:
        """How many machines share the parts, as far as is known."""
        ...

    def each(self, function: Callable[[RawPart], Result | WorkerRefusal]) -> Sequence[Result | WorkerRefusal]:
        """What a function returns for every part, in their order."""
        ...

    def hold(self, order: BuildSpec, own: Sequence[PartSpec], tell: Tell | None) -> BuiltParts:
        """Build every part and keep it where it is."""
        ...


def gather_arrays(found: Sequence[object], meant: str) -> NDArray[np.generic] | None:
    """Targets of parts that came as arrays, one after the other.

    Of several types: as objects, so that none changes another.
    """
    if not found or any(part is None for part in found):
        return None
    arrays = [np.asarray(part) for part in found]
    kinds = {array.dtype.kind in "biuf" for array in arrays if array.size}
    if len(kinds) > 1:
        arrays = [array.astype(object) for array in arrays]
    return np.concatenate([array for array in arrays if array.size] or arrays[:1])


@dataclass(frozen=True, eq=False, repr=False)
class ClusterRows:
    """Rows on a cluster, for `fit` and its kin in place of X. Prints without what it holds.

    Attributes
    ----------
    engine : Engine
    surveyed : sequence of PartSummary
        What is known of each part.
    key : bytes
        Secret under which parts are marked.
    gather : Gather
    steps : sequence of Step
        What becomes of rows before they are built.
    form : (int, bool) or None
        Columns after `steps`, and whether rows are sparse then; None: as they are read.
    chosen : sequence of arrays or None
        Which rows of each part there are; None: all.
    dpsparse_bounds : ColumnBounds or None
        Public bounds that rows bring along, as those of a data dictionary do.
    """

    engine: Engine
    surveyed: Sequence[PartSummary]
    key: bytes
    gather: Gather = gather_arrays
    steps: tuple[Step, ...] = ()
    form: tuple[int, bool] | None = None
    chosen: Sequence[NDArray[np.intp]] | None = None
    names: tuple[str, ...] | None = None
    dpsparse_bounds: ColumnBounds | None = field(default=None)

    @classmethod
    def open(cls, engine: Engine, gather: Gather = gather_arrays) -> ClusterRows:
        """Look at every part.

        Refuses parts that do not belong together, and workers of another release than the driver's.
        """
        key = secrets.token_bytes(32)
        known = _unless_refused(engine.each(partial(survey, key=key)))
        for part in known:
            refuse_other_release(part.origin)
        if not known:
            raise DataError("there is no part of rows on the cluster.")
        forms = {(part.n_features, part.names, part.sparse) for part in known}
        if len(forms) > 1:
            raise DataError(DIFFERENT)
        return cls(engine, known, key, gather, names=known[0].names)

    # ---------------------------------------------------------------------------------------------- what is public

    @property
    def counts(self) -> list[int]:
        """Rows of each part."""
        if self.chosen is not None:
            return [which.size for which in self.chosen]
        return [part.rows for part in self.surveyed]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return sum(self.counts), self.surveyed[0].n_features if self.form is None else self.form[0]

    @property
    def sparse(self) -> bool:
        """Whether rows come sparse."""
        return self.surveyed[0].sparse if self.form is None else self.form[1]

    @property
    def entries(self) -> int:
        """How many numbers are stored, about."""
        if self.form is not None and not self.form[1]:
            return self.shape[0] * self.form[0]
        every = sum(part.rows for part in self.surveyed)
        return sum(part.entries for part in self.surveyed) * self.shape[0] // max(every, 1)

    @property
    def missing(self) -> bool:
        """Whether any cell is no finite number."""
        return any(part.missing for part in self.surveyed)

    @property
    def finite(self) -> bool:
        """Whether all cells are finite numbers."""
        return not self.missing

    @property
    def units(self) -> list[int] | None:
        """How many units each part has; None: every row is a record."""
        return None if self.surveyed[0].units is None else [part.units or 0 for part in self.surveyed]

    def cut(self, entries: int) -> list[int]:
        """Numbers of the first rows of parts, and of all rows."""
        return [0, *accumulate(self.counts)]

    def rows(self, start: int, stop: int) -> NoReturn:
        """Rows are not brought here."""
        raise DataError(NOT_HERE)

    def targets(self, meant: str) -> NDArray[np.generic] | None:
        """The target of each row, in the order of the parts; None without targets."""
        found = self.gather([part.targets for part in self.surveyed], meant)
        if found is None or self.chosen is None:
            return found
        firsts = np.cumsum([0, *(part.rows for part in self.surveyed)])
        return np.asarray(found[np.concatenate([f + which for f, which in zip(firsts, self.chosen, strict=False)])])

    # ---------------------------------------------------------------------------------------------- other rows of these

    def take(self, which: NDArray[np.intp]) -> ClusterRows:
        """Some of the rows, by their numbers in increasing order."""
        if self.units is not None:
            raise DataError("rows of units on a cluster are not divided. Bring the rows to one machine.")
        edges = self.cut(0)
        places = np.searchsorted(which, edges)
        own = [which[a:b] - first for a, b, first in zip(places, places[1:], edges, strict=False)]
        if self.chosen is not None:
            own = [before[now] for before, now in zip(self.chosen, own, strict=True)]
        return replace(self, chosen=own)

    def after_step(
        self, step: Step, n_features: int, *, sparse: bool, names: tuple[str, ...] | None = None
    ) -> ClusterRows:
        """Rows behind a public function of each row alone, which gives `n_features` columns."""
        form = (n_features, sparse)
        return replace(self, steps=(*self.steps, step), form=form, names=names, dpsparse_bounds=None)

    def margins(self, coef: Vector, intercept: Vector, bounds: RowBounds | None) -> Vector:
        """Margins of each row under some public models, as `row_margins` gives: **private**.

        They are computed where the rows are.
        """
        ask = partial(margins, key=self.key, steps=self.steps, coef=coef, intercept=intercept, bounds=bounds)
        found = _unless_refused(self.engine.each(ask))
        for part in found:
            refuse_other_release(part.origin)
        if [part.checksum for part in found] != [part.checksum for part in self.surveyed]:
            raise DataError(CHANGED)
        own = [part.values for part in found]
        if self.chosen is not None:
            own = [values[which] for values, which in zip(own, self.chosen, strict=True)]
        return np.concatenate([np.zeros((0, intercept.size)), *own])

    def __repr__(self) -> str:
        return f"ClusterRows({'sparse' if self.sparse else 'dense'}, {self.shape[1]} features)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("rows on a cluster are not copied; open them again.")


def _unless_refused(found: Sequence[Result | WorkerRefusal]) -> list[Result]:
    """What functions returned; raises the first refusal."""
    known = list[Result]()
    for part in found:
        if isinstance(part, WorkerRefusal):
            raise DataError(part.message)
        known.append(part)
    return known


def part_limit(rows: ClusterRows, limit: int) -> int:
    """Memory of one part, where every worker has so much for its share of the parts."""
    return limit // _parts_each(rows)


def _parts_each(rows: ClusterRows) -> int:
    """Parts of the worker that has most."""
    return max(1, -(-len(rows.surveyed) // rows.engine.workers))


def check_memory(rows: ClusterRows, facts: Facts, limit: int | None) -> None:
    """Refuse a limit within which a worker's share of the parts could not be built, from public numbers."""
    if limit is None:
        return
    largest = facts if facts.by_unit else facts.with_(n_rows=max([1, *rows.counts]))  # rows of units are not told
    needed = _parts_each(rows) * MemoryBudget(largest, UNLIMITED, rows.sparse).least
    if limit < needed:
        raise DataError(
            "memory_limit is too small for the parts of a worker. Give at least "
            f"{-(-needed // 10**6)}MB for each, or use more workers, fewer "
            "parts or fewer features."
        )
