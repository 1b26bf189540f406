r"""Scores for selections, with how fast they can move.

Guarantee
---------
`score_sensitivity` bounds how far the *difference* of any two candidates' scores can move between
neighbours, from the movement of the gradient sum: at most :math:`D_j` in coordinate j and
:math:`D_2` in l2 norm.

* ``Magnitude``: :math:`|\,|b-\eta g| - |b-\eta g'|\,| \le \eta|g-g'|`, so one score moves by at
  most :math:`\eta D_j`; two together by at most :math:`\min(2\eta\max_j D_j, \sqrt2\,\eta D_2)`
  (:math:`|a|+|b| \le \sqrt2\,\|(a,b)\|_2`).
* ``Vertex``: the candidates :math:`+e_j` and :math:`-e_j` move against each other, so the range is
  :math:`2\max_j D_j`, and the l2 bound cannot help.
* ``Greedy``: with :math:`G_j = g_j + \lambda_2 w_j` the gradient of the smooth part, :math:`\psi`
  the rest of the penalty (l1 or a box) and :math:`H_j` the declared curvature, every rule is
  1-Lipschitz in :math:`g_j/\sqrt{H_j}`: gs is :math:`|G_j|/\sqrt{H_j}`; gs-s is the distance of
  :math:`-G_j` from the subdifferential :math:`\partial\psi(w_j)` over :math:`\sqrt{H_j}`, and a
  distance to a convex set is 1-Lipschitz; gs-r is
  :math:`\sqrt{H_j}\,|\mathrm{prox}_{\psi/H_j}(w_j - G_j/H_j) - w_j|`, and a proximal map is
  1-Lipschitz; gs-q is :math:`\sqrt{2V_j}`,
  :math:`V_j = -\min_\alpha [G_j\alpha + H_j\alpha^2/2 + \psi(w_j+\alpha) - \psi(w_j)]`. Write
  :math:`a = \sqrt{H_j}\,\alpha` and :math:`u = -G_j/\sqrt{H_j}`:
  :math:`2V_j = \max_a [2ua - a^2 - 2\phi(a)]` with :math:`\phi` convex, :math:`\phi(0) = 0`, so
  :math:`2V = u^2 - \min_a[(u-a)^2 + 2\phi(a)]` and its derivative in u is :math:`2a^*(u)`. The
  optimal :math:`a^*` obeys :math:`(u - a^*)a^* \ge \phi(a^*)`, from the subgradient inequality at
  0, so :math:`2V = 2ua^* - a^{*2} - 2\phi(a^*) \ge a^{*2}` and
  :math:`|d\sqrt{2V}/du| = |a^*|/\sqrt{2V} \le 1`. This needs :math:`\phi(0)` finite, that is
  :math:`w_j` inside the box (outside, the slope of the root is unbounded): the rules see :math:`w`
  projected onto the box. It needs :math:`\psi` convex: negative weights are refused. Two candidates
  together move by at most the sum of the two largest :math:`D_j/\sqrt{H_j}`, and by at most
  :math:`D_2\sqrt{1/H_{(1)} + 1/H_{(2)}}` for the two smallest curvatures (Cauchy-Schwarz).

* ``Grouped``: a column's score :math:`u_j` is :math:`L_j`-Lipschitz in :math:`g_j` alone, with
  :math:`L_j = \eta` or :math:`1/\sqrt{H_j}` as above, and the score of a group A is
  :math:`\|u_A\|_2`. By the triangle inequality it moves by at most
  :math:`\|(L_jD_j)_{j\in A}\|_2`: the l2 norm of the group's block, which bounds on the entries of
  columns hold; and by at most :math:`L_A\|\Delta g_A\|_2`, :math:`L_A = \max_{j\in A} L_j`. The
  difference of two groups moves by at most the sum of the two largest of the first, and, groups
  being disjoint, by at most :math:`D_2\sqrt{L_{(1)}^2 + L_{(2)}^2}` for the two largest
  :math:`L_A` (Cauchy-Schwarz).

*Rounding.* Scores are floats. A gradient from a total of at most :math:`2^{62}` units of h, divided
by the public divisor, is off by at most :math:`2^{-52}G` for :math:`G = 2^{62}h/\text{divisor}`;
and a score is made of it and of public numbers by at most eight operations of numbers no larger
than A (below), each off by at most :math:`2^{-53}` of its size. Two scores in each of two
neighbours are off by less than :math:`64\cdot 2^{-53}A` together, which `rounding` adds to the
range:

* ``Magnitude``: :math:`A = \max_j|b_j| + \eta G`. ``Vertex``: :math:`A = G`.
* ``Greedy``: :math:`A = \max_j\,(H_j|w_j| + \lambda_1 + \lambda_2|w_j| + G)/\sqrt{H_j}`. For gs-q,
  where a root is taken, an error :math:`|w|\delta` of the surplus moves
  :math:`\sqrt{Hw^2 + 2\,\text{surplus}} \ge \sqrt H|w|` by at most :math:`\delta/\sqrt H`.
* ``Grouped``: :math:`m^{3/2}A` for groups of at most m columns. Ten errors of a column's score are
  :math:`10\sqrt m` in l2 norm; the norm itself, of numbers divided by the largest, is right to
  :math:`m/2 + 4` roundings of at most :math:`\sqrt mA`. Together less than :math:`16m^{3/2}` in each of
  the four scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.adjacency import Adjacency
from ..core.errors import PrivacyError
from ..core.facts import Penalty, Vector
from ..ops import group_norms, proximal_step, rough
from .kinds import Greedy, Grouped, Magnitude, Score, Select, Vertex
from .sensitivity import Indices, Sensitivity

#: Roundings of two scores in two neighbours, in units of the largest number that they are made of.
ROUNDINGS = 64 * 2.0**-53
#: Larger public numbers count as this one.
LARGEST = 1e100


@dataclass(frozen=True)
class ScoreRule:
    """How candidates are scored.

    Parameters
    ----------
    scores : (score, gradient, free) -> array
    spread : (score, movement of coordinates, movement in l2 norm, free) -> float
        How far the difference of two scores moves.
    size : (score, bound on the gradient) -> float
        A: the largest number that scores are made of.
    """

    scores: Callable[[Any, Vector, int], Vector]
    spread: Callable[[Any, Vector, float, int], float]
    size: Callable[[Any, float], float]


def scores_of(score: Score, gradient: Vector, free: int) -> Vector:
    """Scores of all candidates from the mean gradient of all coordinates."""
    return _rule(score).scores(score, gradient, free)


def candidates_of(question: Select, scores: Vector) -> Indices:
    """The candidates among which a selection chooses; refuses one of more than there are."""
    keep = np.ones(scores.size, dtype=bool)
    if question.excluded is not None:
        keep[question.excluded] = False
    if question.count > np.count_nonzero(keep):
        raise PrivacyError(f"cannot select {question.count} of {np.count_nonzero(keep)} candidates.")
    return np.flatnonzero(keep)


def score_sensitivity(score: Score, reach: Sensitivity, relation: Adjacency, free: int) -> float:
    """How far the difference of two candidates' scores moves per unit of public divisor, in exact arithmetic."""
    return _rule(score).spread(score, reach.linf(relation), reach.l2(relation), free)


