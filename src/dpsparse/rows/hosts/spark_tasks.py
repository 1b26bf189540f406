"""What runs on the executors of Spark: parts as rows of bytes, and what they add to an answer.

Guarantee
---------
As for `held`: a failure is a public sentence. Blocks are stored as they were sanitised, in the
narrowest type that gives their numbers back.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...core.errors import DataError
from ...core.release import Origin
from ...queries.rules import partial_sum
from ..block import Block
from ..scratch_rows import compact
from ..shard import Shard
from .cluster_units import Piece, ShuffledPart, dealt
from .message import Message
from .partial import CHANGED, PartialSum, refuse_other_release
from .worker import (
    UNANSWERED,
    UNREAD,
    BuildReport,
    BuildSpec,
    PartSpec,
    RawPart,
    WorkerRefusal,
    build,
    combine,
    keyed_checksum,
    quietly,
)

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark import Broadcast
    from pyspark.sql import Row


@dataclass(frozen=True, eq=False, repr=False)
class PartHeader:
    """What stands before the blocks of a part: its report, and the first row of each of its shards."""

    report: BuildReport
    first_rows: tuple[int, ...] = ()


def run_on_partition(
    reader: Callable[[Iterable[RecordBatch]], RawPart],
    function: Callable[[RawPart], object],
    batches: Iterator[RecordBatch],
) -> Iterator[RecordBatch]:
    """A function of the rows of one partition; nothing for one without rows."""
    read = [batch for batch in batches if batch.num_rows]
    if read:
        raw = quietly(lambda: reader(read), UNREAD)
        found = raw if isinstance(raw, WorkerRefusal) else function(raw)
        yield from _rows([pickle.dumps(found)])


def built(
    reader: Callable[[Iterable[RecordBatch]], RawPart],
    order: Broadcast[BuildSpec],
    own: Broadcast[dict[int, PartSpec]],
    batches: Iterator[RecordBatch],
) -> Iterator[RecordBatch]:
    """The head of a part and its blocks."""
    read = [batch for batch in batches if batch.num_rows]
    if not read:
        return
    mine = own.value.get(_partition())
    if mine is None:
        yield from _rows([pickle.dumps(PartHeader(BuildReport(-1, b"", WorkerRefusal(CHANGED), Origin.here())))])
        return
    built = quietly(lambda: build(reader(read), order.value, mine), UNREAD)
    if isinstance(built, WorkerRefusal):
        yield from _rows([pickle.dumps(PartHeader(BuildReport(mine.number, b"", built, Origin.here())))])
        return
    report = BuildReport(mine.number, keyed_checksum(built, order.value.key), None, Origin.here())
    head = PartHeader(report, tuple(shard.first_row for shard in built))
    blocks = (_stored(place, block) for place, shard in enumerate(built) for block in shard.blocks)
    yield from _rows([pickle.dumps(head)])
    for place, block in enumerate(blocks):
        yield from _rows([block], place + 1)


def _partition() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return int(context.partitionId())


def _rows(contents: Sequence[bytes], place: int = 0) -> Iterator[RecordBatch]:
    import pyarrow as pa

    number = _partition()
    columns = [
        pa.array([number] * len(contents), pa.int32()),
        pa.array(range(place, place + len(contents)), pa.int32()),
        pa.array(contents, pa.binary()),
    ]
    yield pa.RecordBatch.from_arrays(columns, ["number", "place", "content"])


# ------------------------------------------------------------------------------------------------ rows of units


def deal(
    reader: Callable[[Iterable[RecordBatch]], tuple[RawPart, object]], parts: int, batches: Iterator[RecordBatch]
) -> Iterator[RecordBatch]:
    """The pieces of one partition by the part of their ids, `place` being that part.

    For part 0 alone: why they could not be read.

    `reader` gives the rows and the id of each.
    """
    read = [batch for batch in batches if batch.num_rows]
    if not read:
        return
    found = quietly(lambda: dealt(*reader(read), parts), UNREAD)
    if isinstance(found, WorkerRefusal):
        yield from _rows([pickle.dumps(found)])
        return
    for part, piece in enumerate(found):
        if piece.digests.size:
            yield from _rows([pickle.dumps(piece)], part)


def by_part(row: Row) -> tuple[int, Row]:
    """A piece under the number of its part, by which the engine moves it."""
    return row.place, row


def gathered(parts: int, batches: Iterable[RecordBatch]) -> RawPart:
    """The part of whole units that came to this partition, its pieces in the order of where they came from."""
    pieces = list[tuple[int, Piece]]()
    for batch in batches:
        for number, content in zip(batch["number"].to_pylist(), batch["content"].to_pylist(), strict=True):
            piece = pickle.loads(content)
            if isinstance(piece, WorkerRefusal):
                raise DataError(piece.message)
            pieces.append((number, piece))
    pieces.sort(key=lambda found: found[0])
    return ShuffledPart(_partition(), parts, [piece for _, piece in pieces])


# ------------------------------------------------------------------------------------------------ built parts


def content_of(row: Row) -> bytes:
    """The bytes of a row."""
    return bytes(row.content)


def _stored(shard: int, block: Block) -> bytes:
    """A block as bytes: whole numbers in the narrowest type, everything else bit by bit."""
    small = compact(block)
    x = small.x
    rows = (x.data, x.indices, x.indptr, x.shape) if small.sparse else (x,)
    out = io.BytesIO()
    beside = {"clipped": small.clipped, "starts": small.starts, "weight": small.weight}
    kept = (shard, rows, small.y, small.present.astype(np.int8), small.squares, small.largest, beside)
    pickle.dump(kept, out, protocol=pickle.HIGHEST_PROTOCOL)
    return out.getvalue()


def _loaded(content: bytes) -> tuple[int, Block]:
    shard, rows, y, alive, squares, largest, beside = pickle.loads(content)
    x: NDArray[np.generic] | sp.csr_matrix
    if len(rows) == 1:
        [x] = rows
    else:
        x = sp.csr_matrix((rows[0].astype(float), rows[1], rows[2]), shape=rows[3])
        x.has_sorted_indices = x.has_canonical_format = True  # as sanitised rows are; not looked for again
    return shard, Block(x, y, alive.astype(float), squares, largest, whole=False, **beside)


def heads(contents: Iterator[bytes]) -> Iterator[PartHeader]:
    """What stands before the blocks."""
    for place, content in enumerate(contents):
        if place == 0:
            yield pickle.loads(content)


def sums_of(
    message: Broadcast[bytes], order: Broadcast[BuildSpec], contents: Iterator[bytes]
) -> Iterator[PartialSum | WorkerRefusal]:
    """What the rows of one part add."""
    first = next(contents, None)
    if first is not None:
        yield quietly(lambda: _summed(message.value, order.value, pickle.loads(first), contents), UNANSWERED)


def _summed(packed: bytes, order: BuildSpec, head: PartHeader, contents: Iterator[bytes]) -> PartialSum:
    refuse_other_release(head.report.origin)  # blocks may have been built elsewhere
    if head.report.refused is not None:  # built again, of other rows
        raise DataError(head.report.refused.message)
    read, blocks = Message.read(packed), [list[Block]() for _ in head.first_rows]
    for content in contents:
        shard, block = _loaded(content)
        blocks[shard].append(block)
    shards = [
        Shard.of_blocks(order.lattice, own, start, 0.0) for own, start in zip(blocks, head.first_rows, strict=True)
    ]
    sums = (partial_sum(read.charge, shard, read.loss) for shard in shards)
    return PartialSum.of_part(head.report.number, head.report.seal, sums)


def pair(one: PartialSum | WorkerRefusal, other: PartialSum | WorkerRefusal) -> PartialSum | WorkerRefusal:
    """The sum of two sums."""
    return combine([one, other])
