"""Which engine rows stand on: told by the type of what a user brings, without importing any engine."""

from __future__ import annotations

from .spread import ClusterRows


def open_rows(X: object, y: object = None) -> tuple[object, object]:
    """Rows on a cluster, and the targets that are not with them; what stands on no cluster is given back as it is.

    Parameters
    ----------
    X : Dask array or frame, Spark frame, or anything else
    y : Dask array or series, name of a column, array-like or None
    """
    engine = type(X).__module__.split(".")[0]
    if engine in ("dask", "dask_expr") and hasattr(X, "to_delayed"):
        from . import dask

        with_rows = isinstance(y, str) or hasattr(y, "to_delayed")
        return dask.open_collection(X, y if with_rows else None), None if with_rows else y
    return X, y


__all__ = ["ClusterRows", "open_rows"]
