"""The methods of the papers by name: ours with honest noise, as printed (NOT PRIVATE), without privacy, and ours that no paper has."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpsparse import SparseClassifier, SparseRegressor, recipes
from dpsparse.queries.kinds.protocol import Path as Iterates
from dpsparse.report.bench.study import GRID

from . import printed
from .cases import Case

#: In the name of every method whose noise is that of a paper's theorem.
PRINTED = " as printed (NOT PRIVATE)"
#: In the name of every method without noise.
EXACT = ", not private"
#: Private models with all coefficients: the better of the two is the best dense baseline.
DENSE = ("DP-SGD, dense model", "dual averaging, dense model")


@dataclass(frozen=True)
class Ask:
    """What one fit is asked for; `point` counts the points of a grid from 1."""

    epsilon: float
    delta: float
    seed: int
    point: int = 0
    keep_path: bool = False


@dataclass(frozen=True)
class Fitted:
    """Coefficients, and the released iterates where they were asked for."""

    coef: np.ndarray
    path: Iterates | None = None


@dataclass(frozen=True)
class Method:
    """How a model is fitted; `noise`: run at every epsilon; `grid`: number of points, 0 for none."""

    fit: Callable[[Case, Ask], Fitted]
    noise: bool = True
    grid: int = 0


def estimate(case: Case, ask: Ask, recipe: Any, *, limited: bool = True, **options: Any) -> Fitted:
    """Fit our estimator without intercept, as the papers do; `limited`: with the sparsity that the paper sets."""
    made = recipes.make(recipe)
    kind = SparseRegressor if case.task == "regression" else SparseClassifier
    if made.private:
        options |= {"epsilon": ask.epsilon, "delta": ask.delta}
    penalty = {"penalty": case.penalty, "alpha": case.alpha} if case.penalty in made.penalties else {}
    model = kind(
        recipe=recipe,
        sparsity=case.sparsity if limited else case.X.shape[1],
        fit_intercept=False,
        random_state=ask.seed,
        keep_path=ask.keep_path,
        accept=made.needs,
        **penalty,
        **case.bounds,
        **options,
    ).fit(case.X, case.y)
    return Fitted(np.ravel(model.coef_), model.path_ if ask.keep_path else None)


def ours(recipe: Any, noise: bool = True, **options: Any) -> Method:
    """A recipe with its public defaults."""
    return Method(lambda case, ask: estimate(case, ask, recipe, **options), noise)


def grid(count: int, make: Callable[[Case, Ask], Any]) -> Method:
    """A recipe at the points of a grid."""
    return Method(lambda case, ask: estimate(case, ask, make(case, ask)), grid=count)


def as_printed(loop: Callable[[Case, float, float, int, int], np.ndarray], count: int) -> Method:
    """A loop with the noise of its paper, at the points of a grid."""
    return Method(lambda case, ask: Fitted(loop(case, ask.epsilon, ask.delta, ask.seed, ask.point)), grid=count)


def _zero(case: Case, ask: Ask) -> Fitted:
    return Fitted(np.zeros(case.X.shape[1]))


def _optimum(case: Case, ask: Ask) -> Fitted:
    assert case.optimum is not None
    return Fitted(case.optimum)


# ------------------------------------------------------------------------------------------------ grids of the papers


def _ight(case: Case, ask: Ask) -> Any:
    """001: step 2^0 .. 2^-6, in units of one over the largest curvature of s columns; T = 20, which no paper prints."""
    step = 2.0 ** (1 - ask.point) / printed.largest_curvature(case)
    return recipes.DPIGHT(mechanism="dense", decay=False, steps=20, step_size=step)


def _frank_wolfe(case: Case, ask: Ask) -> Any:
    """001: T = 0.5 s, s, 1.5 s (every fifth of its values; s at most 200); the radius is the true one, where there is a truth."""
    steps = max(1, round((0.5, 1.0, 1.5)[ask.point - 1] * min(case.sparsity or 10, 200)))
    radius = None if case.truth is None else float(np.abs(case.truth).sum())
    return recipes.DPFrankWolfe(steps=steps, radius=radius)


def _two_stage(case: Case, ask: Ask) -> Any:
    """001: lambda = c s/epsilon, c of 1e-3 .. 1e2, for a sum of losses."""
    ridge = 10.0 ** (ask.point - 4) * (case.sparsity or 1) / (ask.epsilon * case.rows)
    return recipes.TwoStage(ridge=ridge)


def _transfer(case: Case, ask: Ask) -> Any:
    """001: lambda = c sqrt(s log d log(1/delta))/(n epsilon), c of 1e-6 .. 1e1."""
    s, d = case.sparsity or 1, case.X.shape[1]
    size = math.sqrt(s * math.log(d) * math.log(1 / ask.delta)) / (case.rows * ask.epsilon)
    return recipes.DPSLKT(ridge=10.0 ** (ask.point - 7) * size)


def _labels(case: Case, ask: Ask) -> Any:
    return recipes.DPSLKT(release="labels", auxiliary="uniform" if case.public is None else case.public)


def _slope_unit(case: Case) -> float:
    largest = float(np.max(np.abs(np.array(case.bounds["feature_bound"]))))
    norm = min(case.bounds.get("row_norm", math.inf), largest * math.sqrt(case.X.shape[1]))
    return float(case.bounds.get("target_bound", 3.0) / 3 * norm)


def _gcd(rule: str) -> Callable[[Case, Ask], Any]:
    """002: passes 1, 4, 10, 20; clips of 1/2 and 1 typical slope; the step 1/M."""

    def make(case: Case, ask: Ask) -> Any:
        steps, clip = (1, 4, 10, 20)[(ask.point - 1) % 4], (0.5, 1.0)[(ask.point - 1) // 4]
        return recipes.DPGCD(rule=rule, steps=steps, clip=clip * _slope_unit(case), step_size=1.0)

    return make


def _cd(case: Case, ask: Ask) -> Any:
    """002: passes .001, .01, .1, 1; clips of 1/2 and 1 typical slope."""
    passes, clip = (0.001, 0.01, 0.1, 1.0)[(ask.point - 1) % 4], (0.5, 1.0)[(ask.point - 1) // 4]
    steps = min(max(1, round(passes * case.X.shape[1])), 3000)
    return recipes.DPCD(steps=steps, clip=clip * _slope_unit(case), order_seed=ask.seed)


def _sgd(case: Case, ask: Ask) -> Any:
    """002: 50 steps; step sizes over five powers of ten; clips of 1/2 and 1 typical slope."""
    power, clip = (-6.0, -3.0, -2.0, -1.0)[(ask.point - 1) % 4], (0.5, 1.0)[(ask.point - 1) // 4]
    unit = _slope_unit(case) * 3 / case.bounds.get("target_bound", 3.0)
    natural = case.X.shape[1] / ((0.25 if case.task == "classification" else 1.0) * unit**2)
    return recipes.DPSGD(steps=50, clip=clip * _slope_unit(case), step_size=10.0**power * natural)


def _labels_of_people(case: Case, ask: Ask) -> Any:
    """003: step 0.2 or 0.1, T = ceil(log(n/p))."""
    steps = max(1, math.ceil(math.log(case.rows / case.X.shape[1])))
    return recipes.LabelLDPIHT(steps=steps, step_size=(0.2, 0.1)[ask.point - 1])


def _iht_400(case: Case, ask: Ask) -> Any:
    """003: T = 400; a step of 1, 1/4 or 1/16 over the largest curvature, in place of a line search on the data."""
    step = 4.0 ** (1 - ask.point) / printed.largest_curvature(case)
    return recipes.DPIGHT(mechanism="dense", decay=False, steps=400, step_size=step)


def _power(ask: Ask, case: Case) -> float:
    """004: steps 10, 1 .. 1e-4; for its squared loss without the 1/2 twice as long."""
    return 10.0 ** (2 - ask.point) * (2.0 if case.task == "regression" else 1.0)


def _gd_ht(case: Case, ask: Ask) -> Any:
    return recipes.DPIGHT(mechanism="dense", decay=False, steps=100, step_size=_power(ask, case))


def _sgd_ht(case: Case, ask: Ask) -> Any:
    return recipes.DPSGDHT(steps=200, batch_size=case.rows / 10, step_size=_power(ask, case))


def _scsg_ht(case: Case, ask: Ask) -> Any:
    return recipes.DPSCSGHT(
        epochs=10, batch_size=case.rows / 2, inner_batch_size=case.rows / 20, step_size=_power(ask, case)
    )


#: Private recipes of the central model, by their own names.
RECIPES = (
    "select_polish",
    "tables",
    "dual_averaging",
    "lazy_iht",
    "dp_ight",
    "dp_gcd",
    "dp_frank_wolfe",
    "two_stage",
    "dpsl_kt",
    "dp_sgd_ht",
    "dp_scsg_ht",
    "dp_svrg_ht",
    "dp_sgd",
    "dp_cd",
)
#: Name: method. Those of a paper's grid end with `GRID`; they are shown at the best point on the shown metric, which flatters.
METHODS: dict[str, Method] = {
    "zero": Method(_zero, noise=False),
    f"optimum{EXACT}": Method(_optimum, noise=False),
    f"IGHT{EXACT}": ours(recipes.IGHT(restart=True), noise=False),
    f"SCSG-HT{EXACT}": ours("scsg_ht", noise=False),
    f"GCD{EXACT}": ours("gcd", noise=False),
    "auto": ours("auto"),
    "DP-SGD, dense model": ours("dp_sgd", limited=False),
    "dual averaging, dense model": ours("dual_averaging", limited=False),
    "DP-IGHT": ours("dp_ight"),
    "DP-IGHT dense": ours(recipes.DPIGHT(mechanism="dense")),
    f"DP-IGHT dense{GRID}": grid(7, _ight),
    f"DP-IGHT{PRINTED}{GRID}": as_printed(printed.dp_ight, 7),
    "Frank-Wolfe": ours("dp_frank_wolfe"),
    f"Frank-Wolfe{GRID}": grid(3, _frank_wolfe),
    f"Frank-Wolfe{PRINTED}{GRID}": as_printed(printed.frank_wolfe, 3),
    "Two stage": ours("two_stage"),
    f"Two stage{GRID}": grid(6, _two_stage),
    "DPSL-KT": ours("dpsl_kt"),
    "DPSL-KT labels": Method(lambda case, ask: estimate(case, ask, _labels(case, ask))),
    f"DPSL-KT{GRID}": grid(8, _transfer),
    f"DPSL-KT{PRINTED}{GRID}": as_printed(printed.dpsl_kt, 8),
    "DP-GCD": ours("dp_gcd"),
    **{f"DP-GCD {rule}": ours(recipes.DPGCD(rule=rule)) for rule in ("gs-s", "gs-r", "gs-q")},
    f"DP-GCD{GRID}": grid(8, _gcd("auto")),
    f"DP-GCD{PRINTED}{GRID}": as_printed(printed.dp_gcd, 8),
    "DP-CD": ours("dp_cd"),
    f"DP-CD{GRID}": grid(8, _cd),
    "DP-SGD": ours("dp_sgd"),
    f"DP-SGD{GRID}": grid(8, _sgd),
    "Label-LDP-IHT": ours("label_ldp_iht"),
    "Label-LDP-IHT, dense model": ours("label_ldp_iht", limited=False),
    f"Label-LDP-IHT{GRID}": grid(2, _labels_of_people),
    f"Label-LDP-IHT{PRINTED}{GRID}": as_printed(printed.label_ldp_iht, 2),
    "DP-IHT": ours("dp_ight"),
    f"DP-IHT{GRID}": grid(3, _iht_400),
    "DP-GD-HT": ours(recipes.DPIGHT(mechanism="dense")),
    f"DP-GD-HT{GRID}": grid(6, _gd_ht),
    "DP-SGD-HT": ours("dp_sgd_ht"),
    f"DP-SGD-HT{GRID}": grid(6, _sgd_ht),
    f"DP-SGD-HT{PRINTED}{GRID}": as_printed(printed.sgd_ht, 6),
    "DP-SCSG-HT": ours("dp_scsg_ht"),
    f"DP-SCSG-HT{GRID}": grid(6, _scsg_ht),
    f"DP-SCSG-HT{PRINTED}{GRID}": as_printed(printed.scsg_ht, 6),
    **{name: ours(name) for name in RECIPES},
    "dual_averaging, no weights": ours(recipes.DualAveraging(weights="none"), limited=False),
    "dual_averaging, all features": ours("dual_averaging", limited=False),
}
