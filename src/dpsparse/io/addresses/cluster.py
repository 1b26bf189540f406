"""The public address `dpsparse.readers.cluster`."""

from dpsparse.io.cluster import open_cluster

__all__ = ["open_cluster"]
