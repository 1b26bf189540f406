r"""PrivUnit: the randomiser for a vector in an l2 ball.

`Span` is an orthonormal basis of the span of a few unit vectors, from their inner products alone. Simulations draw the
sum of many reports in it, without the single reports.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv, betaln, expit

from ..randomness import Randomness
from .coins import bounded_probability, check_epsilon, check_positive, polar
from .scalar import Reports, Vector

#: A vector is its own direction if so much of its squared length lies outside the span of the ones
#: before it. Smaller parts would be known to fewer digits: products of rows are right to about
#: 1e-15, so a part of 1e-6 is right to nine digits.
NEW = 1e-6
#: It lies in their span if no more than this lies outside, which is what rounding leaves of nothing.
NOTHING = 1e-14


@dataclass(frozen=True)
class Span:
    """An orthonormal basis of the span of some rows U of unit length (or zero): ``Q = inverse(R').T U[first]``.

    Attributes
    ----------
    first : array of int
        The rows that the basis is made of.
    factor : array
        R, upper triangular: ``R' R`` are the inner products of these rows.
    coordinates : array of shape (rows, rank)
        Every row in the basis.
    near : array of bool
        Rows that are near to the span and not in it: floats do not tell well what is outside. Their
        coordinates are not to be used.
    """

    first: NDArray[np.intp]
    factor: Vector
    coordinates: Vector
    near: NDArray[np.bool_]

    @classmethod
    def of(cls, gram: Vector) -> Span:
        """From the inner products of the rows."""
        from scipy.linalg.lapack import dpstrf

        factor, pivots, rank, _ = dpstrf(gram, tol=NEW)
        order = pivots - 1
        upper = np.triu(factor[:rank])
        rows = np.zeros((order.size, rank))
        rows[order] = upper.T
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        near = np.diagonal(gram) - lengths**2 > NOTHING
        near[order[:rank]] = False
        rows /= np.where(lengths > 0, lengths, 1.0)[:, None]
        return cls(order[:rank], upper[:, :rank], rows, near)

    @property
    def rank(self) -> int:
        """Dimensions of the span."""
        return int(self.first.size)

    def solve(self, products: Vector) -> Vector:
        """Coordinates of the part in the span of a vector, from its inner products with the rows."""
        from scipy.linalg import solve_triangular

        return np.asarray(solve_triangular(self.factor, products[self.first], trans=1)) if self.rank else np.zeros(0)

    def expand(self, coordinates: Vector) -> Vector:
        """A vector of the span as a combination of the rows."""
        from scipy.linalg import solve_triangular

        out = np.zeros(self.near.size)
        if self.rank:
            out[self.first] = solve_triangular(self.factor, coordinates)
        return out


Rows = Any  # a numpy array or a CSR matrix

#: Steps of the lattice of reports per typical size of an entry of a report.
STEPS = 2.0**20
#: Reports are 32-bit integers, so a report has fewer entries than this.
LARGEST_DIMENSION = 2**21
#: People whose reports are summed at once in a simulation: large for few normals, small for few products of rows.
BATCH = 16
#: The same for sparse rows, whose products cost little.
SPARSE_BATCH = 64
#: Shorter rows are reported one by one: batches pay where rows are much longer than they are many.
SHORTEST = 16 * SPARSE_BATCH


@dataclass(frozen=True)
class Cap:
    r"""A cap :math:`\{z : \langle z, u\rangle \ge \gamma\}` of the unit sphere in p dimensions.

    `mass` is its share q of the sphere, and `log_lean` the logarithm of q times the mean of
    :math:`\langle z,u\rangle` over it:
    :math:`A = (1-\gamma^2)^{(p-1)/2}/((p-1)\,B(\frac12, \frac{p-1}2))`.
    """

    dimension: int
    mass: float
    gamma: float
    log_lean: float

    @classmethod
    def of_mass(cls, dimension: int, mass: float) -> Cap:
        """The cap that holds a share `mass` of the sphere, at most a half."""
        a = (dimension - 1) / 2
        if mass < 0.05:  # near the pole 1 - gamma^2 is the accurate one
            excess = float(betaincinv(a, 0.5, 2 * mass))
            gamma = math.sqrt(1 - excess)
        else:
            gamma = math.sqrt(float(betaincinv(0.5, a, max(1 - 2 * mass, 0.0))))
            excess = 1 - gamma**2
        return cls(dimension, mass, gamma, a * math.log(excess) - math.log(2 * a) - float(betaln(a, 0.5)))

    def strength(self, inside: float) -> float:
        r"""The mean m of :math:`\langle z,u\rangle` when the cap is hit with probability P.

        It is :math:`m = A\,(P/q - (1-P)/(1-q))`.
        """
        q = self.mass
        return inside * math.exp(self.log_lean - math.log(q)) - (1 - inside) / (1 - q) * math.exp(self.log_lean)


@lru_cache(maxsize=256)
def best_cap(dimension: int, epsilon: float) -> Cap:
    r"""The cap of the largest m for this epsilon, searched over its mass q.

    A cap much smaller than :math:`e^{-\epsilon}` is hardly ever hit, so masses are searched down to
    :math:`e^{-\epsilon-10}`; and no further than :math:`e^{-600}` (:math:`e^{-300}` for p = 2),
    which floats can hold: beyond epsilon of about 600 a report is less exact than it might be, and
    as private.
    """

    def value(log_mass: float) -> float:
        mass = math.exp(log_mass)
        inside = float(expit(epsilon + log_mass - math.log1p(-mass)))
        return Cap.of_mass(dimension, mass).strength(inside)

    lowest = -min(600.0, 300.0 * (dimension - 1), epsilon + 10.0)
    grid = np.linspace(lowest, math.log(0.5), 400)
    best = int(np.argmax([value(g) for g in grid]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)]
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(60):  # golden section; m is unimodal between neighbours of the best point
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if value(left) >= value(right) else (left, high)
    return Cap.of_mass(dimension, math.exp((low + high) / 2))


@dataclass(frozen=True)
class PrivUnit:
    r"""PrivUnit [B18]_ for vectors v of norm at most r, in its exact form.

    :math:`\gamma = 0` is Duchi et al.'s [DJW18]_.

    1. :math:`u = \pm v/\|v\|`, plus with probability :math:`\frac12 + \|v\|/2r` (a uniform
       direction for v = 0).
    2. With probability P a uniform point z of the cap :math:`\langle z,u\rangle \ge \gamma`, of
       mass q; otherwise of the rest.
    3. Report :math:`(r/m)\,z`, rounded to a public lattice.

    Guarantee
    ---------
    **Density ratio.** On the sphere a report has density :math:`P/q` in the cap and
    :math:`(1-P)/(1-q)` outside. :math:`P = e^\epsilon q/(1-q+e^\epsilon q)`, rounded down to a
    multiple of :math:`2^{-53}`, makes the ratio :math:`e^\epsilon` at most: exactly, without the
    slack of the cap bounds in the paper. Step 1 mixes two such laws, and the uniform density 1 lies
    between the two levels, so any two inputs are within :math:`e^\epsilon`. Rounding is
    post-processing. **Unbiased.** :math:`E\langle z,u\rangle = m = A\,(P/q - (1-P)/(1-q))` with
    :math:`A = (1-\gamma^2)^{(p-1)/2}/((p-1)B(\frac12,\frac{p-1}2))`, nothing else has a mean by
    symmetry, and step 1 gives :math:`E\,u = v/r`. Hence :math:`E\,\text{report} = v`, up to half a
    step of the lattice. **Variance.** :math:`\|\text{report}\| = r/m` always, so
    :math:`E\|\text{report}-v\|^2 = r^2/m^2 - \|v\|^2`.

    Floats: the coin of step 2 is exact. The point z is drawn in floats and released on a lattice of
    :math:`2^{20}` steps per typical entry, the same lattice for every input, so that low bits of
    floats are never seen; each cell's probability is then right to about :math:`p\,2^{-32}`, which
    is an estimate and not a proof (``docs/limits.md``).

    Parameters
    ----------
    dimension : int
        p, at least 2; one number has its own randomisers.
    epsilon : float
    radius : float
        r: vectors are clipped to it.
    gamma : float or None
        None: the one of the least variance.

    References
    ----------
    .. [B18] Bhowmick, Duchi, Freudiger, Kapoor and Rogers, 2018: protection against reconstruction.
    .. [DJW18] Duchi, Jordan and Wainwright, Journal of the American Statistical Association 113, 2018.
    """

    dimension: int
    epsilon: float
    radius: float = 1.0
    gamma: float | None = None

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_positive(self.radius, "the radius of a ball")
        if not 2 <= self.dimension < LARGEST_DIMENSION:
            raise ValueError(
                f"PrivUnit takes vectors of 2 to {LARGEST_DIMENSION - 1} entries, got {self.dimension}. "
                "Use a randomiser for one number, or fewer features."
            )
        if self.gamma is not None and not 0 <= self.gamma < 1:
            raise ValueError(f"gamma must lie in [0, 1), got {self.gamma!r}.")

    @cached_property
    def cap(self) -> Cap:
        """Which cap."""
        if self.gamma is None:
            return best_cap(self.dimension, self.epsilon)
        mass = 0.5 if self.gamma == 0 else 0.5 * float(betainc((self.dimension - 1) / 2, 0.5, 1 - self.gamma**2))
        if mass < 1e-280:
            raise ValueError(f"gamma = {self.gamma!r} leaves a cap that floats cannot hold; choose a smaller one.")
        return Cap.of_mass(self.dimension, mass)

    @cached_property
    def inside(self) -> float:
        """P: the probability of a report within the cap."""
        return bounded_probability(self.epsilon + math.log(self.cap.mass) - math.log1p(-self.cap.mass))

    @cached_property
    def largest(self) -> float:
        """The norm of every report, r/m, but for the lattice."""
        return self.radius / self.cap.strength(self.inside)

    @property
    def unit(self) -> float:
        """One step of the lattice of reports."""
        return self.largest / self._span

    @property
    def _span(self) -> float:
        """The norm of every report in steps."""
        return STEPS * math.sqrt(self.dimension)

    def reports(self, values: Vector, randomness: Randomness) -> Reports:
        """One report for each row of `values`.

        Rows beyond the radius are clipped to it, rows that are not finite are zero.
        """
        generator = randomness.generator()
        u, norms = polar(values)
        plus, height = self._coins(norms, generator)
        z = self._points(u, plus, height, generator.standard_normal(u.shape))
        z *= self._span
        return np.rint(z, out=z).astype(np.int32)

    def total(self, values: Rows, randomness: Randomness) -> NDArray[np.int64]:
        r"""The sum of one report for each row of `values`, in units of the lattice.

        For simulations, which need no single report.

        Where rows are much longer than a batch of people (`BATCH`), the sum is drawn without its
        terms. In an orthonormal basis that begins with the span of the directions of a batch and
        goes on with a uniform basis of the rest, B independent Gaussian vectors are B r independent
        normals and, in the rest, the triangle of Bartlett: normals below a diagonal of chi
        variables with :math:`p-r, p-r-1, \dots` degrees of freedom. Every point is made from these
        few numbers by the same lines as a report; their sum has a part in the span and, by
        symmetry, a uniform direction in the rest.

        Guarantee
        ---------
        The law is that of the sum of reports, each rounded only after they are added:
        post-processing of points that are as private one by one as reports are. Directions that lie
        in the span of the others but for :math:`10^{-7}` of their length are moved into it; those
        that lie nearer to it than :math:`10^{-3}` are drawn one by one.
        """
        if self.dimension < SHORTEST or values.shape[0] == 1:
            return self._one_by_one(values, randomness)
        batch = SPARSE_BATCH if sp.issparse(values) else BATCH
        drawn, reported = np.zeros(self.dimension), np.zeros(self.dimension, dtype=np.int64)
        for start in range(0, values.shape[0], batch):
            part, rows = values[start : start + batch], None
            with np.errstate(over="ignore", invalid="ignore"):
                gram = part @ part.T
            gram = gram.toarray() if sp.issparse(gram) else gram
            norms = np.sqrt(np.diagonal(gram))
            if np.all((norms == 0) | ((norms > 1e-150) & (norms < 1e150))):
                lengths = np.where(norms > 0, norms, 1.0)
                span = Span.of(gram / lengths / lengths[:, None])
                drawn += self._batch(part, norms, lengths, span, randomness.generator())
                rows = part[span.near]
            else:  # NaN, or squares that leave the range of floats
                rows = part
            if rows.shape[0]:
                reported += self._one_by_one(rows, randomness)
        drawn *= self._span
        return np.asarray(reported + np.rint(drawn).astype(np.int64))

    def _one_by_one(self, values: Rows, randomness: Randomness) -> NDArray[np.int64]:
        dense = values.toarray() if sp.issparse(values) else values
        return np.asarray(self.reports(dense, randomness).sum(axis=0, dtype=np.int64))

    def _batch(
        self, values: Rows, norms: Vector, lengths: Vector, span: Span, generator: np.random.Generator
    ) -> Vector:
        """The sum of the points of a batch, but for the rows that are near its span."""
        shown = ~span.near
        people, rank = int(shown.sum()), span.rank
        plus, height = self._coins(norms[shown], generator)
        drawn = np.zeros((people, rank + people))
        drawn[:, :rank] = generator.standard_normal((people, rank))
        drawn[:, rank:] = np.tril(generator.standard_normal((people, people)), -1)
        at = np.arange(people)
        drawn[at, rank + at] = np.sqrt(generator.chisquare(self.dimension - rank - at))
        u = np.zeros_like(drawn)
        u[:, :rank] = span.coordinates[shown]
        total = self._points(u, plus, height, drawn).sum(axis=0)
        # a uniform direction of the rest: normals, less their part in the span
        normals = generator.standard_normal(self.dimension)
        inner = span.solve((values @ normals) / lengths)
        across = math.sqrt(float(normals @ normals) - float(inner @ inner))
        length = float(np.linalg.norm(total[rank:])) / across
        normals *= length
        normals += (span.expand(total[:rank] - length * inner) / lengths) @ values
        return normals

    def _coins(self, norms: Vector, generator: np.random.Generator) -> tuple[NDArray[np.bool_], Vector]:
        """The coin of step 1, and the height of step 2."""
        people = norms.size
        plus = generator.random(people) < 0.5 + np.minimum(norms, self.radius) / self.radius / 2
        height = self._heights(generator.random(people) < self.inside, generator.random(people))
        height *= np.where(norms > 0, 1.0, 0.0)  # nothing to say: a uniform point
        return np.asarray(plus), height

    @staticmethod
    def _points(u: Vector, plus: NDArray[np.bool_], height: Vector, z: Vector) -> Vector:
        """Points of these heights above unit rows `u`, from Gaussian rows `z`; both are used up."""
        z -= np.einsum("ij,ij->i", z, u)[:, None] * u
        width = np.sqrt(np.einsum("ij,ij->i", z, z))
        z *= (np.sqrt(1 - height**2) / np.maximum(width, 1e-300))[:, None]
        u *= (height * np.where(plus, 1.0, -1.0))[:, None]
        z += u
        return z

    def _heights(self, hit: NDArray[np.bool_], uniform: Vector) -> Vector:
        r"""The products :math:`\langle z,u\rangle` for points of the cap or of the rest.

        They are computed from the share of the sphere that lies above the points.
        """
        a, q = (self.dimension - 1) / 2, self.cap.mass
        above = np.where(hit, q * uniform, q + (1 - q) * uniform)
        tail = 2 * np.minimum(above, 1 - above)
        deep = tail < 0.1  # each formula where it is accurate
        squares = np.empty_like(above)
        squares[deep] = 1 - betaincinv(a, 0.5, tail[deep])
        squares[~deep] = betaincinv(0.5, a, 1 - tail[~deep])
        return np.asarray(np.where(above <= 0.5, 1.0, -1.0) * np.sqrt(np.clip(squares, 0.0, 1.0)))

    def valid(self, reports: Reports) -> bool:
        """Whether these could be reports: of this many entries, and of the norm that every report has."""
        if reports.shape[-1] != self.dimension:
            return False
        norms = np.sqrt(np.square(reports.astype(float)).sum(axis=-1))
        return bool(np.all(np.abs(norms - self._span) <= 0.5 * math.sqrt(self.dimension) + 1e-9 * self._span))

    def variance(self, norm: float = 0.0) -> float:
        """Mean squared error of a report about a vector of this norm."""
        return self.largest**2 - norm**2
