"""Public splits of rows: halves and folds, from a number of rows and a seed alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...core import checks

Rows = NDArray[np.intp]


def halves(n_rows: int, seed: int = 0) -> tuple[Rows, Rows]:
    """A private and a public half; the private one has the odd row.

    Examples
    --------
    >>> private, public = halves(5)
    >>> len(private), len(public), sorted([*private.tolist(), *public.tolist()])
    (3, 2, [0, 1, 2, 3, 4])
    """
    checks.whole(n_rows, "n_rows")
    order = np.random.default_rng(seed).permutation(n_rows)
    return order[: (n_rows + 1) // 2], order[(n_rows + 1) // 2 :]


def folds(n_rows: int, parts: int = 5, seed: int = 0) -> list[tuple[Rows, Rows]]:
    """Training and held-out rows of each fold; every row is held out once.

    Examples
    --------
    >>> [len(held) for _, held in folds(12, 5)]
    [3, 3, 2, 2, 2]
    """
    checks.whole(n_rows, "n_rows")
    checks.whole(parts, "parts")
    if not 2 <= parts <= n_rows:
        raise ValueError(f"parts must lie between 2 and n_rows ({n_rows}), got {parts}.")
    order = np.random.default_rng(seed).permutation(n_rows)
    held = np.array_split(order, parts)
    return [(np.concatenate([*held[:k], *held[k + 1 :]]), held[k]) for k in range(parts)]
