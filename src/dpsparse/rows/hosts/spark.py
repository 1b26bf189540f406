"""Rows on the executors of a Spark cluster. The engine schedules, retries and moves messages; what is computed is ours.

Guarantee
---------
Built parts are a cached RDD of clipped rows in whole numbers, one partition for each part, with the
lineage of the frame or the files behind it: where an executor is lost, the engine builds its parts
again, and their seals say whether they are the same. The driver collects targets when rows are
opened, and sums after that, never a block of rows. Every query is one broadcast and one
`treeReduce`; a task that was run twice is counted once, by its number.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ...core.errors import DataError
from ..records import suppress_messages
from .cluster_rows import ClusterRows, Gather, gather_arrays
from .disk import Tell
from .partial import CHANGED, PartialSum
from .spark_tasks import built, by_part, content_of, deal, gathered, heads, pair, run_on_partition, sums_of
from .worker import (
    NOT_INSTALLED,
    UNANSWERED,
    UNREAD,
    BuildReport,
    BuildSpec,
    LoadedPart,
    PartSpec,
    RawPart,
    WorkerRefusal,
    combine,
)

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark import RDD, SparkContext
    from pyspark.sql import DataFrame, SparkSession

Result = TypeVar("Result")

#: Partial sums that are added up by the driver alone.
FAN_IN = 8
#: Rows of what partitions give back: bytes of ours, in their order.
SCHEMA = "number int, place int, content binary"

CONNECT = (
    "Spark Connect gives no access to where partitions are, so rows behind it cannot be held. Run "
    "the fit in the driver of an ordinary session "
    "(spark-submit, or SparkSession.builder.master(...)), or fit on files."
)
NO_SESSION = "rows of Spark need a running session: make a SparkSession first."


def require_spark() -> None:
    """Refuse where the engine is not installed."""
    try:
        import pyspark  # noqa: F401
    except ImportError:
        raise DataError("rows on Spark need the extra 'spark': pip install 'dpsparse[spark]'.") from None


@contextmanager
def cluster_of(address: str) -> Iterator[SparkSession]:
    """A session of the master at ``spark://host:7077``; of ``spark:local[4]``, on loopback only.

    Or, for ``spark``, that of spark-submit.
    """
    require_spark()
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("dpsparse")
    if address.startswith("spark:local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # with the packages of this process
        builder = builder.master(address.removeprefix("spark:"))
        for name, value in LOOPBACK.items():
            builder = builder.config(name, value)
    elif address != "spark":
        builder = builder.master(address).config("spark.ui.showConsoleProgress", "false")
    running = SparkSession.getActiveSession()
    try:
        session = builder.getOrCreate()
    except Exception:  # a page of Java
        raise DataError(f"there is no Spark master at {address}, or no Java on this machine.") from None
    if running is None:
        session.sparkContext.setLogLevel("OFF")  # its warnings quote cells, and go to the terminal of the driver
    try:
        yield session
    finally:
        if running is None:
            session.stop()


#: A driver that listens on this machine only, and shows no pages.
LOOPBACK = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


class _Log:
    """The log of Spark, which goes to the terminal of the driver: off while jobs of ours run.

    What it says of a task that failed may quote a cell. After a failure it stays off, since tasks
    that were cancelled say so later.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running, self._before = 0, None

    @contextmanager
    def off(self, context: SparkContext) -> Iterator[None]:
        """Switch it off, and to its level of before when the last job of ours has ended well."""
        log4j = context._jvm.org.apache.logging.log4j  # setLogLevel would lose the threshold that a session begins with
        ended = False
        with self._lock:
            if not self._running:
                self._before = log4j.LogManager.getRootLogger().getLevel()
                log4j.core.config.Configurator.setRootLevel(log4j.Level.OFF)
            self._running += 1
        try:
            yield
            ended = True
        finally:
            with self._lock:
                self._running -= 1
                self._before = self._before if ended else log4j.Level.OFF
                if not self._running:
                    log4j.core.config.Configurator.setRootLevel(self._before)


LOG = _Log()


