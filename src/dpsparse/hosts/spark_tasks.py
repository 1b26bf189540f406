"""What runs on the executors of Spark: parts as rows of bytes, and what they add to an answer.

Guarantee
---------
As for `held`: a failure is a public sentence. Blocks are stored as they were sanitised, in the narrowest type that gives their numbers back.
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

from ..answers.table import part
from ..data.block import Block
from ..data.shard import Shard
from ..data.spilled import compact
from ..privacy.errors import DataError
from ..release import Origin
from .held import UNANSWERED, UNREAD, Order, PartOrder, RawPart, Refused, Report, build, combine, quietly, seal
from .message import Message
from .partial import CHANGED, Partial, refuse_other_release

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark import Broadcast
    from pyspark.sql import Row


@dataclass(frozen=True, eq=False, repr=False)
class Head:
    """What stands before the blocks of a part: its report, and the first row of each of its shards."""

    report: Report
    first_rows: tuple[int, ...] = ()


def run(
    reader: Callable[[Iterable[RecordBatch]], RawPart],
    function: Callable[[RawPart], object],
    batches: Iterator[RecordBatch],
) -> Iterator[RecordBatch]:
    """A function of the rows of one partition; nothing for one without rows."""
    read = [batch for batch in batches if batch.num_rows]
    if read:
        raw = quietly(lambda: reader(read), UNREAD)
        found = raw if isinstance(raw, Refused) else function(raw)
        yield from _rows([pickle.dumps(found)])


def built(
    reader: Callable[[Iterable[RecordBatch]], RawPart],
    order: Broadcast[Order],
    own: Broadcast[dict[int, PartOrder]],
    batches: Iterator[RecordBatch],
) -> Iterator[RecordBatch]:
    """The head of a part and its blocks."""
    read = [batch for batch in batches if batch.num_rows]
    if not read:
        return
    mine = own.value.get(_partition())
    if mine is None:
        yield from _rows([pickle.dumps(Head(Report(-1, b"", Refused(CHANGED), Origin.here())))])
        return
    built = quietly(lambda: build(reader(read), order.value, mine), UNREAD)
    if isinstance(built, Refused):
        yield from _rows([pickle.dumps(Head(Report(mine.number, b"", built, Origin.here())))])
        return
    report = Report(mine.number, seal(built, order.value.key), None, Origin.here())
    head = Head(report, tuple(shard.first_row for shard in built))
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


def content_of(row: Row) -> bytes:
    """The bytes of a row."""
    return bytes(row.content)


def _stored(shard: int, block: Block) -> bytes:
    """A block as bytes: whole numbers in the narrowest type, everything else bit by bit."""
    small = compact(block)
    x = small.x
    rows = (x.data, x.indices, x.indptr, x.shape) if small.sparse else (x,)
    out = io.BytesIO()
    kept = (shard, rows, small.y, small.alive.astype(np.int8), small.squares, small.largest, small.clipped)
    pickle.dump(kept, out, protocol=pickle.HIGHEST_PROTOCOL)
    return out.getvalue()


def _loaded(content: bytes) -> tuple[int, Block]:
    shard, rows, y, alive, squares, largest, clipped = pickle.loads(content)
    x: NDArray[np.generic] | sp.csr_matrix
    if len(rows) == 1:
        [x] = rows
    else:
        x = sp.csr_matrix((rows[0].astype(float), rows[1], rows[2]), shape=rows[3])
        x.has_sorted_indices = x.has_canonical_format = True  # as sanitised rows are; not looked for again
    return shard, Block(x, y, alive.astype(float), squares, largest, whole=False, clipped=clipped)


def heads(contents: Iterator[bytes]) -> Iterator[Head]:
    """What stands before the blocks."""
    for place, content in enumerate(contents):
        if place == 0:
            yield pickle.loads(content)


def sums_of(
    message: Broadcast[bytes], order: Broadcast[Order], contents: Iterator[bytes]
) -> Iterator[Partial | Refused]:
    """What the rows of one part add."""
    first = next(contents, None)
    if first is not None:
        yield quietly(lambda: _summed(message.value, order.value, pickle.loads(first), contents), UNANSWERED)


def _summed(packed: bytes, order: Order, head: Head, contents: Iterator[bytes]) -> Partial:
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
    sums = (part(read.question, shard, read.loss, read.draw) for shard in shards)
    return Partial.of_part(head.report.number, head.report.seal, sums)


def pair(one: Partial | Refused, other: Partial | Refused) -> Partial | Refused:
    """The sum of two sums."""
    return combine([one, other])
