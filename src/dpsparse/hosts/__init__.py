"""Where rows live. One verb: add up a part of an answer over all shards."""

from .base import Host, Total
from .disk import DiskHost
from .memory import MemoryHost

__all__ = ["DiskHost", "Host", "MemoryHost", "Total"]
