"""Where the rows of a step or a score live: in memory, or where they are."""

from __future__ import annotations

from ...core.facts import Facts, Vector
from ..records import Records
from .cluster import ClusterHost
from .memory import MemoryHost


def host_of(source: Records, y: Vector, facts: Facts) -> MemoryHost | ClusterHost:
    """Rows on a cluster stay there; all others come into memory."""
    return MemoryHost(source, y, facts) if source.spread is None else ClusterHost(source, y, facts)
