"""Rows on the workers of a Dask cluster. The engine schedules, retries and moves messages; what is computed is ours.

Guarantee
---------
A built part is a future that its client owns, made by a pure task from the part's source: where a worker is lost, the engine makes it again
elsewhere, and its seal says whether it is the same. It is never moved (`Held` refuses it): questions go to the worker that holds it. A question is
asked again of all parts where a worker was lost on the way; nothing was released before, and parts are counted by number. When the driver
goes, its futures go, and workers forget the rows.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ..privacy.errors import DataError
from .disk import Tell
from .held import UNREAD, Chunk, Held, Order, PartOrder, RawPart, Refused, Report, answer, combine
from .partial import Partial
from .spread import ClusterRows, Gather, gather_arrays

if TYPE_CHECKING:
    from distributed import Client, Future

Result = TypeVar("Result")

#: Messages of more bytes are sent to one worker, from which the others take them; shorter ones with each task, by the scheduler.
SENT_ONCE = 2**22
#: Partial sums that are added up by one task.
FAN_IN = 8
#: Seconds between looks at whether all workers are still there, while an answer is waited for.
LOOK = 0.5
#: Seconds for which lost parts are waited for to be built again.
PATIENCE = 600.0
#: How often a question is asked again, because workers were lost on the way.
ATTEMPTS = 20

NO_CLIENT = (
    "rows of Dask need a running cluster: make a dask.distributed.Client first, such as Client(processes=False), or one with the address of "
    "a scheduler."
)
LOST = "workers of the cluster were lost again and again, and parts of the rows with them. Look at the scheduler's log."


def require_dask() -> None:
    """Refuse where the engine is not installed."""
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise DataError("rows on Dask need the extra 'dask': pip install 'dpsparse[dask]'.") from None


def current_client() -> Client:
    """The client that is running in this session."""
    require_dask()
    from distributed import get_client

    try:
        return get_client()
    except ValueError:
        raise DataError(NO_CLIENT) from None


@contextmanager
def cluster_of(address: str) -> Iterator[Client]:
    """A client of the scheduler at an address such as ``tcp://10.0.0.5:8786``, or of ``local:4`` workers on this machine, on loopback only."""
    require_dask()
    from distributed import Client, LocalCluster

    if not address.startswith("local"):
        try:
            client = Client(address, timeout="30s")
        except (OSError, ValueError):
            raise DataError(f"there is no Dask scheduler at {address}.") from None
        with client:
            yield client
        return
    count = address.removeprefix("local").removeprefix(":")
    if count and not count.isdecimal():
        raise DataError(f"a cluster on this machine is named local:4, got {address!r}.")
    cluster = LocalCluster(
        n_workers=int(count) if count else None,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address=None,
    )
    with cluster, Client(cluster, direct_to_workers=True) as client:
        yield client


class DaskEngine:
    """Parts as tasks of a Dask cluster.

    Parameters
    ----------
    parts : sequence of Delayed
        Each gives a `RawPart` where it is computed.
    client : Client
    """

    def __init__(self, parts: Sequence[Any], client: Client) -> None:
        self._parts = parts
        self._client = client

    @property
    def workers(self) -> int:
        """Workers that are there now."""
        return max(1, len(_workers(self._client)))

    def each(self, function: Callable[[RawPart], Result | Refused]) -> Sequence[Result | Refused]:
        """What a function returns for every part."""
        from dask import delayed
        from distributed import wait

        run = delayed(function, pure=False)
        futures = self._client.compute([run(part) for part in self._parts], retries=2)
        wait(futures)
        # the engine's own errors may quote a value
        return [future.result() if future.status == "finished" else Refused(UNREAD) for future in futures]

    def hold(self, order: Order, own: Sequence[PartOrder], tell: Tell | None) -> DaskHolding:
        """Build every part where the engine puts it."""
        from dask import delayed

        shared, make = delayed(order, pure=False, traverse=False), delayed(Held, pure=False)
        tasks = [make(part, shared, one) for part, one in zip(self._parts, own, strict=True)]
        futures = self._client.compute(tasks, retries=2)
        return DaskHolding(self._client, futures, tell)


