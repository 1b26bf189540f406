r"""Scores for selections, with how fast they can move.

Guarantee
---------
`spread` bounds how far the *difference* of any two candidates' scores can move between neighbours, from the movement of
the gradient sum: at most :math:`D_j` in coordinate j and :math:`D_2` in l2 norm.

* ``Magnitude``: :math:`|\,|b-\eta g| - |b-\eta g'|\,| \le \eta|g-g'|`, so one score moves by at most
  :math:`\eta D_j`; two together by at most :math:`\min(2\eta\max_j D_j, \sqrt2\,\eta D_2)`
  (:math:`|a|+|b| \le \sqrt2\,\|(a,b)\|_2`).
* ``Vertex``: the candidates :math:`+e_j` and :math:`-e_j` move against each other, so the range is
  :math:`2\max_j D_j`, and the l2 bound cannot help.
* ``Greedy``: every rule is 1-Lipschitz in :math:`g_j/\sqrt{M_j}`:
  gs is :math:`|g_j|/\sqrt{M_j}`;
  gs-s is the distance of :math:`-g_j` from the subdifferential of the penalty over :math:`\sqrt{M_j}`, and a distance to
  a convex set is 1-Lipschitz;
  gs-r is :math:`\sqrt{M_j}\,|\mathrm{prox}(w_j - g_j/M_j) - w_j|`, and a proximal map is 1-Lipschitz;
  gs-q is :math:`\sqrt{2V_j}`, :math:`V_j = -\min_\alpha [g_j\alpha + M_j\alpha^2/2 + \psi(w_j+\alpha) - \psi(w_j)]`.
  Write :math:`a = \sqrt{M_j}\,\alpha` and :math:`u = -g_j/\sqrt{M_j}`: :math:`2V_j = \max_a [2ua - a^2 - 2\phi(a)]` with
  :math:`\phi` convex, :math:`\phi(0) = 0`, so :math:`2V = u^2 - \min_a[(u-a)^2 + 2\phi(a)]` and its derivative in u is
  :math:`2a^*(u)`. The optimal :math:`a^*` obeys :math:`(u - a^*)a^* \ge \phi(a^*)`, from the subgradient inequality at 0, so
  :math:`2V = 2ua^* - a^{*2} - 2\phi(a^*) \ge a^{*2}` and :math:`|d\sqrt{2V}/du| = |a^*|/\sqrt{2V} \le 1`.
"""

from __future__ import annotations

import math

import numpy as np

from ..facts import Penalty, Vector
from ..ops import proximal_step
from ..oracle import Greedy, Magnitude, Score, Vertex
from ..privacy.adjacency import Adjacency
from .measure import Reach


def scores_of(score: Score, gradient: Vector, free: int) -> Vector:
    """Scores of all candidates from the mean gradient of all coordinates."""
    if isinstance(score, Magnitude):
        head = gradient[: gradient.size - free]
        base = np.zeros_like(head) if score.base is None else score.base[: head.size]
        return np.abs(base - score.step * head)
    if isinstance(score, Vertex):
        return np.asarray(np.r_[-gradient, gradient])
    if isinstance(score, Greedy):
        return _greedy(score, gradient, free)
    raise TypeError(f"unknown score {score!r}.")


def spread(score: Score, reach: Reach, relation: Adjacency, free: int) -> float:
    """How far the difference of two candidates' scores moves per unit of public divisor."""
    coordinates = reach.linf(relation)
    if isinstance(score, Magnitude):
        head = coordinates[: coordinates.size - free]
        return abs(score.step) * min(2 * float(head.max()), math.sqrt(2) * reach.l2(relation))
    if isinstance(score, Vertex):
        return 2 * float(coordinates.max())
    if isinstance(score, Greedy):
        return 2 * float(np.max(coordinates / np.sqrt(score.curvature)))
    raise TypeError(f"unknown score {score!r}.")


def _greedy(score: Greedy, g: Vector, free: int) -> Vector:
    root = np.sqrt(score.curvature)
    if score.rule == "gs":
        return np.abs(g) / root
    w, penalty = score.w, score.penalty
    if score.rule == "gs-s":
        return _subgradient_distance(g, w, penalty, free) / root
    moved = proximal_step(w - g / score.curvature, 1.0 / score.curvature, penalty, free) - w
    if score.rule == "gs-r":
        return np.asarray(root * np.abs(moved))
    if score.rule == "gs-q":
        before, after = _penalty_value(w, penalty, free), _penalty_value(w + moved, penalty, free)
        decrease = -(g * moved + score.curvature * moved**2 / 2 + after - before)
        return np.asarray(np.sqrt(2 * np.maximum(decrease, 0.0)))
    raise ValueError(f"unknown greedy rule {score.rule!r}; use gs, gs-s, gs-r or gs-q.")


def _penalty_value(w: Vector, penalty: Penalty, free: int) -> Vector:
    """The penalty of each coordinate (the box is zero inside, and proximal steps stay inside)."""
    value = penalty.l1 * np.abs(w) + penalty.l2 * w**2 / 2
    value[w.size - free :] = 0.0
    return value


def _subgradient_distance(g: Vector, w: Vector, penalty: Penalty, free: int) -> Vector:
    """Distance of -g from the subdifferential of the penalty, coordinate by coordinate."""
    out = np.abs(g)
    head = slice(0, w.size - free)
    g, w = g[head], w[head]
    if penalty.kind == "box":
        assert penalty.box is not None
        at_top, at_bottom = w >= penalty.box, w <= -penalty.box
        out[head] = np.where(at_top, np.maximum(g, 0.0), np.where(at_bottom, np.maximum(-g, 0.0), np.abs(g)))
    else:
        inner = g + penalty.l2 * w
        out[head] = np.where(w != 0, np.abs(inner + penalty.l1 * np.sign(w)), np.maximum(np.abs(inner) - penalty.l1, 0))
    return out
