r"""Select + polish: select a few coordinates by noisy correlation, polish them by preconditioned steps, and repeat.

.. math::
    S \leftarrow S \cup \mathrm{top}_b\,
    \bigl|\tfrac1n\textstyle\sum_i \mathrm{clip}(x_{ij})\,\mathrm{clip}(\phi'_i)\bigr|
    + \text{noise}, \qquad w \leftarrow w - \gamma \circ P\,\tilde g_S(w)

Noise is asked for only where it decides: scores rank d coordinates at the price of a few
selections, gradients are released on the support alone, and every clip is a priced quantile.
:math:`P` comes from a cheap noisy Gram matrix of which only what stands clear of its noise is
believed; :math:`\gamma` takes less of a step the more of it is noise; at the end coefficients that
noise and sampling explain are shrunk away. An intercept is paid for before every selection, and
selected columns are measured from their paid means, so that neither needs centred data.

How many coordinates are selected follows from the size of a typical entry, which is asked first:
each answer has a branch of the plan, and all branches cost the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..core.budget import Budget
from ..core.facts import Facts, Vector
from ..core.plan import Ask, Noise, Plan
from ..ops import group_norms, largest_groups
from ..queries.kinds import (
    CentredGradient,
    CentredModel,
    ColumnMeans,
    Correlation,
    Curvature,
    Indices,
    IntervalContrast,
    Magnitude,
    ModalEntry,
    Oracle,
    Path,
    ResidualMean,
)
from . import column_locations as origins
from .column_locations import ColumnLocations
from .constants import ENGINE, POLISH, ROWS
from .engine import Queries, believed, constant_only, constant_plan
from .finish import Score
from .polish_schedule import BudgetShares, PolishSchedule, Rule, entry_edges, select, typical_entry
from .polish_steps import Preconditioner, gains, shrunken, stein_scale

if TYPE_CHECKING:
    from .tables import TableDescent

#: Branches of a plan: a path on all columns whose largest coefficients are kept, or selections.
WHOLE, SELECTIONS = "whole gradients", "selections"


@dataclass(frozen=True, kw_only=True, eq=False)
class SelectAndPolish:
    """Select + polish.

    Parameters
    ----------
    sparsity : int
        At most this many coordinates; where columns have groups, `ops.groups_of` them.
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
    dense : TableDescent or None
        Who goes on from there where columns turn out to be rare indicators, so that whole gradients
        cost less than selections; None: nobody.
    selection_noise, noise : Noise
        What protects a choice, and a sum.
    """

    sparsity: int
    rho: float
    rule: Rule
    ridge: float = 0.0
    told: bool = False
    means: float = 0.0
    dense: TableDescent | None = None
    selection_noise: Noise = Noise.GUMBEL
    noise: Noise = Noise.GAUSSIAN

    def plan(self, facts: Facts, budget: Budget) -> Plan:
        """The size of a typical entry; then, for each number of coordinates that may follow, everything else."""
        if self.releases_constant(facts):
            return constant_plan(self.noise, self.selection_noise, classes=facts.target.classes)
        shares = self._shares(facts)
        found = (PolishSchedule.of(shares, facts, self.rho, self.sparsity, edge) for edge in entry_edges(facts)[1:])
        schedules = {s.name: s for s in found}
        share = POLISH.entry_share * self.rule.scalars * shares.rest
        branches = tuple((n, s.plan(gaussian=self.noise, gumbel=self.selection_noise)) for n, s in schedules.items())
        scale = Ask(name="scale", question="ModalEntry", noise=self.selection_noise, share=share)
        plan = Plan(asks=(scale,), branches=branches)
        if not self.means:
            return plan
        first = tuple(origins.asks(self.means, POLISH.means_length, self.noise, self.selection_noise))
        left, names = 1 - sum(ask.share for ask in first), tuple(ask.name for ask in first)
        plan = plan.with_share(left)
        if self._dense is None:
            return replace(plan, asks=(*first, *plan.asks), order=(*names, "scale"))
        dense = self._dense.plan(facts, budget).with_share(left)
        return Plan(asks=first, order=names, branches=((WHOLE, dense), (SELECTIONS, plan)))

    @property
    def _dense(self) -> TableDescent | None:
        return self.dense and replace(self.dense, noise=self.noise, selection_noise=self.selection_noise)

    def releases_constant(self, facts: Facts) -> bool:
        """Whether nothing but the constant is released."""
        return constant_only(facts, facts.n_rows * math.sqrt(2 * self.rho))

    def _shares(self, facts: Facts) -> BudgetShares:
        told = self.told or self.means > 0
        return BudgetShares(
            rule=self.rule, intercept=facts.free > 0, means_known=told or facts.means is not None, told=told
        )

    def schedule(self, facts: Facts, entry: float) -> PolishSchedule:
        """What is asked once the size of a typical entry is known."""
        return PolishSchedule.of(self._shares(facts), facts, self.rho, self.sparsity, entry)

    def run(self, oracle: Oracle, path: Path | None = None, origin: ColumnLocations | None = None) -> Vector:
        """Return the polished coefficients; everything here is post-processing."""
        edges, queries = entry_edges(oracle.facts), Queries(oracle)
        if self.releases_constant(oracle.facts):
            return queries.constant(oracle.facts.n_rows * math.sqrt(2 * self.rho))
        if self.means:
            origin = ColumnLocations.learn(queries, _lengths, ROWS)
        if self.dense and origin is not None:
            if origin.heavy_tailed(self.sparsity, oracle.facts.half_widths):
                oracle.take_branch(WHOLE)
                return self.dense.run(oracle, path, origin)
            oracle.take_branch(SELECTIONS)
        question = ModalEntry(self.rule.entry_part, edges, None if origin is None else origin.means)
        entry = float(edges[1 + int(oracle.answer(question, "scale")[0])])
        schedule = self.schedule(oracle.facts, entry)
        oracle.take_branch(schedule.name)
        return _Run(self, queries, schedule, entry, path, origin).result()


def _lengths(longest: float) -> Vector:
    """The grid for lengths of rows."""
    return np.geomspace(POLISH.shortest * longest, longest, POLISH.whole.points)


class _Run:
    """One run: what is known so far. `offset` is that of centred features; `b` that of the features as shown."""

    def __init__(
        self,
        solver: SelectAndPolish,
        queries: Queries,
        schedule: PolishSchedule,
        entry: float,
        path: Path | None,
        origin: ColumnLocations | None,
    ) -> None:
        facts = queries.facts
        self.origin = origin
        self.means = facts.means if origin is None else origin.means
        self.solver, self.queries, self.schedule, self.entry, self.path = solver, queries, schedule, entry, path
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
        self.b = self.residual = self.curvature = self.length = self.widest = 0.0
        self.columns = 1  # of the support when the last length was asked
        self.fresh = 0  # of the support: selected last
        self.stein, self.doubt = 1.0, 0.0  # `doubt` is the variance of the mean slope
        self.clear = facts.n_rows * math.sqrt(2 * solver.rho * schedule.each)

    def result(self) -> Vector:
        """Rounds of selecting and polishing, then shrinkage and a last step of the intercept."""
        if self.free:
            self._start()
        first = self.b
        sizes = self.schedule.sizes
        for r in range(len(self.schedule.supports)):
            if r < len(sizes):
                self._select(r)
            else:
                self._cut()
            precondition = self._precondition(r)
            for t in range(self.schedule.steps[r]):
                self._step(precondition, fresh=self.fresh if t == 0 and r < len(sizes) else 0)
                if self.path is not None:
                    self.path.add(self._full(), self.queries.oracle)
        offset = self._model().offset
        score = Score(self.support, self.centre, self._shrink(), first, offset)
        part, offset = self.schedule.finish.run(self.queries, score, self._typical, self.widest)
        self.w = part * score.w
        if self.free:
            self.b = offset - float(self.centre @ self.w)
            self._intercept(min(3 * self.residual, self.high))
        if self.path is not None:
            self.path.add(self._full(), self.queries.oracle, thresholds=1)
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
        return self.queries.quantile(of, self._model(), part, np.geomspace(low, high, POLISH.whole.points), ask)

    # ---------------------------------------------------------------------------------------------- intercept

    def _start(self) -> None:
        """Ask for the constant: the log-odds of the classes, or the median of numbers."""
        if self.schedule.classes:
            self.b, _, noise = self.queries.log_odds()
            p = 1 / (1 + math.exp(-self.b))
            self.residual, self.doubt = max(p, 1 - p), noise**2
        else:
            coarse = self.schedule.level * math.sqrt(self.schedule.first) < POLISH.coarse_level
            self.b = self.queries.median(ENGINE.whole.thin_median_points if coarse else ENGINE.whole.median_points)

    def _intercept(self, bound: float) -> None:
        """Move the intercept by that part of the mean slope that is no noise, for it was answered once before.

        Slopes of classes are not clipped: those of a rare class are long, and a clip would change its share.
        """
        classes = self.schedule.classes
        bound = 1.0 if classes else bound
        mean, noise = self.queries.noisy(ResidualMean(self._model(), bound), "intercept")
        wrong = self.doubt + (POLISH.drift if classes else POLISH.number_drift * self._typical) ** 2
        part = wrong / (wrong + noise**2)
        self.doubt = (1 - part) * wrong
        self.b -= part * float(mean[0]) / self.facts.curvature

    # ---------------------------------------------------------------------------------------------- rounds

    def _select(self, r: int) -> None:
        """Clip residuals, move the intercept, select coordinates and learn their means."""
        if r or not self.schedule.classes:
            self._residual()
            if self.free:
                self._intercept(self.residual)
        elif not self.free:
            self.residual = 0.5  # at zero every slope is one half
        of: Correlation | IntervalContrast = Correlation(self._model(), self.residual, self.entry)
        if self.origin is not None:
            ends = self.origin.interval(self.entry, self.facts.half_widths)
            of = IntervalContrast(self._model(), self.residual, *ends)
        new = self.queries.oracle.choose(of, Magnitude(), self.schedule.sizes[r], select(r), self.support)
        self.fresh = new.size
        centre = np.zeros(new.size)
        if self.free and self.means is not None:
            centre = self.means[new]
        elif self.free:
            centre = self._means(new)
        self.support = np.concatenate([self.support, new])
        self.centre, self.w, self.last = (
            np.concatenate(pair) for pair in ((self.centre, centre), (self.w, 0 * centre), (self.last, 0 * centre))
        )

    def _residual(self) -> None:
        """The clip of residuals for selections: numbers are looked for near the last answer."""
        low, high = self.low, self.high
        known = self.residual > 0 and not self.schedule.classes
        if known:
            below, above = POLISH.pair.near_residual
            low, high = below * self.residual, min(above * self.residual, self.high)
        self.residual = self._quantile("slopes", self.residual_quantile, low, high, "residual")
        if not known and not self.schedule.classes:
            level = self.schedule.level * math.sqrt(self.schedule.first)
            self.doubt = (POLISH.start_doubt / level * self._typical) ** 2 * self.free
            self.widest = self._typical

    @property
    def _typical(self) -> float:
        """A typical residual: about one standard deviation of normal ones."""
        return (
            POLISH.class_typical if self.schedule.classes else min(POLISH.typical_residual * self.residual, self.high)
        )

    def _means(self, new: Indices) -> Vector:
        """Means of new columns, shrunk towards the origin by their noise (James and Stein).

        They are means of rows that are clipped to a typical norm.
        """
        means, noise = self.queries.noisy(ColumnMeans(new, self.size * math.sqrt(new.size)), "means")
        means = np.clip(means, -self.facts.feature_bound, self.facts.feature_bound)
        return means * believed(means, noise)

    def _cut(self) -> None:
        """Drop the coordinates, or groups, of the smallest coefficients until no spare ones are left."""
        keep = np.sort(np.argsort(-np.abs(self.w), kind="stable")[: self.schedule.coordinates])
        if self.facts.groups is not None:
            keep = largest_groups(self.w, self.facts.groups[self.support], self.schedule.coordinates)
        offset = self._model().offset
        self.support = self.support[keep]
        self.centre, self.w, self.last = self.centre[keep], self.w[keep], self.last[keep]
        self.b = offset - float(self.centre @ self.w)

    @property
    def _norm(self) -> float:
        """Bound on the norm of a row on the support."""
        return min(self.facts.row_bound, self.facts.feature_bound * math.sqrt(self.support.size))

    def _precondition(self, r: int) -> Preconditioner:
        m, longest = self.support.size, self._norm
        fewest, most = POLISH.pair.beyond_range
        beyond = min(max(POLISH.beyond / self.clear, fewest), most)
        if self.origin is not None:
            beyond = min(beyond, self.origin.rows_elsewhere(self.support, self.facts.half_widths) / 2)
        shortest = POLISH.shortest * longest
        if self.length:
            expected = self.length / (POLISH.beyond_scale + beyond) * math.sqrt(m / self.columns)
            shortest = min(POLISH.near_length * expected, longest / 2)
        found = self._quantile("rows", 1 - beyond, shortest, longest, "norms")
        self.length, self.columns = min((POLISH.beyond_scale + beyond) * found, longest), m
        if self.schedule.supports[r] < POLISH.whole.least_gram:
            return Preconditioner.none(m)
        return Preconditioner.of(*self.queries.gram(self.support, self.centre, self.length, "gram"), self.length)

    def _step(self, precondition: Preconditioner, fresh: int) -> None:
        """One shrunken step on the support, of whose coordinates the last `fresh` are new; the offset stays."""
        model, m, n = self._model(), self.support.size, self.facts.n_rows
        first = self.schedule.classes and not np.any(self.w)
        part = POLISH.first_clip_quantile if first else self.schedule.quantile
        low, high = POLISH.clip_depth * self.low, self.high
        if not self.schedule.classes:
            below, above = POLISH.pair.near_clip
            low, high = below * self._typical, min(above * self._typical, self.high)
        clip = self._quantile("gradients", part, low * self.length, high * self.length, "clip")
        h = self._bend(Curvature(model, clip, self.length))
        answer, noise = self.queries.noisy(CentredGradient(model, clip), "gradient")
        inverse, gradient = precondition.inverse(h), answer + self.solver.ridge * self.w
        step = inverse @ gradient
        length = precondition.length(step, gradient, h)
        step, spread = length * step, length * noise * np.sqrt(np.sum(inverse**2, axis=1))
        old = np.arange(m) < m - fresh
        taken = gains(step, spread, self.last, old)
        # new ones are believed as far as coefficients that explain all of the target together exceed their noise
        numbers, classes = POLISH.pair.prior
        explained = (classes if self.schedule.classes else numbers * self._typical) ** 2 * self.facts.curvature
        taken[~old] *= explained / (explained + h * m * spread[~old] ** 2)
        self.w = self.w - taken * step
        self.last = np.hypot((1 - taken) * self.last, taken * spread)
        self.stein = 1.0
        if first:
            beyond = float(self.w @ self.w - self.last @ self.last) - m / (n * h)
            self.stein = stein_scale(beyond * h / self.facts.curvature)
            self.w, self.last = self.w * self.stein, self.last * self.stein
        self.b = model.offset - float(self.centre @ self.w)
        self.curvature = h

    def _bend(self, question: Curvature) -> float:
        """Mean curvature along a coordinate: not below what its noise and the intercept's centring leave certain."""
        top = self.facts.curvature * self.length**2 / self.support.size
        least = POLISH.pair.curvature_floor[not self.free]
        found, noise = self.queries.noisy(question, "curvature")
        return min(max(float(found[0]), least * top, 2 * noise), top) + self.solver.ridge

    def _shrink(self) -> Vector:
        """Shrink away what the noise of the last step, and sampling among d candidates, explain."""
        rule, k = self.solver.rule, self.schedule.coordinates
        scale = self.stein if self.schedule.classes else self.residual
        sampling = scale**2 / (self.facts.n_rows * self.curvature)
        chance = 2 * rule.shrinkage * math.log(self.facts.candidates / k)
        w = shrunken(self.w, np.sqrt(self.last**2 + chance * sampling))
        if self.facts.groups is not None:
            labels = self.facts.groups[self.support]
            noise = np.bincount(labels, weights=self.last**2 + sampling) + chance * sampling
            sizes = group_norms(self.w, labels)
            w = self.w * (shrunken(sizes, np.sqrt(noise)) / np.maximum(sizes, 1e-300))[labels]
        if self.clear >= POLISH.poor_level:
            return w
        margin = POLISH.most_margin if self.schedule.classes else self.facts.target_bound
        most = margin / np.maximum(self.facts.half_widths[self.support], 1e-300)
        return np.clip(w, -most, most)
