r"""What the federated recipes share: how many rounds of how many local steps, and the path of a site.

The path of a site is that of DP-SGD-HT (`schedules`), cut into rounds: the same clip, the same
path, the same pace within a round. The noise that matters is that of *one* site, since each site
thresholds its own model.
"""

from __future__ import annotations

import math

from ...algorithms.federated import FedHT
from ...algorithms.sgd import SGD
from ...core.budget import Budget
from ...core.facts import Facts, Penalty
from ...core.plan import EveryRow
from .schedules import DefaultSchedule, batches, default_rate, default_turns
from .sparsity import kept

#: Local steps of a round in [L22]_, section 6.4.
LOCAL_STEPS = 10


def rounds_of(rounds: int | None, local_steps: int, turns: int) -> int:
    """The number of rounds: as asked for, or the number that makes this number of turns; at least one."""
    return rounds or max(1, math.ceil(turns / local_steps))


def private_rounds(
    facts: Facts,
    budget: Budget,
    *,
    rounds: int | None,
    local_steps: int,
    step_size: float | None,
    clip: float | None,
    batch_size: float | None,
    every_row: bool,
    sparsity: int | None,
) -> FedHT:
    """The loop of a private recipe, with the rules of this module for fields that are None."""
    count = kept(sparsity, facts, budget)
    times = rounds_of(rounds, local_steps, default_turns(facts, budget, count))
    turns = times * local_steps
    walk = DefaultSchedule.of(facts, budget, count, turns, clip, step_size)
    rows = EveryRow() if every_row else batches(batch_size, facts, default_rate(budget, turns))
    local = SGD(
        step_sizes=(walk.piece,) * local_steps,
        clip=walk.clip,
        rows=rows,
        sparsity=count,
        penalty=Penalty(kind="l2", alpha=facts.penalty.l2),
        step_rule=walk.step_rule,
    )
    return FedHT(local=local, rounds=times, sparsity=count)
