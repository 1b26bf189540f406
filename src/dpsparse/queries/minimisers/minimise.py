r"""The minimiser of a clipped, regularised, tilted sum of convex losses, with a certificate.

.. math:: J(\theta) = \sum_i \Psi_i(\langle x_i, \theta\rangle) + \tfrac\lambda2\|\theta\|^2 + \langle b, \theta\rangle,
          \qquad \Psi_i'(m) = \mathrm{clip}\bigl(\phi'(m, y_i),\, \pm\min(R, L/\|x_i\|)\bigr)

:math:`\phi'` does not fall with the margin and neither does its clip, so every :math:`\Psi_i` is
convex, its gradient :math:`\Psi_i' x_i` has norm at most :math:`L`, and its Hessian
:math:`\Psi_i'' x_i x_i^\top` has norm at most :math:`\beta_0\|x_i\|^2`. For squared loss
:math:`\Psi_i` is Huber's loss.

Guarantee
---------
What is returned has :math:`\|\nabla J\| \le \tau`, hence lies within :math:`\tau/\lambda` of the
minimiser, by strong convexity. Half of :math:`\tau` is left to the rounding of the gradient's
evaluation (see `tolerance`). It never fails in exact arithmetic: Newton steps usually end it, and
what they leave is done by accelerated gradient steps, whose number has a proven bound. (A failure
would have to be hidden: that it happens could tell neighbours apart.) Problems whose public
condition is beyond `CONDITION` are refused before anything is charged: rounding, and the number of
those steps, grow with it.

*Which losses* (`convex`). A minimiser is only as stable as its loss is convex and smooth, so here, unlike in a
gradient sum, a wrong bound would break a guarantee. Hence only losses of this package are taken, by their exact type
(`dpsparse.losses.proven`): their slope, its derivative and the bound on that are constants of the
class, which no argument changes.

*Any number of rows.* :math:`\tau` and the condition count n rows, the public number. Under
add-remove more may be present, and rounding could then keep the search from its tolerance. So a
minimiser uses the first n records that are present, in the order of the rows, and no others
(`restricted`). Let a record be inserted at any place. If n records stand before it, the first n
stay the same. Otherwise it enters, all before it stay, and the n-th leaves if there were n. So the
records that are used differ by one that is added, or by one that replaces another: under
add-remove, too, the gradients of neighbours differ by those of `RECORDS` = 2 records. The same
holds where a record that is replaced becomes absent. No rule that uses all of n records and at most
n of more is better: the n + 1 subsets of n of n + 1 records all differ by two records.

References
----------
Nesterov, Introductory Lectures on Convex Optimization, 2004, Theorem 2.2.3: constant-step scheme
III.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...core.errors import PrivacyError
from ...core.facts import LARGEST_SIZE, SMALLEST_SIZE, Clip, Vector, in_range
from ...rows.support_rows import RestrictedRows
from ..losses import Loss, proven


@dataclass(frozen=True)
class Convex:
    r"""The slope :math:`\phi'` of a convex loss, its derivative, and the bound :math:`\beta_0` on that.

    Guarantee
    ---------
    ``slope`` does not fall with the margin, and is :math:`\beta_0`-Lipschitz in it; ``bend`` is its derivative wherever
    it has one, which is everywhere but at finitely many margins for each target.
    """

    slope: Callable[[Vector, Vector], Vector]
    bend: Callable[[Vector, Vector], Vector]
    curvature: float


class Smooth(Loss, Protocol):
    """A loss with a second derivative."""

    def bend(self, margin: Vector, y: Vector) -> Vector:
        """The second derivative in the margin, for each row."""
        ...


def convex(loss: Loss) -> Convex:
    """The convex parts of a loss; refuses a loss for which they are not proven."""
    if not proven(loss):
        raise PrivacyError(
            f"the minimiser of loss {loss.name!r} has no stability proof; this needs squared, "
            "Huber, logistic or Poisson loss. "
            "Use a recipe that asks for clipped gradients, such as 'dp_ight'."
        )
    smooth = cast(Smooth, loss)
    return Convex(smooth.slope, smooth.bend, smooth.curvature)


#: Records in which the rows of a minimiser differ between neighbours, under both adjacencies: one
#: enters and one leaves.
RECORDS = 2
#: Newton steps before the slower method with a proven number of steps takes over.
NEWTON_STEPS = 60
#: Coordinates up to which a Hessian is formed; beyond, Newton's equation is solved by conjugate gradients.
FORMED = 256


#: Largest public condition :math:`Q = n\beta_0K^2/\lambda`.
CONDITION = 1e8
#: The largest integer that a float holds with a bit to spare.
LARGEST = 2.0**52
#: Half of the distance between one and the next float: an operation is off by at most this part of its result.
HALF_ULP = 2.0**-53


@dataclass(frozen=True)
class Public:
    r"""What is known about a problem before rows are looked at.

    Parameters
    ----------
    clip : Clip
        L: bound on the norm of one row's gradient.
    row_norm, ridge, curvature : float
        K, :math:`\lambda` and :math:`\beta_0`.
    size : int
        k: coordinates.
    n_rows : int
        n.
    tilt : float
        B: bound on the norm of the tilt.
    """

    clip: Clip
    row_norm: float
    ridge: float
    curvature: float
    size: int
    n_rows: int
    tilt: float = 0.0

    @property
    def condition(self) -> float:
        """Q."""
        return self.n_rows * self.curvature * self.row_norm**2 / self.ridge

    def check(self) -> None:
        """Refuse a problem whose numbers cannot be squared, or that cannot be solved to a tolerance worth having."""
        if not (in_range(self.row_norm) and in_range(self.ridge)):
            raise PrivacyError(
                f"a minimiser needs a row norm and a positive ridge, between {SMALLEST_SIZE:g} and "
                f"{LARGEST_SIZE:g}, got {self.row_norm!r} and {self.ridge!r}."
            )
        refuse_condition(self.condition)

    def tolerance(self) -> float:
        r"""The tolerance :math:`\tau`.

        It is :math:`10^{-8} L`, or :math:`10^{-10} nL` for many rows, where sums have larger
        rounding errors, or more where the curvature of the problem is large.

        A sum of n terms of norm at most L is off by about :math:`10^{-16}\,nL\log n`: far less than
        a quarter of :math:`\tau`. A margin, a product of k numbers, is off by at most
        :math:`ku\|x\|\|\theta\|` in any order of summation, :math:`u = 2^{-53}`, and moves the
        row's gradient by at most :math:`\beta_0\|x\|` times that. Where
        :math:`\|\nabla J\| \le \tau`, :math:`\lambda\|\theta\| \le nL + B + \tau`; so all margins
        together move the gradient by at most
        :math:`n\beta_0K^2ku\|\theta\| \le kuQ(nL + B + \tau)`. Eight more operations are counted
        for each margin (slopes, their clip and their product with the row), and :math:`\tau` is at
        least four times the whole: a half of it is twice what rounding can hide, and what the
        search must get below.
        """
        size = self.n_rows * self.clip.norm
        rounded = 4 * (self.size + 8) * HALF_ULP * self.condition * (size + self.tilt)
        return max(1e-8 * self.clip.norm, 1e-10 * size, rounded)


def refuse_condition(condition: float) -> None:
    """Refuse a public condition beyond `CONDITION`."""
    if not condition <= CONDITION:
        raise PrivacyError(
            f"the ridge is too small: n times curvature times squared row norm is {condition:.3g} "
            "times it, and minimisers are stable up to "
            f"{CONDITION:g}. Use a larger ridge or alpha, or a smaller row_clip."
        )


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """The sum above, on rows that are already restricted and clipped. `clip` None: slopes as they are."""

    rows: tuple[RestrictedRows, ...]
    loss: Convex
    clip: Clip | None
    ridge: float
    tilt: Vector

    @classmethod
    def of(cls, rows: Iterable[RestrictedRows], loss: Convex, clip: Clip | None, ridge: float, tilt: Vector) -> Problem:
        """Gather rows; empty blocks are left out."""
        if not (math.isfinite(ridge) and ridge > 0):
            raise PrivacyError(f"a stable minimiser needs a positive ridge, got {ridge!r}.")
        return cls(tuple(r for r in rows if r.y.size), loss, clip, ridge, tilt)

    def margins(self, theta: Vector) -> list[Vector]:
        """Margins of all rows."""
        return [np.asarray(part.x @ theta).ravel() for part in self.rows]

    def slopes(self, margins: list[Vector]) -> list[Vector]:
        """Clipped slopes of all rows."""
        found = []
        for part, m in zip(self.rows, margins, strict=True):
            limit = self._limit(part)
            found.append(np.clip(self.loss.slope(m, part.y), -limit, limit))
        return found

    def gradient(self, theta: Vector) -> Vector:
        """The gradient of J."""
        total = self.ridge * theta + self.tilt
        for part, slope in zip(self.rows, self.slopes(self.margins(theta)), strict=True):
            total = total + np.asarray(part.x.T @ slope).ravel()
        return np.asarray(total)

    def bends(self, margins: list[Vector]) -> list[Vector]:
        """Second derivatives of all rows; zero where the slope is clipped."""
        found = []
        for part, m in zip(self.rows, margins, strict=True):
            inside = np.abs(self.loss.slope(m, part.y)) <= self._limit(part)
            found.append(self.loss.bend(m, part.y) * inside)
        return found

    def smoothness(self) -> float:
        """A bound on the largest eigenvalue of the Hessian: its trace."""
        return self.ridge + self.loss.curvature * sum(float(part.norms @ part.norms) for part in self.rows)

    def _limit(self, part: RestrictedRows) -> Vector | float:
        if self.clip is None:
            return math.inf
        largest = math.inf if self.clip.slope is None else self.clip.slope
        return np.minimum(largest, self.clip.norm / np.maximum(part.norms, np.finfo(float).tiny))


def minimiser(problem: Problem, tau: float) -> Vector:
    """A point where the gradient is at most tau.

    The last iterate should rounding ever keep the search from getting there.

    That the search gets there within the range of public numbers is tried (tests), not proven. The
    last iterate is mostly near the minimiser even then, where a fixed vector would be far from it.
    No warning and no error leaves this function: they would tell about rows.
    """
    theta = np.zeros_like(problem.tilt)
    with np.errstate(all="ignore"):
        for _ in range(NEWTON_STEPS):
            g = problem.gradient(theta)
            if np.linalg.norm(g) <= tau / 2:
                return theta
            margins = problem.margins(theta)
            try:
                direction = _newton_direction(problem, problem.bends(margins), g)
                moved = theta + _step(problem, theta, margins, direction, float(g @ direction)) * direction
            except (np.linalg.LinAlgError, ValueError, ArithmeticError):  # not positive definite once it is rounded
                break
            if not np.isfinite(moved).all():
                break
            theta = moved
        return _accelerated(problem, theta, tau)


def _newton_direction(problem: Problem, bends: list[Vector], g: Vector) -> Vector:
    if g.size <= FORMED:
        from scipy.linalg import cho_factor, cho_solve  # takes long to import, and most fits do not need it

        hessian = problem.ridge * np.eye(g.size)
        for part, bend in zip(problem.rows, bends, strict=True):
            if sp.issparse(part.x):
                hessian = hessian + (part.x.T @ (sp.diags(bend) @ part.x)).toarray()
            else:
                hessian += part.x.T @ (bend[:, None] * part.x)
        return -np.asarray(cho_solve(cho_factor(hessian), g))

    def product(v: Vector) -> Vector:
        total = problem.ridge * v
        for part, bend in zip(problem.rows, bends, strict=True):
            total = total + np.asarray(part.x.T @ (bend * np.asarray(part.x @ v).ravel())).ravel()
        return np.asarray(total)

    size = float(np.linalg.norm(g))
    return _conjugate_gradients(product, -g, min(0.1, math.sqrt(size)) * size)


def _conjugate_gradients(product: Callable[[Vector], Vector], right: Vector, tolerance: float) -> Vector:
    x, r = np.zeros_like(right), right.copy()
    p, size = r.copy(), float(r @ r)
    for _ in range(2 * right.size):
        if math.sqrt(size) <= tolerance:
            break
        q = product(p)
        along = size / float(p @ q)
        x, r = x + along * p, r - along * q
        before, size = size, float(r @ r)
        p = r + (size / before) * p
    return x if x.any() else right


def _step(problem: Problem, theta: Vector, margins: list[Vector], direction: Vector, first: float) -> float:
    """A step at which the slope of J along `direction` is at most half of what it was.

    That slope rises with the step.
    """
    moves = problem.margins(direction)
    fixed, growth = float(problem.tilt @ direction), problem.ridge * float(direction @ direction)
    start = problem.ridge * float(theta @ direction) + fixed

    def along(t: float) -> float:
        slopes = problem.slopes([m + t * d for m, d in zip(margins, moves, strict=True)])
        return start + t * growth + math.fsum(float(s @ d) for s, d in zip(slopes, moves, strict=True))

    low, high, t = 0.0, math.inf, 1.0
    for _ in range(60):
        here = along(t)
        if abs(here) <= 0.5 * abs(first):
            break
        low, high = (t, high) if here < 0 else (low, t)
        t = 2 * t if math.isinf(high) else (low + high) / 2
    return t


def _accelerated(problem: Problem, theta: Vector, tau: float) -> Vector:
    r"""Nesterov's constant-step scheme for :math:`\lambda`-strongly convex, M-smooth functions.

    With :math:`Q = M/\lambda` and :math:`g_0` the first gradient, the gap to the minimum after t steps is at most
    :math:`(1 - Q^{-1/2})^t\,\|g_0\|^2/\lambda`, and :math:`\|\nabla J\|^2 \le 2M` times the gap: so
    :math:`t = \sqrt Q\,\log(2Q\|g_0\|^2/\tau^2)` steps are enough in exact arithmetic. Twice as many are allowed.
    """
    largest = problem.smoothness()
    condition = largest / problem.ridge
    momentum = (math.sqrt(condition) - 1) / (math.sqrt(condition) + 1)
    g = problem.gradient(theta)
    ratio = max(float(np.linalg.norm(g)) / (tau / 2), 2.0)
    enough = math.ceil(math.sqrt(condition) * (math.log(2 * condition) + 2 * math.log(ratio)))
    ahead = theta
    for _ in range(2 * enough + 10):
        g = problem.gradient(ahead)
        if np.linalg.norm(g) <= tau / 2:
            return ahead
        theta, before = ahead - g / largest, theta
        ahead = theta + momentum * (theta - before)
    return ahead


# ------------------------------------------------------------------------------------------------ released values


@dataclass(frozen=True)
class MinimiserSpec:
    r"""Tolerance, proven l2 sensitivity and lattice of the values of a minimiser.

    Parameters
    ----------
    tolerance : float
        :math:`\tau`: bound on the norm of the gradient at the values.
    sensitivity : float
        :math:`\Delta`: bound on the l2 distance of the values of neighbouring datasets.
    size : int
        m: how many values there are.
    strength : float
        Rounded sensitivity over the scale of the noise that the values get.
    units : float
        Steps of the released lattice per sensitivity.

    Guarantee
    ---------
    `whole` rounds to integers of :math:`u = \Delta/` `units`, which moves each of m coordinates by at most u/2, so that
    neighbours differ by at most :math:`\Delta + u\sqrt m` afterwards: `rounded_sensitivity`. Values beyond
    :math:`2^{52}` units are clipped, which moves no two of them apart.
    """

    tolerance: float
    sensitivity: float
    size: int
    strength: float
    units: float = 2.0**20

    @property
    def unit(self) -> float:
        """Width of the lattice that values are rounded to: the sensitivity over `units`."""
        return self.sensitivity / self.units

    @property
    def rounded_sensitivity(self) -> float:
        """l2 sensitivity after rounding to the lattice."""
        return self.sensitivity + self.unit * math.sqrt(self.size)

    @property
    def scale(self) -> float:
        """Standard deviation of the noise, in real units."""
        return self.rounded_sensitivity / self.strength

    def whole(self, values: Vector) -> NDArray[np.int64]:
        """Values in units of the lattice."""
        with np.errstate(all="ignore"):
            units = np.nan_to_num(np.rint(values / self.unit), nan=0.0, posinf=LARGEST, neginf=-LARGEST)
        return np.asarray(np.clip(units, -LARGEST, LARGEST), dtype=np.int64)
