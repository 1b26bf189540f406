r"""Select + polish: select a few coordinates by noisy correlation, polish them by preconditioned steps, and repeat.

.. math::
    S \leftarrow S \cup \mathrm{top}_b\,\bigl|\tfrac1n\textstyle\sum_i \mathrm{clip}(x_{ij})\,\mathrm{clip}(\phi'_i)\bigr|
    + \text{noise}, \qquad w \leftarrow w - \gamma \circ P\,\tilde g_S(w)

Noise is asked for only where it decides: scores rank d coordinates at the price of a few selections, gradients are released on
the support alone, and every clip is a priced quantile. :math:`P` comes from a cheap noisy Gram matrix of which only what
stands clear of its noise is believed; :math:`\gamma` takes less of a step the more of it is noise; at the end coefficients that
noise and sampling explain are shrunk away. An intercept is paid for before every selection, and selected columns are
measured from their paid means, so that neither needs centred data.

How many coordinates are selected follows from the size of a typical entry, which is asked first: each answer has a branch of
the plan, and all branches cost the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..core.budget import Budget
from ..core.facts import Facts, Projection, Vector
from ..core.plan import Ask, Noise, Plan
from ..queries.kinds import (
    CentredGradient,
    CentredModel,
    ColumnMeans,
    Correlation,
    Curvature,
    Gram,
    Indices,
    IntervalContrast,
    Magnitude,
    ModalEntry,
    Oracle,
    Path,
    ProjectedModel,
    Quantile,
    ResidualMean,
    Select,
)
from . import column_locations as origins
from .column_locations import ColumnLocations
from .constants import ENGINE, POLISH
from .polish_schedule import BudgetShares, Rule, Schedule, entry_edges, select, typical_entry
from .polish_steps import Preconditioner, gains, shrunken, stein_scale, symmetric
from .screening import class_share


@dataclass(frozen=True, kw_only=True, eq=False)
class SelectAndPolish:
    """Select + polish.

    Parameters
    ----------
    sparsity : int
        At most this many coordinates.
    rho : float
        The budget that public choices (how many coordinates, how many steps) are made for; never a noise scale.
    rule : Rule
        Constants.
    ridge : float
        Weight of an l2 penalty.
    told : bool
        Whether the means of all columns will be known from elsewhere when it runs.
    means : float
        Share of the means of all columns, which are asked for first; 0: they are not asked.
    selection_noise, noise : Noise
        What protects a choice, and a sum.
    """

    sparsity: int
    rho: float
    rule: Rule
    ridge: float = 0.0
    told: bool = False
    means: float = 0.0
    selection_noise: Noise = Noise.GUMBEL
    noise: Noise = Noise.GAUSSIAN

    def plan(self, facts: Facts, budget: Budget) -> Plan:
        """The size of a typical entry; then, for each number of coordinates that may follow, everything else."""
        schedules = {s.name: s for s in (self._schedule(facts, edge) for edge in entry_edges(facts)[1:])}
        share = POLISH.entry_share * self.rule.scalars * self._shares(facts).rest
        branches = tuple((n, s.plan(gaussian=self.noise, gumbel=self.selection_noise)) for n, s in schedules.items())
        scale = Ask(name="scale", question="ModalEntry", noise=self.selection_noise, share=share)
        plan = Plan(asks=(scale,), branches=branches)
        if not self.means:
            return plan
        first = origins.asks(self.means, POLISH.means_length, self.noise, self.selection_noise)
        plan = plan.with_share(1 - sum(ask.share for ask in first))
        return replace(plan, asks=(*first, *plan.asks), order=tuple(ask.name for ask in (*first, *plan.asks)))

    def _shares(self, facts: Facts) -> BudgetShares:
        return BudgetShares(
            rule=self.rule, intercept=facts.free > 0, means_known=self.told or self.means > 0 or facts.means is not None
        )

    def _schedule(self, facts: Facts, entry: float) -> Schedule:
        return Schedule.of(self._shares(facts), facts, self.rho, self.sparsity, entry)

    def run(self, oracle: Oracle, path: Path | None = None, origin: ColumnLocations | None = None) -> Vector:
        """Return the polished coefficients; everything here is post-processing."""
        edges = entry_edges(oracle.facts)
        if self.means:
            origin = ColumnLocations.learn(oracle, lambda frame, reach, ask: _row_length(oracle, frame, reach, ask))
        question = ModalEntry(self.rule.entry_part, edges, None if origin is None else origin.means)
        entry = float(edges[1 + int(oracle.answer(question, "scale")[0])])
        schedule = self._schedule(oracle.facts, entry)
        oracle.take_branch(schedule.name)
        return _Run(self, oracle, schedule, entry, path, origin).result()


def _row_length(oracle: Oracle, frame: Projection, longest: float, ask: str) -> float:
    """A typical length of rows in a frame, at most `longest`."""
    points = np.geomspace(POLISH.shortest * longest, longest, POLISH.whole.points)
    question = Quantile("rows", ProjectedModel(frame, np.zeros(frame.size), 0.0), POLISH.length_quantile, points)
    return min(longest, POLISH.length_factor * float(points[int(oracle.answer(question, ask)[0])]))


class _Run:
    """One run: what is known so far. `offset` is that of centred features; `b` that of the features as shown."""

    def __init__(
        self,
        solver: SelectAndPolish,
        oracle: Oracle,
        schedule: Schedule,
        entry: float,
        path: Path | None,
        origin: ColumnLocations | None,
    ) -> None:
        facts = oracle.facts
        self.origin = origin
        self.means = facts.means if origin is None else origin.means
        self.solver, self.oracle, self.schedule, self.entry, self.path = solver, oracle, schedule, entry, path
        self.facts, self.free = facts, facts.free > 0
        self.low, self.high = POLISH.pair.class_residual
        if not schedule.classes:
            self.high = min(facts.target_bound, facts.slope_bound)
            self.low = self.high / POLISH.residual_depth
        self.size = typical_entry(solver.rule, facts, entry)
        heavy = facts.heavy_tailed(self.size)
        self.residual_quantile = POLISH.heavy_quantile if heavy else solver.rule.residual_quantile
        self.support: Indices = np.zeros(0, dtype=np.intp)
        self.centre, self.w, self.last = np.zeros(0), np.zeros(0), np.zeros(0)
        self.b = self.residual = self.curvature = self.length = 0.0
        self.stein, self.turn, self.gram_turn, self.moved = 1.0, 0, 0, 0
        self.doubt = 0.0  # variance of the mean slope
        self.clear = facts.n_rows * math.sqrt(2 * solver.rho * schedule.each)

    def result(self) -> Vector:
        """Rounds of selecting and polishing, then shrinkage and a last step of the intercept."""
        if self.free:
            self._start()
        sizes = self.schedule.sizes
        for r in range(len(self.schedule.supports)):
            if r < len(sizes):
                self._select(r)
            else:
                self._cut()
            precondition = self._precondition()
            for t in range(self.schedule.steps[r]):
                self._step(precondition, fresh=sizes[r] if t == 0 and r < len(sizes) else 0)
                if self.path is not None:
                    self.path.add(self._full(), self.oracle)
        offset = self._model().offset
        self.w = self._shrink()
        if self.free:
            self.b = offset - float(self.centre @ self.w)
            self._intercept(min(3 * self.residual, self.high))
        if self.path is not None:
            self.path.add(self._full(), self.oracle, thresholds=1)
        return self._full()

    # ---------------------------------------------------------------------------------------------- models

    def _model(self) -> CentredModel:
        return CentredModel(self.support, self.centre, self.w, self.b + float(self.centre @ self.w))

    def _full(self) -> Vector:
        w = np.zeros(self.facts.dimension)
        w[self.support] = self.w
        if self.free:
            w[-1] = self.b / self.facts.intercept
        return w

    def _quantile(self, of: str, part: float, low: float, high: float, ask: str) -> float:
        grid = np.geomspace(low, high, POLISH.whole.points)
        return float(grid[int(self.oracle.answer(Quantile(of, self._model(), part, grid), ask)[0])])

    # ---------------------------------------------------------------------------------------------- intercept

    def _start(self) -> None:
        if self.schedule.classes:
            question = ResidualMean(self._model(), 0.5)
            mean = float(self.oracle.answer(question, "start")[0])
            self.doubt = self.oracle.deviation(question, "start", 0) ** 2
            p = class_share(mean)
            self.b, self.residual = math.log(p / (1 - p)), max(p, 1 - p)
        else:
            bound = self.facts.target_bound
            grid = np.linspace(-bound, bound, ENGINE.whole.median_points)
            self.b = float(grid[int(self.oracle.answer(Quantile("targets", self._model(), 0.5, grid), "start")[0])])

    def _intercept(self, bound: float) -> None:
        """Move the intercept by what the mean slope says; for classes by that part of it that is no noise, for it was told once before."""
        question = ResidualMean(self._model(), bound)
        noise = self.oracle.deviation(question, "intercept", self.moved) ** 2
        mean = float(self.oracle.answer(question, "intercept")[0])
        part = 1.0
        if self.schedule.classes and self.origin is not None:
            wrong = self.doubt + POLISH.drift**2
            part = wrong / (wrong + noise)
            self.doubt = (1 - part) * wrong
        self.b -= part * mean / self.facts.curvature
        self.moved += 1

    # ---------------------------------------------------------------------------------------------- rounds

    def _select(self, r: int) -> None:
        """Clip residuals, move the intercept, select coordinates and learn their means."""
        if r or not self.schedule.classes:
            self.residual = self._quantile("slopes", self.residual_quantile, self.low, self.high, "residual")
            if self.free:
                self._intercept(self.residual)
        elif not self.free:
            self.residual = 0.5  # at zero every slope is one half
        of: Correlation | IntervalContrast = Correlation(self._model(), self.residual, self.entry)
        if self.origin is not None:
            ends = self.origin.interval(self.entry, self.facts.half_widths)
            of = IntervalContrast(self._model(), self.residual, *ends)
        question = Select(of, Magnitude(), self.schedule.sizes[r], self.support)
        new = np.asarray(self.oracle.answer(question, select(r)), dtype=np.intp)
        centre = np.zeros(new.size)
        if self.free and self.means is not None:
            centre = self.means[new]
        elif self.free:
            centre = self._means(new, r)
        self.support = np.concatenate([self.support, new])
        self.centre, self.w, self.last = (
            np.concatenate(pair) for pair in ((self.centre, centre), (self.w, 0 * centre), (self.last, 0 * centre))
        )

    def _means(self, new: Indices, r: int) -> Vector:
        """Means of new columns, of rows held at a typical length, shrunk towards the origin by their noise (James and Stein)."""
        question = ColumnMeans(new, self.size * math.sqrt(new.size))
        noise, bound = self.oracle.deviation(question, "means", r), self.facts.feature_bound
        means = np.clip(self.oracle.answer(question, "means"), -bound, bound)
        return np.asarray(means * max(0.0, 1 - new.size * noise**2 / max(float(means @ means), 1e-300)))

    def _cut(self) -> None:
        """Drop the coordinates of the smallest coefficients until no spare ones are left."""
        keep = np.sort(np.argsort(-np.abs(self.w), kind="stable")[: self.schedule.coordinates])
        offset = self._model().offset
        self.support = self.support[keep]
        self.centre, self.w, self.last = self.centre[keep], self.w[keep], self.last[keep]
        self.b = offset - float(self.centre @ self.w)

    @property
    def _norm(self) -> float:
        """Bound on the norm of a row on the support."""
        return min(self.facts.row_bound, self.facts.feature_bound * math.sqrt(self.support.size))

    def _precondition(self) -> Preconditioner:
        m, longest = self.support.size, self._norm
        fewest, most = POLISH.pair.beyond_range
        beyond = min(max(POLISH.beyond / self.clear, fewest), most)
        found = self._quantile("rows", 1 - beyond, POLISH.shortest * longest, longest, "norms")
        self.length = min((POLISH.beyond_scale + beyond) * found, longest)
        if m < POLISH.whole.least_gram:
            return Preconditioner.none(m)
        question = Gram(self.support, self.centre, self.length)
        noise = self.oracle.deviation(question, "gram", self.gram_turn)
        self.gram_turn += 1
        return Preconditioner.of(symmetric(self.oracle.answer(question, "gram"), m), noise, self.length)

    def _step(self, precondition: Preconditioner, fresh: int) -> None:
        """One shrunken step on the support, of whose coordinates the last `fresh` are new; the offset stays."""
        model, m, n = self._model(), self.support.size, self.facts.n_rows
        first = self.schedule.classes and not np.any(self.w)
        part = POLISH.first_clip_quantile if first else self.schedule.quantile
        low = POLISH.clip_depth * self.low * self.length
        clip = self._quantile("gradients", part, low, self.high * self.length, "clip")
        h = self._bend(Curvature(model, clip, self.length))
        question = CentredGradient(model, clip)
        noise = self.oracle.deviation(question, "gradient", self.turn)
        inverse = precondition.inverse(h)
        gradient = self.oracle.answer(question, "gradient") + self.solver.ridge * self.w
        step = inverse @ gradient
        length = precondition.length(step, gradient, h)
        step, spread = length * step, length * noise * np.sqrt(np.sum(inverse**2, axis=1))
        taken = gains(step, spread, self.last, np.arange(m) < m - fresh)
        self.w = self.w - taken * step
        self.last = np.hypot((1 - taken) * self.last, taken * spread)
        self.stein = 1.0
        if first:
            beyond = float(self.w @ self.w - self.last @ self.last) - m / (n * h)
            self.stein = stein_scale(beyond * h / self.facts.curvature)
            self.w, self.last = self.w * self.stein, self.last * self.stein
        self.b = model.offset - float(self.centre @ self.w)
        self.curvature = h
        self.turn += 1

    def _bend(self, question: Curvature) -> float:
        """Mean curvature along a coordinate: not below what its noise and the intercept's centring leave certain."""
        top = self.facts.curvature * self.length**2 / self.support.size
        least = POLISH.pair.curvature_floor[not self.free]
        floor = max(least * top, 2 * self.oracle.deviation(question, "curvature", self.turn))
        found = float(self.oracle.answer(question, "curvature")[0])
        return min(max(found, floor), top) + self.solver.ridge

    def _shrink(self) -> Vector:
        """Shrink away what the noise of the last step, and sampling among d candidates, explain."""
        rule, k = self.solver.rule, self.schedule.coordinates
        scale = self.stein if self.schedule.classes else self.residual
        sampling = scale**2 / (self.facts.n_rows * self.curvature)
        chance = 2 * rule.shrinkage * math.log(self.facts.n_features / k)
        return shrunken(self.w, np.sqrt(self.last**2 + chance * sampling))
