"""Whether compiled kernels are there and wanted.

The environment variable ``DPSPARSE_KERNELS`` may be ``plain`` (numpy and scipy only), ``compiled``
(numba at once) or ``auto``, which is the default: numba if it is installed and the work pays its
start. No answer depends on it.
"""

from __future__ import annotations

import importlib.util
import os

#: Entries of a block of sparse rows from which on they are stored in the narrowest type.
NARROW = 2**18


def wanted() -> str:
    """Which kernels the environment asks for."""
    return os.environ.get("DPSPARSE_KERNELS", "auto")


def installed() -> bool:
    """Whether numba is there; it is not loaded to find out."""
    return importlib.util.find_spec("numba") is not None


def narrow_pays(entries: int) -> bool:
    """Whether a block of sparse rows is better stored in the narrowest type.

    Compiled kernels read it as it is, others make floats of it.
    """
    return entries >= NARROW and wanted() != "plain" and installed()
