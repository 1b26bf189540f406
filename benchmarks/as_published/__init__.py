"""The museum: private sparse learning exactly as published, audited beside ours.

**Nothing here is for use.** Every mechanism in this package costs more privacy than its paper claims, or has no proof. It stands
outside ``dpsparse``, which never imports it, so that the claims can be tested by running them.

    python -m benchmarks.as_published [--runs 20000] [--json] [--plot FILE]

`museum` computes all exhibits; each file holds one mechanism and its exhibits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import dp_gcd, dp_gcd_proximal, dp_ight, dp_scsg_ht, dp_sgd_ht, dpsl_kt, frank_wolfe, label_ldp_iht
from .exhibit import AT_LEAST, AT_MOST, EXACT, Epsilon, Exhibit, Figure, Promise

__all__ = ["AT_LEAST", "AT_MOST", "EXACT", "ROOMS", "Epsilon", "Exhibit", "Figure", "Promise", "museum"]

#: In the order of the papers.
ROOMS = (dp_ight, dpsl_kt, dp_gcd, dp_gcd_proximal, dp_sgd_ht, dp_scsg_ht, frank_wolfe, label_ldp_iht)

#: Runs of a printed mechanism in each world.
RUNS = 20_000


def museum(runs: int = RUNS, on_room: Callable[[str], None] | None = None) -> list[Exhibit]:
    """All exhibits; `on_room` is told the name of every mechanism before it is audited."""
    if runs < 100:
        raise ValueError(f"the museum needs at least 100 runs in each world, got {runs}.")
    found: list[Exhibit] = []
    for number, room in enumerate(ROOMS):
        if on_room is not None:
            on_room(room.__name__.rsplit(".", 1)[-1])
        found += room.exhibits(runs, np.random.default_rng(1_000 + number))
    return found
