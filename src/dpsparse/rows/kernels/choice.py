"""Which kernels do the work: compiled ones, once it pays to load them.

By default that is when this process has seen as much work as loading them takes, so that loading at
most doubles the time of any work.
"""

from __future__ import annotations

import sys
from typing import cast

import numpy as np

from ...core.errors import DataError
from . import plain
from .available import installed, wanted
from .interface import Kernels

#: Products of entries after which compiled kernels are loaded: about as long as loading them takes.
START_UP = 2**28


class _Seen:
    """What this process has done so far."""

    entries: int = 0
    loaded: Kernels | None = None
    wanted: str | None = None  # what the environment asked for at the first product


def kernels(entries: int) -> Kernels:
    """The kernels for a product with this number of entries."""
    if _Seen.loaded is not None:
        return _Seen.loaded
    kind = _Seen.wanted = _Seen.wanted or wanted()
    if kind == "plain":
        return cast("Kernels", plain)
    _Seen.entries += entries
    return load_kernels() if kind == "compiled" or _Seen.entries >= START_UP else cast("Kernels", plain)


def load_kernels() -> Kernels:
    """Compiled kernels if there are any that work here, else those of numpy and scipy; from now on for everything."""
    if _Seen.loaded is None:
        _Seen.loaded = _compiled() or cast("Kernels", plain)
    return _Seen.loaded


def forget_kernels() -> None:
    """Start anew: for tests."""
    _Seen.loaded, _Seen.entries, _Seen.wanted = None, 0, None


def _compiled() -> Kernels | None:
    """Compiled kernels, if they can be made here and know how to add."""
    if not installed():
        if wanted() == "compiled":
            raise DataError("DPSPARSE_KERNELS=compiled needs numba: pip install 'dpsparse[fast]'.")
        return None
    try:
        from . import compiled, loops

        x, total = np.array([[1, -2], [3, 4]], dtype=np.int16), np.zeros(2, dtype=np.int64)
        compiled.scatter(x, np.array([2.0**36, -(2.0**36)]), total, slice(0, 2), 4.0)
        if loops.dense_scatter.stats.cache_misses:
            print("dpsparse compiles its kernels, once for this installation; some seconds more.", file=sys.stderr)
    except Exception:  # a broken installation, or a cache that is torn: others can still do the work
        return None
    return cast("Kernels", compiled) if total.tolist() == [-(2**37), -6 * 2**36] else None
