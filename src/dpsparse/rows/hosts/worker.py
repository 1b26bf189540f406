"""What runs where the rows of a cluster are: look at a part, build it, answer for it.

Guarantee
---------
Functions here return and do not raise: a failure is a `WorkerRefusal` with a public sentence, so
that neither an engine's error nor its log quotes a value of ours. A built part (`WorkerShard`) is
not copied, stored or sent: it answers with the integers of `answers.part` where it was built, and
nothing else leaves it but its number, its seal and how many rows it has, which the driver knew
before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import NoReturn, Protocol, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...core.errors import DataError, PrivacyError
from ...core.facts import Vector
from ...core.release import UNKNOWN, Origin
from ...queries.rules import partial_sum
from ..block import Block
from ..lattice import Lattice
from ..margins import row_margins
from ..records import Records, has_missing, suppress_messages
from ..row_bounds import RowBounds
from ..shard import Shard, build_shards
from .checksums import checksum
from .disk import DiskHost
from .memory_budget import memory_needed
from .message import Message
from .partial import CHANGED, PartialSum, add_up

UNREAD = (
    "a part of the rows could not be read on the cluster. What the engine said is not shown, since "
    "it may quote a value: look at the "
    "workers' logs, or read that part alone."
)
NOT_INSTALLED = (
    "{worker} does not have this release of dpsparse: it cannot import it, or has an earlier one. "
    "Install the release of the driver, with the "
    "same libraries, where workers run (for Spark: in the environment of PYSPARK_PYTHON)."
)
UNANSWERED = "a part of the rows could not be answered on the cluster. Look at the workers' logs."

Result = TypeVar("Result")


class Rows(Protocol):
    """Rows and targets of a part as they were read.

    Anything that `Records` takes, and a vector, pieces of one, or None.
    """

    @property
    def rows(self) -> object:
        """The features."""
        ...

    @property
    def targets(self) -> object:
        """The targets."""
        ...

    @property
    def stamp(self) -> bytes | None:
        """What marks a file without reading it; None: rows and targets are their own mark."""
        ...


class RawPart(Protocol):
    """A part of the rows that is not read yet; it is sent to where it shall be."""

    def read(self) -> Rows:
        """Read it, the same whenever it is read."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class LoadedPart:
    """A part that an engine brings: it is read already."""

    rows: object
    targets: object = None
    stamp: bytes | None = None

    def read(self) -> Rows:
        """As it is; targets as an array of their own type."""
        if self.targets is None:
            return self
        source, targets = Records.of(self.rows), np.asarray(self.targets)
        if targets.shape[0] != source.shape[0]:
            raise DataError("X and y are cut into parts of different lengths. Give both the same chunks or partitions.")
        return LoadedPart(source, targets)


#: What becomes of rows before they are built: a public function of each row alone.
Step = Callable[[Records], Records]


@dataclass(frozen=True)
class WorkerRefusal:
    """That something failed, in a public sentence."""

    message: str


@dataclass(frozen=True, eq=False, repr=False)
class PartSummary:
    """What the driver must know of a part.

    Its shape, whether a cell is missing, its targets, its mark, and how many units it has: **private**.
    """

    rows: int
    n_features: int
    names: tuple[str, ...] | None
    sparse: bool
    entries: int
    missing: bool
    targets: object
    checksum: bytes
    origin: Origin = UNKNOWN
    units: int | None = None

    def __repr__(self) -> str:
        return f"PartSummary({self.n_features} features)"


@dataclass(frozen=True, eq=False, repr=False)
class BuildSpec:
    """How every part is built: public, but for the key of seals.

    Attributes
    ----------
    lattice : Lattice
        Of all rows.
    scale : array or None
        What every column is divided by.
    steps : sequence of Step
    limit : int or None
        Bytes of memory for a part; None: all of its rows stay in memory.
    key : bytes
        Secret of these rows, under which marks and seals are made.
    """

    lattice: Lattice
    scale: Vector | None
    steps: Sequence[Step]
    limit: int | None
    key: bytes


@dataclass(frozen=True, eq=False, repr=False)
class PartSpec:
    """What is different for each part.

    Its number, its mark, its first row among all, its targets as models take them, and which rows
    it keeps.
    """

    number: int
    checksum: bytes
    first_row: int
    targets: NDArray[np.generic]
    chosen: NDArray[np.intp] | None


@dataclass(frozen=True)
class BuildReport:
    """What is reported of a built part; `origin` is who built it."""

    number: int
    seal: bytes
    refused: WorkerRefusal | None = None
    origin: Origin = UNKNOWN


def quietly(function: Callable[[], Result], said: str) -> Result | WorkerRefusal:
    """What a function returns, or a refusal in public words: ours, which quote nothing, or `said`."""
    with suppress_messages():
        try:
            return function()
        except (DataError, PrivacyError) as refusal:
            return WorkerRefusal(str(refusal))
        except Exception:  # its message could hold a value, and so could its kind
            return WorkerRefusal(said)


def survey(raw: RawPart, key: bytes) -> PartSummary | WorkerRefusal:
    """Look at a part without building it."""
    return quietly(partial(_surveyed, raw, key), UNREAD)