class DaskHolding:
    """Built parts on the workers of a Dask cluster: **private** there, and names of them here."""

    def __init__(self, client: Client, parts: Sequence[Future], tell: Tell | None) -> None:
        self._client = client
        self._parts = list(parts)
        self._lanes: list[tuple[str, list[Future]]] = []
        try:
            self._settle(tell)
            self.reports = self._told()
        except BaseException:
            self.close()
            raise

    @property
    def workers(self) -> int:
        """Workers that hold parts."""
        return len({worker for worker, _ in self._lanes})

    def ask(self, packed: bytes) -> Partial | Refused:
        """The sum of all parts."""
        for _ in range(ATTEMPTS):
            if not self._lanes:
                self._settle()
            found = self._asked(packed)
            if found is not None:
                return found
            self._lanes = []  # parts are elsewhere by now
        raise DataError(LOST)

    def close(self) -> None:
        """Let workers forget the parts."""
        for part in self._parts:
            part.release()
        self._parts, self._lanes = [], []

    # ---------------------------------------------------------------------------------------------- where parts are

    def _settle(self, tell: Tell | None = None) -> None:
        """Wait until every part is built, and note where: some parts for each thread of each worker."""
        if not self._parts:
            raise ValueError("this host is closed.")
        stop = time.monotonic() + PATIENCE
        while True:
            self._wait(tell)
            held = self._client.who_has(self._parts)
            workers = _workers(self._client)
            lanes: dict[tuple[str, int], list[Future]] = {}
            for part in self._parts:
                here = [worker for worker in held.get(part.key, ()) if worker in workers]
                if not here:
                    break
                on_worker = sum(len(lane) for (worker, _), lane in lanes.items() if worker == here[0])
                lanes.setdefault((here[0], on_worker % workers[here[0]]), []).append(part)
            else:
                self._lanes = [(worker, lane) for (worker, _), lane in lanes.items()]
                return
            if time.monotonic() > stop:
                raise DataError(LOST)
            time.sleep(LOOK)

    def _wait(self, tell: Tell | None) -> None:
        from distributed import as_completed

        for done, part in enumerate(as_completed(self._parts), 1):
            if part.status != "finished":  # a task of others failed, or rows without a source were lost
                raise DataError(UNREAD)
            if tell is not None:
                tell(done / len(self._parts))

    def _told(self) -> list[Report]:
        """Reports of all parts, in the order of their numbers."""
        for _ in range(ATTEMPTS):
            tasks = [
                self._client.submit(_reports, lane, workers=[worker], allow_other_workers=False, pure=False)
                for worker, lane in self._lanes
            ]
            found = self._result(tasks)
            if found is not None:
                return sorted((report for lane in found for report in lane), key=lambda report: report.number)
            self._settle()
        raise DataError(LOST)

    # ---------------------------------------------------------------------------------------------- questions

    def _asked(self, packed: bytes) -> Partial | Refused | None:
        """Ask every part once; None where a worker was lost on the way."""
        message: object = packed
        if len(packed) > SENT_ONCE:
            [message] = self._client.scatter([packed], hash=False)
        sums = [
            self._client.submit(answer, message, lane, workers=[worker], allow_other_workers=False, pure=False)
            for worker, lane in self._lanes
        ]
        tasks = list(sums)
        while len(sums) > FAN_IN:
            sums = [
                self._client.submit(combine, sums[start : start + FAN_IN], pure=False)
                for start in range(0, len(sums), FAN_IN)
            ]
            tasks += sums
        found = self._result(sums, tasks)
        return None if found is None else combine(found)

    def _result(self, roots: Sequence[Future], tasks: Sequence[Future] = ()) -> list[Any] | None:
        """What tasks return; None where one cannot be run any more, since its worker is gone."""
        from distributed import CancelledError
        from distributed.scheduler import KilledWorker

        try:
            return self._client.sync(_gathered, self._client, roots, {worker for worker, _ in self._lanes})  # type: ignore[no-any-return]
        except (CancelledError, KilledWorker):
            return None
        finally:
            for task in tasks:
                task.release()


