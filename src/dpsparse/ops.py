"""Thresholds, proximal maps and projections: public mathematics on public vectors."""

from __future__ import annotations

import numpy as np

from .core.facts import Penalty, Vector


def hard_threshold(w: Vector, count: int, free: int = 0) -> Vector:
    r"""Keep the `count` largest entries in absolute value and set the others to zero.

    .. math:: H_s(w) = \arg\min_{\|v\|_0 \le s} \|v - w\|_2

    Parameters
    ----------
    w : array of shape (dimension,)
    count : int
        Entries kept among the thresholded ones.
    free : int
        Trailing entries that are always kept (the intercept).

    Examples
    --------
    >>> hard_threshold(np.array([3.0, -1.0, 2.0, 0.5]), 2)
    array([3., 0., 2., 0.])
    """
    out = w.copy()
    head = out[: w.size - free]
    if count <= 0:
        head[:] = 0.0
    elif count < head.size:
        drop = np.argpartition(np.abs(head), head.size - count)[: head.size - count]
        head[drop] = 0.0
    return out


def soft_threshold(w: Vector, by: float | Vector) -> Vector:
    r"""Move every entry towards zero by `by`: :math:`\mathrm{sign}(w)\,(|w| - b)_+`.

    Examples
    --------
    >>> soft_threshold(np.array([3.0, -1.0]), 2.0)
    array([1., 0.])
    """
    return np.asarray(w - np.clip(w, -by, by))


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
