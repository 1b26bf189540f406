r"""How much memory rows take, how much there is, and how a limit is shared out. Public arithmetic; no row is looked at.

What is counted, in bytes, beside what the process holds before a fit:

* `PER_COORDINATE` for each coefficient: iterate, sum, noise, scores and what solvers keep, about a
  dozen vectors of floats (matrices, for a model of more than two classes);
* `PER_ROW` for each row: its target as it came, coded, and for one model;
* `SANITISED` for each entry of a block of sparse rows while it is clipped and put on the lattice
  (values, indices, owners, squares and their copies), `SANITISED_DENSE` for dense rows; queries
  need less;
* `KEPT` for each entry of rows that stay in memory: at most float64 values and 32-bit indices, once
  by rows and once by columns for sparse rows (16-bit values where compiled kernels read them), and
  16-bit values for dense rows with space for as much again;
* `KEPT_PER_ROW` for each row of these: target, mark, square, largest entry, margin, factor, and
  their temporary copies.

What is left of a limit is shared out in eighths: two for the block at work, two for rows that stay
in memory, three for what is kept between queries, one for the numbers of each row within a
query. While rows are written to a scratch file, the first three are one.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from ...core.errors import DataError
from ...core.facts import Facts
from ..records import STORED_ENTRIES, Records
from ..scratch import scratch_folder
from ..shard import margins_of

PER_COORDINATE = 12 * 8
PER_ROW = 3 * 8
SANITISED = 112
SANITISED_DENSE = 24
#: Bytes of an entry of a block at work in a query: as it is read, in floats, and what kernels make of it.
AT_WORK = 56
AT_WORK_DENSE = 24
KEPT = 24
KEPT_DENSE = 4
KEPT_PER_ROW = 96
#: Bytes of an entry that is written to a scratch file: 16-bit value and 32-bit index; values of 32 bits are assumed.
ASIDE = 8
#: Bytes of a row that is written to a scratch file: target, square, largest entry, mark, count.
ASIDE_PER_ROW = 29
#: Bytes of an entry of rows of units that is dealt before: value and index.
DEALT = 12
#: Bytes of memory below which nothing is checked.
SMALL = 2**26
#: What must be left of a limit for blocks of rows: below this, reading would be all that a fit does.
LEAST_BLOCKS = 2**24


def memory_needed(source: Records, facts: Facts) -> int:
    """Bytes that a fit takes if its rows are in memory; a rough bound."""
    columns = margins_of(facts)
    each, working = (KEPT, SANITISED) if source.sparse else (KEPT_DENSE, SANITISED_DENSE)
    block = min(source.entries, max(STORED_ENTRIES, source.shape[1]))
    rows = source.shape[0] * (PER_ROW + KEPT_PER_ROW * columns)
    return source.entries * each + rows + block * working + facts.dimension * PER_COORDINATE * columns


def free_memory() -> int | None:
    """Bytes that this process may still take, as the system reports; None where it does not."""
    known = [found for found in (_available(), _group_limit(), _own_limit()) if found is not None]
    return min(known) if known else None


def refuse_beyond_memory(source: Records, facts: Facts) -> None:
    """Refuse rows that the free memory does not hold. Says nothing about how many there are."""
    needed = memory_needed(source, facts)
    free = free_memory() if needed > SMALL else None
    if free is not None and needed > free:
        raise DataError(
            "this fit would need more memory than is free. Give memory_limit, such as "
            "memory_limit='2GB': rows then stay on the disk, and "
            "the model is the same."
        )


def refuse_beyond_disk(source: Records) -> None:
    """Refuse rows for which the disk has no space."""
    needed = source.entries * ASIDE + source.shape[0] * ASIDE_PER_ROW
    needed += 0 if source.units is None else source.entries * DEALT
    if needed > shutil.disk_usage(scratch_folder()).free:
        raise DataError(
            f"the disk of {scratch_folder()} has no space for a scratch file of the rows. Free some, or name "
            "another folder in the environment "
            "variable TMPDIR."
        )


@dataclass(frozen=True)
class MemoryBudget:
    """What a memory limit leaves for blocks of rows.

    Parameters
    ----------
    facts : Facts
        Public numbers of rows and coefficients.
    limit : int
        Bytes that a fit may take, beside what the process holds before.
    sparse : bool
        How rows are stored.
    """

    facts: Facts
    limit: int
    sparse: bool

    def __post_init__(self) -> None:
        if self.limit < self.least:
            raise DataError(
                "memory_limit is too small for data of this shape. Give at least "
                f"{-(-self.least // 10**6)}MB, or use fewer features."
            )

    @property
    def _fixed(self) -> int:
        """What does not depend on how rows are cut."""
        return self.facts.dimension * PER_COORDINATE * margins_of(self.facts) + self.facts.n_rows * PER_ROW

    @property
    def least(self) -> int:
        """The smallest limit: two eighths hold one full row at work."""
        return self._fixed + max(LEAST_BLOCKS, 4 * AT_WORK * self.facts.n_features)

    @property
    def _eighth(self) -> int:
        return (self.limit - self._fixed) // 8

    @property
    def entries(self) -> int:
        """Entries of a block."""
        return 2 * self._eighth // (AT_WORK if self.sparse else AT_WORK_DENSE)

    @property
    def piece_entries(self) -> int:
        """Entries that are clipped at once; what waits to be written takes two eighths beside."""
        return 4 * self._eighth // (SANITISED if self.sparse else SANITISED_DENSE)

    @property
    def pinned(self) -> int:
        """Bytes of rows that stay in memory."""
        return 2 * self._eighth

    @property
    def kept(self) -> int:
        """Bytes that are kept between queries."""
        return 3 * self._eighth

    @property
    def shard_rows(self) -> int:
        """Rows of a part."""
        return max(1, self._eighth // (KEPT_PER_ROW * margins_of(self.facts)))


# --------------------------------------------------------------------------------------- what the system reports


def _available() -> int | None:
    """Memory that is free or can be freed."""
    for line in _lines(Path("/proc/meminfo")):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _group_limit() -> int | None:
    """What a container may still take."""
    folder = Path("/sys/fs/cgroup")
    try:
        most = (folder / "memory.max").read_text().strip()
        return None if most == "max" else max(0, int(most) - int((folder / "memory.current").read_text()))
    except (OSError, ValueError):
        return None


def _own_limit() -> int | None:
    """What the limit of this process's addresses leaves."""
    try:
        import resource
    except ImportError:  # systems without it
        return None
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    if most == resource.RLIM_INFINITY:
        return None
    for line in _lines(Path("/proc/self/status")):
        if line.startswith("VmSize:"):
            return max(0, most - int(line.split()[1]) * 1024)
    return most


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
