"""Where rows live. One verb: add up a part of an answer over all shards."""

from .base import Host, Total
from .cluster import ClusterHost
from .cluster_rows import ClusterRows
from .disk import DiskHost
from .memory import MemoryHost

__all__ = ["ClusterHost", "ClusterRows", "DiskHost", "Host", "MemoryHost", "Total"]
