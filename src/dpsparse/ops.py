"""Thresholds, proximal maps and projections: public mathematics on public vectors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .core.facts import Penalty, Vector

Indices = NDArray[np.intp]


def hard_threshold(w: Vector, count: int, free: int = 0, groups: Indices | None = None) -> Vector:
    r"""Keep the `count` largest entries in absolute value and set the others to zero.

    .. math:: H_s(w) = \arg\min_{\|v\|_0 \le s} \|v - w\|_2

    With groups, those of the largest l2 norm are kept, and `groups_of` says how many.

    Parameters
    ----------
    w : array of shape (dimension,)
    count : int
        Entries kept among the thresholded ones.
    free : int
        Trailing entries that are always kept (the intercept).
    groups : array of int, optional
        The group of each thresholded entry, from 0 on without gaps.

    Examples
    --------
    >>> hard_threshold(np.array([3.0, -1.0, 2.0, 0.5]), 2)
    array([3., 0., 2., 0.])
    >>> hard_threshold(np.array([3.0, -1.0, 2.0, 2.5]), 2, groups=np.array([0, 0, 1, 1]))
    array([0. , 0. , 2. , 2.5])
    """
    out = w.copy()
    head = out[: w.size - free]
    if count <= 0:
        head[:] = 0.0
    elif groups is not None:
        kept = head.copy()
        head[:] = 0.0
        best = largest_groups(kept, groups, groups_of(count, groups))
        head[best] = kept[best]
    elif count < head.size:
        drop = np.argpartition(np.abs(head), head.size - count)[: head.size - count]
        head[drop] = 0.0
    return out


def groups_of(count: int, groups: Indices | None) -> int:
    """How many groups have about `count` entries, by their average size: at least one; without groups, `count`.

    Examples
    --------
    >>> groups_of(5, np.array([0, 0, 0, 1, 2, 2])), groups_of(5, None)
    (2, 5)
    """
    return count if groups is None else max(1, count * (int(groups.max()) + 1) // groups.size)


def entries_of_groups(count: int, groups: Indices | None) -> int:
    """The fewest entries of which `groups_of` makes `count` groups."""
    return count if groups is None else min(groups.size, -(-count * groups.size // (int(groups.max()) + 1)))


def group_norms(w: Vector, groups: Indices) -> Vector:
    """The l2 norm of the entries of each group; entries are divided by the largest one before they are squared."""
    sizes, largest = np.abs(w), np.zeros(int(groups.max(initial=-1)) + 1)
    np.maximum.at(largest, groups, sizes)
    scaled = sizes / np.where(largest > 0, largest, 1.0)[groups]
    return np.asarray(largest * np.sqrt(np.bincount(groups, weights=scaled**2, minlength=largest.size)))


def largest_groups(w: Vector, groups: Indices, count: int) -> Indices:
    """The entries of the `count` groups of the largest l2 norm, in their order."""
    best = np.argsort(-group_norms(w, groups), kind="stable")[:count]
    return np.flatnonzero(np.isin(groups, best))


def soft_threshold(w: Vector, by: float | Vector) -> Vector:
    r"""Move every entry towards zero by `by`: :math:`\mathrm{sign}(w)\,(|w| - b)_+`.

    Examples
    --------
    >>> soft_threshold(np.array([3.0, -1.0]), 2.0)
    array([1., 0.])
    """
    held = np.maximum(w, -by)
    np.minimum(held, by, out=held)
    return np.subtract(w, held, out=held)


def project_ball(w: Vector, radius: float | None) -> Vector:
    """Project onto the l2 ball of `radius`; None means no ball."""
    if radius is None:
        return w
    norm = float(np.linalg.norm(w))
    return w if norm <= radius else w * (radius / norm)


def proximal_step(w: Vector, step: float | Vector, penalty: Penalty, free: int = 0) -> Vector:
    r"""The proximal map of ``step * penalty``, leaving the `free` trailing entries alone.

    .. math:: \arg\min_v \tfrac12\|v - w\|^2 + \eta\,\psi(v)

    A matrix has one row for each coordinate and one column for each class; steps of coordinates then come as a column.

    Examples
    --------
    >>> proximal_step(np.array([3.0, -1.0]), 0.5, Penalty(kind="l1", alpha=2.0))
    array([2., 0.])
    """
    out = w.copy()
    head = slice(0, w.shape[0] - free)
    if isinstance(step, np.ndarray):
        step = step[head]
    if penalty.kind == "box":
        assert penalty.box is not None
        out[head] = np.clip(out[head], -penalty.box, penalty.box)
    elif penalty.active:
        out[head] = soft_threshold(out[head], step * penalty.l1) / (1.0 + step * penalty.l2)
    return out


def rough(penalty: Penalty) -> Penalty:
    """The penalty without its l2 part, which is smooth: l1, a box, or nothing.

    >>> rough(Penalty(kind="elasticnet", alpha=1.0, l1_ratio=0.2))
    Penalty(kind='l1', alpha=0.2, l1_ratio=0.5, box=None)
    """
    return penalty if penalty.kind == "box" else Penalty(kind="l1", alpha=penalty.l1)