def rounding(score: Score, largest: float) -> float:
    """What the rounding of scores adds to their range, for gradients up to `largest`."""
    return ROUNDINGS * _rule(score).size(score, largest)


def bounded_numbers(public: Vector) -> Vector:
    """Public numbers that scores start from; those that are not finite, or huge, count as large ones, or as zero."""
    return np.clip(np.nan_to_num(public), -LARGEST, LARGEST)


def _rule(score: Score) -> ScoreRule:
    if type(score) not in SCORES:
        raise TypeError(f"unknown score {score!r}.")
    return SCORES[type(score)]


# ------------------------------------------------------------------------------------------------
# magnitudes and vertices


def magnitudes(score: Magnitude, gradient: Vector, free: int) -> Vector:
    """What a step would leave."""
    head = gradient[: gradient.size - free]
    base = np.zeros_like(head) if score.base is None else bounded_numbers(score.base[: head.size])
    return np.abs(base - score.step * head)


def magnitude_spread(score: Magnitude, moves: Vector, norm: float, free: int) -> float:
    """The step times what two coordinates move."""
    head = moves[: moves.size - free]
    return abs(score.step) * min(2 * float(head.max()), math.sqrt(2) * norm)


def magnitude_size(score: Magnitude, largest: float) -> float:
    """The largest base and step."""
    base = 0.0 if score.base is None else float(np.abs(bounded_numbers(score.base)).max(initial=0.0))
    return base + abs(score.step) * largest


def vertices(score: Vertex, gradient: Vector, free: int) -> Vector:
    """Both signs of every coordinate."""
    return np.asarray(np.r_[-gradient, gradient])


def vertex_spread(score: Vertex, moves: Vector, norm: float, free: int) -> float:
    """Both signs of one coordinate move against each other."""
    return 2 * float(moves.max())


def vertex_size(score: Vertex, largest: float) -> float:
    """The largest gradient."""
    return largest


# ------------------------------------------------------------------------------------------------ greedy scores


def greedy_size(score: Greedy, largest: float) -> float:
    """The largest term of any rule."""
    H, w = score.curvature, np.abs(bounded_numbers(score.w))
    return float(np.max((H * w + score.penalty.l1 + score.penalty.l2 * w + largest) / np.sqrt(H)))