def _surveyed(raw: RawPart, key: bytes) -> PartSummary:
    source, targets, marked = _read(raw, key)
    missing = has_missing(source, np.zeros(0))
    units = None if source.starts is None else source.starts.size
    return PartSummary(
        *source.shape, source.names, source.sparse, source.entries, missing, targets, marked, Origin.here(), units
    )


def _read(raw: RawPart, key: bytes) -> tuple[Records, object, bytes]:
    """Rows, targets and mark of a part."""
    read = raw.read()
    source = Records.of(read.rows)
    return source, read.targets, checksum(source, read.targets, read.stamp, key)


@dataclass(frozen=True, eq=False, repr=False)
class Margins:
    """Margins of the rows of a part, and its mark: **private**."""

    values: Vector
    checksum: bytes
    origin: Origin = UNKNOWN


def margins(
    raw: RawPart, key: bytes, steps: Sequence[Step], coef: Vector, intercept: Vector, bounds: RowBounds | None
) -> Margins | WorkerRefusal:
    """Margins of the rows of a part under some public models, as `row_margins` gives them: **private**."""

    def answer() -> Margins:
        source, _, marked = _read(raw, key)
        return Margins(row_margins(_after(source, steps), coef, intercept, bounds), marked, Origin.here())

    return quietly(answer, UNREAD)


def _after(source: Records, steps: Sequence[Step]) -> Records:
    for step in steps:
        source = step(source)
    return source


class WorkerShard:
    """A part of the rows, built where it is: **private**. One query at a time.

    Parameters
    ----------
    raw : RawPart
    order : BuildSpec
    own : PartSpec
    """

    def __init__(self, raw: RawPart, order: BuildSpec, own: PartSpec) -> None:
        self._lock = Lock()
        self._shards: Sequence[Shard] = ()
        self._seal = b""
        built = quietly(partial(self._build, raw, order, own), UNREAD)
        self.number = own.number
        self.refused = built if isinstance(built, WorkerRefusal) else None

    def _build(self, raw: RawPart, order: BuildSpec, own: PartSpec) -> None:
        self._shards = build(raw, order, own)
        self._seal = keyed_checksum(self._shards, order.key)

    def report(self) -> BuildReport:
        """That it is there."""
        return BuildReport(self.number, self._seal, self.refused, Origin.here())

    def answer(self, message: Message) -> PartialSum:
        """What these rows add."""
        with self._lock:
            sums = (partial_sum(message.charge, shard, message.loss) for shard in self._shards)
            return PartialSum.of_part(self.number, self._seal, sums)

    def __repr__(self) -> str:
        return f"WorkerShard({self.number})"

    def __sizeof__(self) -> int:
        return object.__sizeof__(self)

    def __reduce__(self) -> NoReturn:
        raise TypeError("private rows are not copied or stored.")


def build(raw: RawPart, order: BuildSpec, own: PartSpec) -> Sequence[Shard]:
    """The shards of a part; refuses one that is not what was looked at."""
    source, _, marked = _read(raw, order.key)
    if marked != own.checksum:
        raise DataError(CHANGED)
    if own.chosen is not None:
        source = Records.of(source.plain()).take(own.chosen)
    starts, source = source.starts, _after(source, order.steps)
    source.starts = starts  # a step is a function of each row
    if order.scale is not None:
        source = source.rescaled(order.scale)
    lattice, targets = order.lattice, own.targets.astype(float)
    if source.shape != (targets.size, lattice.facts.n_features):
        raise DataError(CHANGED)
    facts = lattice.facts if lattice.facts.by_unit else lattice.facts.with_(n_rows=max(1, targets.size))
    if order.limit is not None and memory_needed(source, facts) > order.limit:
        return DiskHost(source, targets, facts, order.limit, lattice=lattice, first_row=own.first_row).parts
    return build_shards(lattice, source, targets, first_row=own.first_row)


def keyed_checksum(shards: Sequence[Shard], key: bytes) -> bytes:
    """A keyed digest of all rows of a part and of their numbers.

    The same for the same rows, and of use to nobody without the key.
    """
    digest = hashlib.blake2b(key=key, digest_size=16)
    for shard in shards:
        digest.update(f"{shard.first_row} {shard.rows}".encode())
        for block in shard.blocks:
            for array in _arrays(block):
                digest.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
    return digest.digest()


def _arrays(block: Block) -> list[NDArray[np.generic]]:
    x = block.x
    rows = [x.data, x.indices, x.indptr] if sp.issparse(x) else [x]
    return [*rows, block.y, block.present, *([] if block.starts is None else [block.starts])]


def answer(packed: bytes | memoryview, parts: Sequence[WorkerShard]) -> PartialSum | WorkerRefusal:
    """The sum over some parts of one machine."""
    return quietly(partial(_answered, packed, parts), UNANSWERED)


def _answered(packed: bytes | memoryview, parts: Sequence[WorkerShard]) -> PartialSum:
    message = Message.read(packed)
    for held in parts:
        if held.refused is not None:  # built again, of other rows
            raise DataError(held.refused.message)
    return add_up([held.answer(message) for held in parts])


def combine(partials: Sequence[PartialSum | WorkerRefusal]) -> PartialSum | WorkerRefusal:
    """The sum of some partial sums; the first refusal, if there is one."""
    refused = [found for found in partials if isinstance(found, WorkerRefusal)]
    if refused:
        return refused[0]
    return quietly(partial(add_up, [found for found in partials if isinstance(found, PartialSum)]), UNANSWERED)
