"""Non-private baselines that go on to a local optimum."""

from __future__ import annotations

from ...algorithms.converged import UntilConverged
from ...core.facts import Facts
from ...queries.kinds import Solver


def settle(loop: Solver, facts: Facts, tol: float | None, *, restart: bool = False) -> Solver:
    """The loop, followed by what `UntilConverged` does; the loop alone without `tol`."""
    if tol is None:
        return loop
    return UntilConverged(loop=loop, sparsity=facts.cap, ridge=facts.penalty.l2, tol=tol, restart=restart)