async def _gathered(client: Client, roots: Sequence[Future], needed: set[str]) -> list[Any] | None:
    """Results of tasks, in one round trip; None once a worker that they need is gone. Runs in the client's loop."""
    waiting = asyncio.ensure_future(client.gather(list(roots), asynchronous=True))
    try:
        while True:
            done, _ = await asyncio.wait({waiting}, timeout=LOOK)
            if done:
                return list(waiting.result())
            if not needed <= (await client.nthreads()).keys():
                return None
    finally:
        waiting.cancel()


def _reports(lane: Sequence[Held]) -> list[Report]:
    return [held.report() for held in lane]


def _workers(client: Client) -> dict[str, int]:
    """Addresses of workers, and how many threads they have."""
    return dict(client.nthreads())


# ------------------------------------------------------------------------------------------------ the door


def is_collection(X: object) -> bool:
    """Whether something is an array or a frame of Dask."""
    return hasattr(X, "to_delayed")


def count_workers(client: Client | None) -> int:
    """Workers that are there now."""
    return max(1, len(_workers(current_client() if client is None else client)))


def open_collection(
    X: Any, y: Any = None, client: Client | None = None, wrap: Callable[[RawPart], RawPart] | None = None
) -> ClusterRows:
    """A Dask array or frame as rows on its cluster; every chunk of rows, or partition, is a part.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame
        Arrays are taken in chunks of whole rows.
    y : dask array or series with the same chunks, or str
        The target, or the name of its column; None where it comes apart.
    client : Client, optional
        Default: the one that is running.
    wrap : callable, optional
        What becomes of each part where it is read.
    """
    from dask import delayed

    client = current_client() if client is None else client
    if isinstance(y, str):
        X, y = X.drop(columns=[y]), X[y]
    if len(X.shape) != 2:
        raise DataError("X must be a 2D array with two dimensions: one row for each record. Reshape your data.")
    if hasattr(X, "rechunk"):
        X = X.rechunk({1: -1})
    rows = _parts_of(X)
    targets = [None] * len(rows) if y is None else _targets(X, y, len(rows))
    pair = delayed(partial(_chunk, wrap), pure=False)
    engine = DaskEngine([pair(x, target) for x, target in zip(rows, targets, strict=True)], client)
    return ClusterRows.open(engine, gather_arrays)


def _chunk(wrap: Callable[[RawPart], RawPart] | None, rows: object, targets: object) -> RawPart:
    chunk = Chunk(rows, targets)
    return chunk if wrap is None else wrap(chunk)


def _parts_of(collection: Any) -> list[Any]:
    found = collection.to_delayed()
    return list(found.ravel()) if hasattr(found, "ravel") else list(found)


def _targets(X: Any, y: Any, count: int) -> list[Any]:
    """The target of every part."""
    if hasattr(y, "rechunk") and hasattr(X, "chunks"):
        y = y.rechunk((X.chunks[0],))
    found = _parts_of(y)
    if len(found) != count:
        raise DataError("X and y are cut into different parts. Give both the same chunks or partitions.")
    return found


def open_parts(parts: Sequence[RawPart], gather: Gather, client: Client | None = None) -> ClusterRows:
    """Parts that workers read themselves, such as files, as rows on a cluster."""
    from dask import delayed

    client = current_client() if client is None else client
    return ClusterRows.open(DaskEngine([delayed(part, pure=False, traverse=False) for part in parts], client), gather)