class SparkEngine:
    """Parts as partitions of a Spark frame.

    Parameters
    ----------
    frame : DataFrame
    reader : callable
        Makes a `RawPart` of the batches of a partition; sent to executors.
    """

    def __init__(self, frame: DataFrame, reader: Callable[[Iterable[RecordBatch]], RawPart]) -> None:
        self._frame = frame
        self._reader = reader
        self._numbers: dict[int, int] = {}

    @property
    def workers(self) -> int:
        """Tasks that run at a time."""
        return max(1, int(self._frame.sparkSession.sparkContext.defaultParallelism))

    def each(self, function: Callable[[RawPart], Result | WorkerRefusal]) -> Sequence[Result | WorkerRefusal]:
        """What a function returns for every partition that holds rows."""
        try:
            with LOG.off(self._frame.sparkSession.sparkContext):
                found = self._frame.mapInArrow(partial(run_on_partition, self._reader, function), SCHEMA).collect()
        except Exception as error:  # the engine's own errors may quote a value
            absent = "ModuleNotFoundError: No module named 'dpsparse" in str(error)
            return [WorkerRefusal(NOT_INSTALLED.format(worker="an executor") if absent else UNREAD)]
        found.sort(key=lambda row: row.number)
        if not self._numbers:
            self._numbers = {row.number: place for place, row in enumerate(found)}
        if [row.number for row in found] != list(self._numbers):
            return [WorkerRefusal(CHANGED)]
        return [pickle.loads(row.content) for row in found]

    def hold(self, order: BuildSpec, own: Sequence[PartSpec], tell: Tell | None) -> SparkHolding:
        """Start to cache every part on the executors: they build it from the spec of all parts and from its own.

        `own` is in the order of the parts; the engine knows them by the numbers of their partitions.
        """
        from pyspark import StorageLevel

        context = self._frame.sparkSession.sparkContext
        shared = context.broadcast(order)
        by_partition = context.broadcast({partition: own[part] for partition, part in self._numbers.items()})
        rows = self._frame.mapInArrow(partial(built, self._reader, shared, by_partition), SCHEMA)
        stored = rows.rdd.map(content_of).persist(StorageLevel.MEMORY_AND_DISK)
        holding = SparkHolding(stored, shared, by_partition)
        if tell is not None:
            tell(1.0)
        return holding


class SparkHolding:
    """Built parts on the executors of a Spark cluster: **private** there, and a name for them here."""

    def __init__(self, stored: RDD[bytes], order: Any, own: Any) -> None:
        self._stored = stored
        self._order, self._own = order, own
        try:
            self.reports = self._build_reports()
        except BaseException:
            self.close()
            raise

    @property
    def workers(self) -> int:
        """Tasks that run at a time."""
        return max(1, int(self._stored.context.defaultParallelism))

    def _build_reports(self) -> list[BuildReport]:
        try:
            with LOG.off(self._stored.context):
                found = self._stored.mapPartitions(heads).collect()
        except Exception:
            raise DataError(UNREAD) from None
        return sorted((head.report for head in found), key=lambda report: report.number)

    def ask(self, packed: bytes) -> PartialSum | WorkerRefusal:
        """The sum of all parts."""
        message = self._stored.context.broadcast(packed)
        try:
            sums = self._stored.mapPartitions(partial(sums_of, message, self._order))
            with LOG.off(self._stored.context):
                # few sums come here at once, and many are added up on executors first
                return combine(sums.collect()) if self._stored.getNumPartitions() <= FAN_IN else sums.treeReduce(pair)
        except Exception:  # the engine gave up; what it says may quote anything
            raise DataError(UNANSWERED) from None
        finally:
            message.destroy()

    def close(self) -> None:
        """Let executors forget the parts."""
        self._stored.unpersist()
        self._order.unpersist()
        self._own.unpersist()


# ------------------------------------------------------------------------------------------------ reading rows


def is_collection(X: object) -> bool:
    """Whether something is a frame of Spark; one of Spark Connect is refused."""
    _refuse_connect(X)
    return hasattr(X, "mapInArrow")


def _refuse_connect(thing: object) -> None:
    """Refuse frames and sessions of Spark Connect, by the package of their class."""
    if type(thing).__module__.startswith("pyspark.sql.connect"):
        raise DataError(CONNECT)


def count_workers(session: SparkSession | None) -> int:
    """Tasks that run at a time."""
    return max(1, int(_session(session).sparkContext.defaultParallelism))


