"""Which engine rows stand on: told by the type of what a user brings, without importing any engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import ModuleType

from ...core.errors import DataError
from .cluster_rows import ClusterRows, Gather
from .worker import RawPart

#: What becomes of a part where it is read.
Wrap = Callable[[RawPart], RawPart]

UNITS_BESIDE = (
    "rows of units on a cluster need targets and ids beside them: columns of the same frame, by name, or of Dask also "
    "arrays with the same chunks."
)

#: Packages of engines, and the file of this package that knows each.
ENGINES = {"dask": "dask", "dask_expr": "dask", "distributed": "dask", "pyspark": "spark"}


def engine_of(thing: object) -> ModuleType | None:
    """The file of this package for something that an engine made; None where none did."""
    name = ENGINES.get(type(thing).__module__.split(".")[0])
    if name is None:
        return None
    from . import dask, spark

    return {"dask": dask, "spark": spark}[name]


def cluster_of(address: str) -> AbstractContextManager[object]:
    """A client or session at an address: ``tcp://...``, ``tls://...`` or ``local:4`` of Dask.

    ``spark://...``, ``spark:local[4]`` or ``spark`` of Spark.
    """
    if address.startswith("spark"):
        from . import spark

        return spark.cluster_of(address)
    from . import dask

    return dask.cluster_of(address)


def is_spread(X: object) -> bool:
    """Whether something is an array or a frame of an engine."""
    engine = engine_of(X)
    return engine is not None and bool(engine.is_collection(X))


def open_cluster_rows(
    X: object, y: object = None, cluster: object = None, wrap: Wrap | None = None, units: object = None
) -> tuple[object, object]:
    """Rows on a cluster, and the targets that are not with them; what stands on no cluster is given back as it is.

    Parameters
    ----------
    X : Dask array or frame, Spark frame, or anything else
    y : Dask array or series, name of a column, array-like or None
    cluster : client or session, optional
        Default: the one that is running.
    wrap : callable, optional
        What becomes of each part where it is read.
    units : Dask array or series, or name of a column, optional
        The id of each row's unit, beside rows and targets: parts are then made of whole units.
    """
    engine = engine_of(X)
    if engine is None or not is_spread(X):
        return X, y
    for name in (y, units):
        if isinstance(name, str) and name not in getattr(X, "columns", ()):
            raise DataError(f"the frame has no column {name!r}. Name the columns of the target and of the ids.")
    with_rows = isinstance(y, str) or engine_of(y) is not None
    if units is not None:
        if (y is not None and not with_rows) or not (isinstance(units, str) or engine_of(units) is engine):
            raise DataError(UNITS_BESIDE)
        return engine.open_collection(X, y, cluster, wrap, units), None
    return engine.open_collection(X, y if with_rows else None, cluster, wrap), None if with_rows else y


def open_parts(parts: Sequence[RawPart], gather: Gather, cluster: object = None) -> ClusterRows:
    """Parts that workers read themselves, such as files. Without a cluster: the running client of Dask."""
    found: ClusterRows = _engine(cluster).open_parts(parts, gather, cluster)
    return found


def count_workers(cluster: object = None) -> int:
    """Machines of a cluster."""
    found: int = _engine(cluster).count_workers(cluster)
    return found


def _engine(cluster: object) -> ModuleType:
    from . import dask

    engine = dask if cluster is None else engine_of(cluster)
    if engine is None:
        raise DataError("cluster must be a dask.distributed.Client or a SparkSession.")
    return engine
