"""What DP-SCSG-HT, DP-SVRG-HT and their twins share."""

from __future__ import annotations

import math
import secrets

from ..facts import Facts
from ..privacy.budget import Budget
from ..solvers.scsg import SCSG
from .base import positive, whole
from .dp_sgd_ht import kept_of
from .stochastic import check_batch, default_rate, participation, signal, walk

#: Inner steps of an epoch when the user names no batches.
INNER = 4


def controlled(
    facts: Facts,
    budget: Budget,
    *,
    batch_size: float | None,
    inner_batch_size: float | None,
    epochs: int | None,
    step_size: float | None,
    clip: float | None,
    sparsity: int | None,
    option: str,
    length_seed: int | None,
    change_clip: float | None,
    snapshot_share: float,
) -> SCSG:
    """The loop of `DPSCSGHT`, with its rules for what was left open."""
    kept = kept_of(sparsity, facts, budget)
    epochs = epochs or min(8, max(2, math.isqrt(round(signal(facts, budget, kept)))))
    batch = min(batch_size or facts.n_rows * max(0.5, default_rate(budget, epochs)), facts.n_rows)
    inner = batch / INNER if inner_batch_size is None else min(inner_batch_size, batch)
    rule = walk(facts, budget, kept, max(1, round(epochs * batch / inner)), clip, step_size)
    return SCSG(
        sparsity=kept,
        epochs=epochs,
        inner=batch / inner,
        length_seed=drawn(length_seed) if option == "I" else None,
        lengths_known=option == "I" and length_seed is not None,
        step_size=rule.step,
        clip=rule.clip,
        snapshot_rows=participation(batch, facts, 1.0),
        inner_rows=participation(inner, facts, 1.0),
        change_clip=change_clip or min(2.0, 0.2 * rule.spare),
        snapshot_share=snapshot_share,
        ridge=facts.penalty.l2,
        guard=step_size is None,
    )


def drawn(seed: int | None) -> int:
    """The seed that was given, or one that nobody chose."""
    return secrets.randbits(63) if seed is None else seed


def check_controlled(
    *,
    epochs: int | None,
    step_size: float | None,
    clip: float | None,
    batch_size: float | None,
    inner_batch_size: float | None,
    option: str,
    length_seed: int | None,
    change_clip: float | None,
    snapshot_share: float,
    sparsity: int | None,
) -> None:
    """Refuse fields that make no sense."""
    whole(epochs, "epochs")
    whole(sparsity, "sparsity")
    positive(step_size, "step_size")
    positive(clip, "clip")
    check_batch(batch_size, "batch_size")
    check_batch(inner_batch_size, "inner_batch_size")
    if option not in ("I", "II"):
        raise ValueError(f"option must be 'I' (random length) or 'II' (fixed length), got {option!r}.")
    if length_seed is not None and (
        isinstance(length_seed, bool) or not isinstance(length_seed, int) or length_seed < 0
    ):
        raise ValueError(f"length_seed must be a non-negative integer or None, got {length_seed!r}.")
    if change_clip is not None and not 0 < change_clip <= 2:
        raise ValueError(f"change_clip must be None or lie in (0, 2], got {change_clip!r}.")
    if not 0 < snapshot_share < 1:
        raise ValueError(f"snapshot_share must lie strictly between 0 and 1, got {snapshot_share!r}.")