def _session(session: SparkSession | None) -> SparkSession:
    """The session that was given, or the one that is running; one of Spark Connect is refused."""
    if session is not None:
        _refuse_connect(session)
        return session
    require_spark()
    from pyspark.sql import SparkSession

    found = SparkSession.getActiveSession()
    if found is None:
        raise DataError(NO_SESSION)
    _refuse_connect(found)
    return found


def open_collection(
    X: DataFrame,
    y: str | None = None,
    session: SparkSession | None = None,
    wrap: Callable[[RawPart], RawPart] | None = None,
    units: str | None = None,
) -> ClusterRows:
    """A Spark frame as rows on its cluster; every partition is a part.

    The frame is cached, so that its partitions stay as they are, and removed from the cache after
    the fit; one that was cached before stays. Where ids of units are given, rows are dealt anew into
    as many parts that hold whole units, and these are cached.

    Parameters
    ----------
    X : DataFrame
    y : str or None
        The column of the target; None where it comes apart.
    session : SparkSession, optional
        That of the frame is taken.
    wrap : callable, optional
        What becomes of each part where it is read.
    units : str, optional
        The column with the id of each row's unit, which is no feature.
    """
    for name, what in ((y, "target"), (units, "units")):
        if name is not None and not isinstance(name, str):
            raise DataError(f"the {what} of a Spark frame is one of its columns: give its name.")
    cached = [] if X.is_cached else [X.persist()]
    if units is None:
        engine = SparkEngine(X, partial(_table, y, wrap))
    else:
        parts = X.rdd.getNumPartitions()
        cached.append(_shuffled(X, partial(_with_ids, y, units, wrap), parts))
        engine = SparkEngine(cached[-1], partial(gathered, parts))
    for frame in cached:  # who caches raw rows removes them: when the fit ends or fails, and nobody holds the engine
        weakref.finalize(engine, _forget, frame)
    return ClusterRows.open(engine, gather_arrays)


def _forget(frame: DataFrame) -> None:
    """Remove a frame from the cache; a context that has stopped has none. In any thread: active sessions are of one."""
    if frame.sparkSession.sparkContext._jsc is not None:
        frame.unpersist()


def _table(target: str | None, wrap: Callable[[RawPart], RawPart] | None, batches: Iterable[RecordBatch]) -> RawPart:
    """The rows of a partition, and the column of their target."""
    import pyarrow as pa

    with suppress_messages():
        table = pa.Table.from_batches(list(batches))
        targets = None if target is None else table[target].to_numpy()
        chunk = LoadedPart(table if target is None else table.drop_columns([target]), targets)
    return chunk if wrap is None else wrap(chunk)


def _with_ids(
    target: str | None, units: str, wrap: Callable[[RawPart], RawPart] | None, batches: Iterable[RecordBatch]
) -> tuple[RawPart, object]:
    """The rows of a partition, and the column of their ids."""
    read = list(batches)
    ids = [cell for batch in read for cell in batch[units].to_pylist()]
    return _table(target, wrap, (batch.drop_columns([units]) for batch in read)), ids


def _shuffled(
    frame: DataFrame, reader: Callable[[Iterable[RecordBatch]], tuple[RawPart, object]], parts: int
) -> DataFrame:
    """Pieces of rows, each in the partition of the number of its part: the engine computes no hash of its own."""
    pieces = frame.mapInArrow(partial(deal, reader, parts), SCHEMA).rdd.map(by_part)
    moved = pieces.partitionBy(parts, int).values()
    return frame.sparkSession.createDataFrame(moved, SCHEMA).persist()


def open_parts(parts: Sequence[RawPart], gather: Gather, session: SparkSession | None = None) -> ClusterRows:
    """Parts that executors read themselves, such as files, as rows on a cluster."""
    from cloudpickle import dumps

    found = _session(session)
    sent = found.sparkContext.broadcast(dumps(list(parts)))  # readers of a user's own session are sent with their code
    numbers = found.range(0, len(parts), 1, len(parts))
    return ClusterRows.open(SparkEngine(numbers, partial(_listed, sent)), gather)


def _listed(parts: Any, batches: Iterable[RecordBatch]) -> RawPart:
    [number] = [value for batch in batches for value in batch.column(0).to_pylist()]
    found: RawPart = pickle.loads(parts.value)[number]
    return found
