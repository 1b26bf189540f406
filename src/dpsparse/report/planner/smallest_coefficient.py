r"""The smallest coefficient that a fit finds with probability 90 %, in the user's units.

It stands on the priced noise of the plan and on conventions: features are uniform with the assumed
standard deviation :math:`\sigma_x`, a target has a standard deviation of a third of its bound,
other coefficients are found.

**Select + polish.** A coefficient w moves its score by :math:`w\,\gamma`, where
:math:`\gamma = 0.37\,\sigma_x^2` times 0.4 (the part of residuals within their clip
:math:`R = 0.52\,\sigma_r`), or times the mean curvature for classes, whose clip is 1/2. It is
chosen before d others whose scores have Gumbel noise of scale :math:`\beta = 2\kappa eR/(n\eta)`
with odds :math:`e^{w\gamma/\beta}/d`, hence :math:`w\gamma \ge \beta(\ln d + \ln 9)` for 90 %;
sampling adds :math:`\mathrm{sd}(\sqrt{2\ln d} + 1.28)`, as a root of squares.

**Dual averaging.** Along a path of length :math:`\tau` the noise of a coefficient would grow to
:math:`\sigma = a\tau\kappa C/(n\mu)`, a being the weight of its column; but later gradients pull it
back at the rate :math:`\lambda = ha^2\sigma_x^2`, which keeps the part
:math:`\sqrt{(1-e^{-2\lambda\tau})/(2\lambda\tau)}` of it, while :math:`1-e^{-\lambda\tau}` of the
coefficient is learned. Found means: of the right sign and above 95 % of coefficients that are noise
alone, or above all but `sparsity` of them, with probability 90 %.
"""

from __future__ import annotations

import math

from scipy.special import ndtri

from ...accounting.pricing import PricedPlan
from ...algorithms.constants import PLANNER
from ...algorithms.dual_averaging import DualAveraging as Averaging
from ...algorithms.polish_schedule import entry_edges, select
from ...algorithms.select_polish import SELECTIONS, SelectAndPolish
from ...algorithms.table_schedule import TableSchedule
from ...algorithms.tables import TableDescent
from ...core.facts import Facts
from ...fitting import FitPlan
from .formulas import margin


def smallest_coefficient(prepared: FitPlan, *, scale: float, signal: float, left: float) -> float | None:
    """The smallest coefficient found with probability 90 %; None for algorithms without a formula.

    Parameters
    ----------
    prepared : FitPlan
    scale : float
        Standard deviation of a feature.
    signal : float
        What the best model explains of the target's variance.
    left : float
        Part of the signal that a typical fit leaves unexplained.
    """
    facts, priced, solver = prepared.facts, prepared.priced, prepared.solver
    if priced is None or not facts.target.direct:
        return None
    residual = facts.target_bound / 3 * math.sqrt(1 - signal * (1 - left))
    if isinstance(solver, SelectAndPolish):
        return _selected(facts, priced, solver, scale, residual, signal)
    if isinstance(solver, Averaging) and prepared.recipe.name == "dual_averaging":
        return _averaged(facts, priced, solver, scale, residual, signal)
    if isinstance(solver, TableDescent):
        return _descended(facts, solver, scale, residual, signal)
    return None


def _selected(
    facts: Facts, priced: PricedPlan, solver: SelectAndPolish, scale: float, residual: float, signal: float
) -> float | None:
    if solver.releases_constant(facts):
        return None
    n, d = facts.n_rows, facts.n_features
    edges = entry_edges(facts)[1:]
    entry = float(min(edges, key=lambda e: abs(math.log(e / (PLANNER.entry * scale)))))
    schedule = solver.schedule(facts, entry)
    selected = priced.branch(SELECTIONS) if solver.dense else priced
    strength = selected.branch(schedule.name).cost(select(schedule.rounds - 1)).strength
    if facts.target.classes:
        clip, slope, squares = 0.5, margin(signal)[1], 1.0
    else:
        clip, slope, squares = PLANNER.residual * residual, PLANNER.inside, PLANNER.clipped
    noise = 2 * priced.kappa * entry * clip / (n * strength)
    sampling = math.sqrt(PLANNER.square * squares / n) * scale * clip
    wanted = math.hypot(
        noise * (math.log(d) + math.log(9)), sampling * (math.sqrt(2 * math.log(max(d, 2))) + ndtri(PLANNER.found))
    )
    return float(wanted / (PLANNER.product * scale**2 * slope))


def _averaged(
    facts: Facts, priced: PricedPlan, solver: Averaging, scale: float, residual: float, signal: float
) -> float | None:
    if solver.releases_constant(facts):
        return None
    n, d, loop = facts.n_rows, facts.n_features, solver.loop
    root = math.sqrt(sum(priced.cost("gradient", t).strength ** 2 for t in range(loop.steps)))
    length = 1.0 if solver.weighting is None else 1 / solver.weighting.fill
    weight = length / (scale * math.sqrt(d))
    bend = margin(signal)[1] if facts.target.classes else facts.curvature
    spread = 1 / math.sqrt(bend) if facts.target.classes else residual
    path = loop.length * bend * (weight * scale) ** 2
    learned = -math.expm1(-path)
    kept = math.sqrt(-math.expm1(-2 * path) / (2 * path))
    noise = kept * weight * loop.length * priced.kappa * loop.clip / (n * root)
    rank = PLANNER.rank if facts.sparsity is None else min(PLANNER.rank, facts.sparsity / d)
    wanted = ndtri(1 - rank / 2) + ndtri(PLANNER.found)
    return float(wanted * math.hypot(noise / learned, spread / (scale * math.sqrt(n))))


def _descended(facts: Facts, solver: TableDescent, scale: float, residual: float, signal: float) -> float | None:
    r"""Of the average of a path, whose noise is that of one Newton step with the gradients of the last phase.

    Rows of length 1.2 have columns of spread :math:`1/(1.2\sqrt d)`, and clips are 1.3 times the 65
    % quantile of normal residuals.
    """
    if solver.releases_constant(facts):
        return None
    schedule = TableSchedule.of(facts, solver.level, race=bool(solver.few_coefficients))
    n, d = facts.n_rows, facts.n_features
    bend = margin(signal)[1] if facts.target.classes else facts.curvature
    clip = (
        schedule.class_clip if facts.target.classes else schedule.clip_factor(d) * ndtri(PLANNER.table_clip) * residual
    )
    spread = 1 / math.sqrt(bend) if facts.target.classes else residual
    column = 1 / (PLANNER.table_length * math.sqrt(d))
    noise = 2 * clip / (solver.level * math.sqrt(schedule.phases[-1].share)) / (bend * column) / scale
    rank = PLANNER.rank if facts.sparsity is None else min(PLANNER.rank, facts.sparsity / d)
    wanted = ndtri(1 - rank / 2) + ndtri(PLANNER.found)
    return float(wanted * math.hypot(noise, spread / (scale * math.sqrt(n))))
