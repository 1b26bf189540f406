"""Rows of Dask: arrays, frames, and files that workers read; and clusters by their address."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from ...core.errors import DataError, RetryLaterError
from .cluster_rows import ClusterRows, Gather, gather_arrays
from .cluster_units import ShuffledPart, dealt
from .dask_engine import DaskEngine, workers_of
from .worker import LoadedPart, RawPart

if TYPE_CHECKING:
    from distributed import Client


NO_CLIENT = (
    "rows of Dask need a running cluster: make a dask.distributed.Client first, such as "
    "Client(processes=False), or one with the address of "
    "a scheduler."
)


#: Settings of workers on this machine. They keep the memory of vectors that they make for every
#: query, which Dask's own setting gives back and takes again each time; and nobody looks at
#: profiles, for which Dask stops a worker's threads a hundred times a second.
LOCAL = {
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 2**28,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 2**25,
    "distributed.worker.profile.enabled": False,
}


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
    """A client of the scheduler at an address, or of workers on this machine.

    The address is one such as ``tcp://10.0.0.5:8786``, or ``local:4`` for four workers on this
    machine, on loopback only. Meanwhile Dask's log is off.

    Raises
    ------
    RetryLaterError
        If no scheduler answers at the address.
    """
    require_dask()
    with _log_off(), _client_of(address) as client:
        yield client


@contextmanager
def _log_off() -> Iterator[None]:
    """Keep tracebacks of Dask, and of its tasks, from the terminal: our errors say what happened.

    After a failure the log stays off, since tasks that were cancelled say so later.
    """
    import distributed  # noqa: F401  (it makes the handlers of its log)

    silenced = [logging.getLogger("asyncio"), *logging.getLogger("distributed").handlers]
    for one in silenced:
        one.addFilter(_nothing)
    yield
    for one in silenced:
        one.removeFilter(_nothing)


def _nothing(_: logging.LogRecord) -> bool:
    return False


@contextmanager
def _client_of(address: str) -> Iterator[Client]:
    from dask import config
    from distributed import Client, LocalCluster

    if not address.startswith("local"):
        try:
            client = Client(address, timeout="30s")
        except ValueError:
            raise DataError(f"a Dask scheduler is named like tcp://10.0.0.5:8786, got {address!r}.") from None
        except OSError:
            raise RetryLaterError(
                f"no Dask scheduler answers at {address}. Start it, or correct the address, then run the same again."
            ) from None
        with client:
            yield client
        return
    count = address.removeprefix("local").removeprefix(":")
    if count and not count.isdecimal():
        raise DataError(f"a cluster on this machine is named local:4, got {address!r}.")
    with config.set(LOCAL):
        cluster = LocalCluster(
            n_workers=int(count) if count else None,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=None,
        )
    with cluster, Client(cluster, direct_to_workers=True) as client:
        yield client


# ------------------------------------------------------------------------------------------------ reading rows


def is_collection(X: object) -> bool:
    """Whether something is an array or a frame of Dask."""
    return hasattr(X, "to_delayed")


def count_workers(client: Client | None) -> int:
    """Workers that are there now."""
    return max(1, len(workers_of(current_client() if client is None else client)))


def open_collection(
    X: Any,
    y: Any = None,
    client: Client | None = None,
    wrap: Callable[[RawPart], RawPart] | None = None,
    units: Any = None,
) -> ClusterRows:
    """A Dask array or frame as rows on its cluster; every chunk of rows, or partition, is a part.

    Where ids of units are given, rows are dealt anew into parts that hold whole units.

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
    units : dask array or series with the same chunks, or str, optional
        The id of each row's unit, or the name of its column, which is no feature.
    """
    from dask import delayed

    client = current_client() if client is None else client
    if isinstance(y, str):
        X, y = X.drop(columns=[y]), X[y]
    if isinstance(units, str):
        X, units = X.drop(columns=[units]), X[units]
    if len(X.shape) != 2:
        raise DataError("X must be a 2D array with two dimensions: one row for each record. Reshape your data.")
    if hasattr(X, "rechunk"):
        X = X.rechunk({1: -1})
    rows = _parts_of(X)
    targets = [None] * len(rows) if y is None else _targets(X, y, len(rows))
    pair = delayed(partial(_chunk, wrap), pure=False)
    parts = [pair(x, target) for x, target in zip(rows, targets, strict=True)]
    if units is not None:
        parts = _shuffled(parts, _targets(X, units, len(rows)))
    return ClusterRows.open(DaskEngine(parts, client), gather_arrays)


def _shuffled(parts: Sequence[Any], ids: Sequence[Any]) -> list[Any]:
    """As many parts of whole units, from parts of rows and the ids of each."""
    from dask import delayed

    count = len(parts)
    deal, make = delayed(dealt, pure=False, nout=count), delayed(ShuffledPart, pure=False)
    pieces = [deal(part, own, count) for part, own in zip(parts, ids, strict=True)]
    return [make(number, count, [one[number] for one in pieces]) for number in range(count)]


def _chunk(wrap: Callable[[RawPart], RawPart] | None, rows: object, targets: object) -> RawPart:
    chunk = LoadedPart(rows, targets)
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
