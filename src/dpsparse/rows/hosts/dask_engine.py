"""Rows on the workers of a Dask cluster. The engine schedules, retries and moves messages; what is computed is ours.

Guarantee
---------
A built part is a future that its client owns, made by a pure task from the part's source: where a
worker is lost, the engine makes it again elsewhere, and its seal says whether it is the same. It is
never moved (`WorkerShard` refuses it): queries go to the worker that holds it. A query is
asked again of all parts where a worker was lost on the way; nothing was released before, and parts
are counted by number. When the driver goes, its futures go, and workers forget the rows.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from ...core.errors import DataError, RetryLaterError
from ...core.release import Origin
from .disk import Tell
from .partial import PartialSum, refuse_other_release
from .worker import (
    NOT_INSTALLED,
    UNREAD,
    BuildReport,
    BuildSpec,
    PartSpec,
    RawPart,
    WorkerRefusal,
    WorkerShard,
    answer,
    combine,
)

if TYPE_CHECKING:
    from distributed import Client, Future

Result = TypeVar("Result")

#: Messages of more bytes are sent to one worker, from which the others take them; shorter ones with
#: each task, by the scheduler.
SENT_ONCE = 2**22
#: Partial sums that are added up by one task.
FAN_IN = 8
#: Seconds between looks at whether all workers are still there, while an answer is waited for.
LOOK = 0.5
#: Seconds for which lost parts are waited for to be built again.
PATIENCE = 600.0
#: How often a query is asked again, because workers were lost on the way.
ATTEMPTS = 20

GONE = (
    "the scheduler of the cluster does not answer any more. Start it again, then run the same again: with a "
    "run_id and a folder for resume it goes on where it stopped."
)
LOST = "workers of the cluster were lost again and again, and parts of the rows with them. Look at the scheduler's log."


class DaskEngine:
    """Parts as tasks of a Dask cluster.

    Parameters
    ----------
    parts : sequence of Delayed
        Each gives a `RawPart` where it is computed.
    client : Client

    Raises
    ------
    DataError
        If a worker that is there runs another release, or cannot import the package. Tasks of such
        a worker would end it.
    """

    def __init__(self, parts: Sequence[Any], client: Client) -> None:
        with lost_scheduler():
            origins = client.run(Origin.here, on_error="return")
        for worker, found in origins.items():
            if not isinstance(found, Origin):
                raise DataError(NOT_INSTALLED.format(worker=f"the worker at {worker}"))
            refuse_other_release(found)
        self._parts = parts
        self._client = client

    @property
    def workers(self) -> int:
        """Workers that are there now."""
        return max(1, len(workers_of(self._client)))

    def each(self, function: Callable[[RawPart], Result | WorkerRefusal]) -> Sequence[Result | WorkerRefusal]:
        """What a function returns for every part."""
        from dask import delayed
        from distributed import wait

        run = delayed(function, pure=False)
        with lost_scheduler():
            futures = self._client.compute([run(part) for part in self._parts], retries=2)
            wait(futures)
            # the engine's own errors may quote a value
            return [future.result() if future.status == "finished" else WorkerRefusal(UNREAD) for future in futures]

    def hold(self, order: BuildSpec, own: Sequence[PartSpec], tell: Tell | None) -> DaskHolding:
        """Build every part where the engine puts it."""
        from dask import delayed

        shared, make = delayed(order, pure=False, traverse=False), delayed(WorkerShard, pure=False)
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
            with lost_scheduler():
                self._settle(tell)
                self.reports = self._build_reports()
        except BaseException:
            self.close()
            raise

    @property
    def workers(self) -> int:
        """Workers that hold parts."""
        return len({worker for worker, _ in self._lanes})

    def ask(self, packed: bytes) -> PartialSum | WorkerRefusal:
        """The sum of all parts."""
        with lost_scheduler():
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
            workers = workers_of(self._client)
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
            if part.status != "finished" and self._client.status != "running":
                raise RetryLaterError(GONE)
            if part.status != "finished":  # a task of others failed, or rows without a source were lost
                raise DataError(UNREAD)
            if tell is not None:
                tell(done / len(self._parts))

    def _build_reports(self) -> list[BuildReport]:
        """Reports of all parts, in the order of their numbers."""
        for _ in range(ATTEMPTS):
            found = self._result(self._on_lanes(_reports))
            if found is not None:
                return sorted((report for lane in found for report in lane), key=lambda report: report.number)
            self._settle()
        raise DataError(LOST)

    # ---------------------------------------------------------------------------------------------- queries

    def _on_lanes(self, function: Callable[..., object], *message: object) -> list[Future]:
        """A task for every lane, on the worker that holds it; all of them in one message to the scheduler."""
        from dask import annotate

        count = len(self._lanes)
        keys = [f"{function.__name__.strip('_')}-{uuid4()}" for _ in self._lanes]
        where = {key: [worker] for key, (worker, _) in zip(keys, self._lanes, strict=True)}
        with annotate(workers=where.__getitem__):
            sent = [[one] * count for one in message]
            return list(self._client.map(function, [lane for _, lane in self._lanes], *sent, key=keys, pure=False))

    def _asked(self, packed: bytes) -> PartialSum | WorkerRefusal | None:
        """Ask every part once; None where a worker was lost on the way."""
        message: object = np.frombuffer(
            packed, dtype=np.uint8
        )  # arrays travel beside pickles, and are not copied into them
        if len(packed) > SENT_ONCE:
            [message] = self._client.scatter([message], hash=False)
        sums = self._on_lanes(_answer, message)
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
            workers = {worker for worker, _ in self._lanes}
            return self._client.sync(_gathered, self._client, roots, workers)  # type: ignore[no-any-return]
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
        await asyncio.gather(waiting, return_exceptions=True)  # else its error is printed when it is collected


def _answer(lane: Sequence[WorkerShard], message: NDArray[np.uint8]) -> PartialSum | WorkerRefusal:
    return answer(message.data, lane)


def _reports(lane: Sequence[WorkerShard]) -> list[BuildReport]:
    return [held.report() for held in lane]


@contextmanager
def lost_scheduler() -> Iterator[None]:
    """Say in our words that the scheduler is gone; what the engine says may quote anything."""
    from distributed.comm import CommClosedError

    try:
        yield
    except (CommClosedError, OSError, TimeoutError):
        raise RetryLaterError(GONE) from None


def workers_of(client: Client) -> dict[str, int]:
    """Addresses of workers, and how many threads they have."""
    return dict(client.nthreads())
