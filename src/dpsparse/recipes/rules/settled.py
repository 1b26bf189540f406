"""Twins without privacy that go on to a local optimum."""

from __future__ import annotations

from ...facts import Facts
from ...oracle import Solver
from ...solvers.settled import Settled


def settle(loop: Solver, facts: Facts, tol: float | None, *, restart: bool = False) -> Solver:
    """The loop, followed by what `Settled` does; the loop alone without `tol`."""
    if tol is None:
        return loop
    return Settled(loop=loop, sparsity=facts.cap, ridge=facts.penalty.l2, tol=tol, restart=restart)