def greedy_spread(score: Greedy, coordinates: Vector, norm: float, free: int) -> float:
    """The two coordinates that move most."""
    if score.penalty.l1 < 0 or score.penalty.l2 < 0 or not np.all(score.curvature > 0):
        raise PrivacyError("a greedy score needs positive curvatures and a penalty of positive weights.")
    if coordinates.shape != score.curvature.shape:
        raise PrivacyError("a greedy score needs one curvature for every coordinate.")
    moves = coordinates / np.sqrt(score.curvature)
    if moves.size == 1:
        return 2 * float(moves[0])
    steepest = 1 / score.curvature
    return min(_two_largest(moves), norm * math.sqrt(_two_largest(steepest)))


def _two_largest(values: Vector) -> float:
    """Sum of the two largest of at least two values."""
    first = int(np.argmax(values))
    return float(values[first] + np.delete(values, first).max())


def greedy(score: Greedy, g: Vector, free: int) -> Vector:
    """Scores by rule; the intercept, last, has no penalty."""
    H, root, penalty = score.curvature, np.sqrt(score.curvature), rough(score.penalty)
    start = bounded_numbers(score.w)
    w = proximal_step(start, 1.0, penalty, free) if penalty.kind == "box" else start
    ridge = score.penalty.l2 * w
    ridge[w.size - free :] = 0.0
    g = g + ridge
    if score.rule == "gs":
        return np.asarray(np.abs(g) / root)
    if score.rule == "gs-s":
        return _subgradient_distance(g, w, penalty, free) / root
    moved = proximal_step(w - g / H, 1.0 / H, penalty, free) - w
    if score.rule == "gs-r":
        return np.asarray(root * np.abs(moved))
    if score.rule == "gs-q":
        return np.asarray(np.sqrt(H * moved**2 + 2 * _surplus(g, w, moved, H, penalty, free)))
    raise ValueError(f"unknown greedy rule {score.rule!r}; use gs, gs-s, gs-r or gs-q.")


def _surplus(g: Vector, w: Vector, moved: Vector, H: Vector, penalty: Penalty, free: int) -> Vector:
    r"""The excess of gs-q over the squared step, which is never negative.

    It is :math:`p\alpha - [\psi(w+\alpha) - \psi(w)] \ge 0` for :math:`p = -g - H\alpha`.

    p is a subgradient at the new point. Written case by case: the difference of two large numbers
    would leave a root of rounding errors, and scores may not move by more than their proof says.
    """
    if penalty.kind == "box":
        surplus = np.maximum((-g - H * moved) * moved, 0.0)
    else:
        new = w + moved
        crossed = 2 * penalty.l1 * np.abs(w) * (np.sign(new) * np.sign(w) < 0)
        stopped = np.abs(w) * np.maximum(penalty.l1 - np.sign(w) * (H * w - g), 0.0)
        surplus = np.where(new == 0, stopped, crossed)
    surplus[w.size - free :] = 0.0
    return surplus


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
        out[head] = np.where(w != 0, np.abs(g + penalty.l1 * np.sign(w)), np.maximum(np.abs(g) - penalty.l1, 0))
    return out


# ------------------------------------------------------------------------------------------------ groups


def grouped(score: Grouped, gradient: Vector, free: int) -> Vector:
    """Norms of the scores of each group."""
    found = scores_of(score.score, gradient, free)
    return group_norms(found, score.labels(found.size))


def grouped_spread(score: Grouped, coordinates: Vector, norm: float, free: int) -> float:
    """The two groups that move most."""
    groups, head = score.groups, coordinates.size - free
    if groups.shape != (head,) or groups.dtype.kind != "i" or groups.min() < 0 or groups.max() >= head:
        raise PrivacyError("groups need a whole number, from 0 on, for each feature.")
    if type(score.score) is Greedy:
        greedy_spread(score.score, coordinates, norm, free)  # refuses what has no proof
        rates = 1 / np.sqrt(score.score.curvature)
    elif type(score.score) is Magnitude:
        rates = np.full(head, abs(score.score.step))
    else:
        raise PrivacyError("groups have scores of columns: magnitudes or greedy ones.")
    labels = score.labels(rates.size)
    moves, steepest = group_norms(coordinates[: rates.size] * rates, labels), np.zeros(int(labels.max()) + 1)
    np.maximum.at(steepest, labels, rates)
    if moves.size == 1:
        return 2 * float(moves[0])
    return min(_two_largest(moves), norm * math.sqrt(_two_largest(steepest**2)))


def grouped_size(score: Grouped, largest: float) -> float:
    """The largest number of one column, times a power of the size of the largest group."""
    most = int(np.bincount(score.groups).max())
    return float(most**1.5) * _rule(score.score).size(score.score, largest)


SCORES: dict[type, ScoreRule] = {
    Magnitude: ScoreRule(magnitudes, magnitude_spread, magnitude_size),
    Vertex: ScoreRule(vertices, vertex_spread, vertex_size),
    Greedy: ScoreRule(greedy, greedy_spread, greedy_size),
    Grouped: ScoreRule(grouped, grouped_spread, grouped_size),
}
