"""Where the rows of a fit live: in memory, on a disk within a limit, or on a cluster. Decided before anything is paid.

Guarantee
---------
The decision rests on public facts, on the limit and on how much storage rows take, and shows in no answer. What cannot work is refused
before a ledger is asked: a limit that is too small, a disk that is too full, a recipe that needs all rows in one place. That storage and
memory are large or small is told by a refusal, as the machine itself would tell it; see the limits of the promise.
"""

from __future__ import annotations

from ..core import DataError
from ..core.facts import Vector
from ..oracles import ProgressCallback, needs_all_rows
from ..rows.hosts import ClusterHost, ClusterRows, DiskHost, MemoryHost
from ..rows.hosts.cluster_rows import check_memory
from ..rows.hosts.memory_budget import MemoryBudget, memory_needed, refuse_beyond_disk, refuse_beyond_memory
from ..rows.records import Records
from .prepare import FitPlan

#: What watchers are told while rows are put aside, and how often for each model: about as long as so many turns take.
READING = "reading rows"
READING_TURNS = 20


def reads_first(prepared: FitPlan, source: Records) -> bool:
    """Whether rows are read before the first answer, which takes time of its own; refuses what can be known not to work."""
    return stays_on_cluster(prepared, source) or on_disk(prepared, source)


def stays_on_cluster(prepared: FitPlan, source: Records) -> bool:
    """Whether rows stay on a cluster; refuses what can be known not to work."""
    if not isinstance(source.spread, ClusterRows):
        return False
    if not prepared.recipe.private or needs_all_rows(prepared.plan):
        raise DataError(
            f"recipe {prepared.recipe.name!r} needs all rows in one place, and they stand on a cluster. Use a recipe of sums, such as "
            "recipe='auto', or bring the rows to one machine."
        )
    check_memory(source.spread, prepared.facts, prepared.request.memory_limit)
    return True


def on_disk(prepared: FitPlan, source: Records) -> bool:
    """Whether rows stay on the disk; refuses what can be known not to work."""
    limit, facts = prepared.request.memory_limit, prepared.facts
    if limit is None:
        refuse_beyond_memory(source, facts)
        return False
    if memory_needed(source, facts) <= limit:
        return False
    if not prepared.recipe.private or needs_all_rows(prepared.plan):
        raise DataError(
            f"recipe {prepared.recipe.name!r} needs all rows in one place, and they do not fit memory_limit. Raise it, or use a recipe of "
            "sums, such as recipe='auto'."
        )
    MemoryBudget(facts, limit, source.sparse)
    refuse_beyond_disk(source)
    return True


def open_host(
    prepared: FitPlan, source: Records, y: Vector, watcher: ProgressCallback
) -> MemoryHost | DiskHost | ClusterHost:
    """Rows in the place that `stays_on_cluster` and `on_disk` say."""
    limit, spread = prepared.request.memory_limit, stays_on_cluster(prepared, source)
    if not spread and (limit is None or not on_disk(prepared, source)):
        return MemoryHost(source, y, prepared.facts, exact=not prepared.recipe.private)
    told = 0

    def tell(done: float) -> None:
        nonlocal told
        while told < int(done * READING_TURNS):
            told += 1
            watcher(READING)

    if spread:
        return ClusterHost(source, y, prepared.facts, limit, tell=tell)
    assert limit is not None
    return DiskHost(source, y, prepared.facts, limit, tell=tell)
