"""The methods of the papers by name: ours with honest noise, as printed (NOT PRIVATE), without privacy, and ours that no paper has."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from dpsparse import SparseClassifier, SparseRegressor, recipes
from dpsparse.queries.kinds.protocol import Path as Iterates
from dpsparse.report.bench.study import GRID

from . import printed, published
from .batch_of_one import batch_of_one
from .cases import Ask, Case
from .grids import Axis, Grid

#: In the name of every method whose noise is that of a paper's theorem.
PRINTED = " as printed (NOT PRIVATE)"
#: In the name of a loop as printed whose noise is off: what its grid can reach.
OFF = " as printed, noise off"
#: In the name of every other method without noise.
EXACT = ", not private"
#: Private models with all coefficients: the better of the two is the best dense baseline.
DENSE = ("DP-SGD, dense model", "dual averaging, dense model")


@dataclass(frozen=True)
class Fitted:
    """Coefficients, and the released iterates where they were asked for."""

    coef: np.ndarray
    path: Iterates | None = None


@dataclass(frozen=True)
class Method:
    """How a model is fitted; `noise`: run at every epsilon; `grids`: those of sets of data, and under "" that of all others."""

    fit: Callable[[Case, Ask], Fitted]
    noise: bool = True
    grids: Mapping[str, Grid] = field(default_factory=dict)

    def grid(self, data: str) -> Grid | None:
        """The grid on a set of data, if there is one."""
        return self.grids.get(data, self.grids.get(""))


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


def grid(grids: Grid | Mapping[str, Grid], make: Callable[[Case, Ask], Any]) -> Method:
    """A recipe at the points of a grid."""
    return Method(lambda case, ask: estimate(case, ask, make(case, ask)), grids=_by_data(grids))


def as_printed(
    name: str, loop: Callable[[Case, Ask], np.ndarray], grids: Grid | Mapping[str, Grid]
) -> dict[str, Method]:
    """A loop with the noise of its paper, and the same loop with the noise off, at the points of a grid."""
    made = Method(lambda case, ask: Fitted(loop(case, ask)), grids=_by_data(grids))
    return {f"{name}{PRINTED}{GRID}": made, f"{name}{OFF}{GRID}": replace(made, noise=False)}


def _by_data(grids: Grid | Mapping[str, Grid]) -> Mapping[str, Grid]:
    return {"": grids} if isinstance(grids, Grid) else grids


def _zero(case: Case, ask: Ask) -> Fitted:
    return Fitted(np.zeros(case.X.shape[1]))


def _optimum(case: Case, ask: Ask) -> Fitted:
    assert case.optimum is not None
    return Fitted(case.optimum)


# ------------------------------------------------------------------------------------------------ grids


#: 000 prints no grid: steps in units of one over the largest curvature of s columns.
IGHT = Grid({"steps": Axis((1, 5, 20, 60), "limit", "time"), "step": Axis((1 / 16, 1 / 4, 1.0, 4.0, 16.0, 64.0))})
#: 001: every fifth of its eleven values.
FRANK_WOLFE = Grid({"steps over s": Axis((0.5, 1.0, 1.5), "paper", "paper")}, "001, section 5")
TWO_STAGE = Grid({"log10 c": Axis(tuple(range(-3, 3)), "paper", "paper")}, "001, section 5")
TRANSFER = Grid({"log10 c": Axis(tuple(range(-6, 2)), "paper", "paper")}, "001, section 5")
#: 003 prints two steps and T = ceil(log(n/p)).
PEOPLE = Grid({"step": Axis((0.2, 0.1), ordered=False)}, "003, section 7.1", {"step": 0.2})
#: 003 prints T = 400 and a line search on the data, for which steps of ours over the largest curvature stand.
FOREST = Grid({"steps": Axis((400,)), "step": Axis((1.0, 1 / 4, 1 / 16), "time")}, "003, section 7.2", {"steps": 400})


def _ight(case: Case, ask: Ask) -> Any:
    step = ask.at["step"] / printed.largest_curvature(case)
    return recipes.DPIGHT(mechanism="dense", decay=False, steps=ask.at["steps"], step_size=step)


def _frank_wolfe(case: Case, ask: Ask) -> Any:
    """001: T = 0.5 s, s, 1.5 s (s at most 200); the radius is the true one, where there is a truth."""
    steps = max(1, round(ask.at["steps over s"] * min(case.sparsity or 10, 200)))
    radius = None if case.truth is None else float(np.abs(case.truth).sum())
    return recipes.DPFrankWolfe(steps=steps, radius=radius)


def _two_stage(case: Case, ask: Ask) -> Any:
    """001: lambda = c s/epsilon, for a sum of losses."""
    return recipes.TwoStage(ridge=10.0 ** ask.at["log10 c"] * (case.sparsity or 1) / (ask.epsilon * case.rows))


def _transfer(case: Case, ask: Ask) -> Any:
    """001: lambda = c sqrt(s log d log(1/delta))/(n epsilon)."""
    s, d = case.sparsity or 1, case.X.shape[1]
    size = math.sqrt(s * math.log(d) * math.log(1 / ask.delta)) / (case.rows * ask.epsilon)
    return recipes.DPSLKT(ridge=10.0 ** ask.at["log10 c"] * size)


def _labels(case: Case, ask: Ask) -> Any:
    return recipes.DPSLKT(release="labels", auxiliary="uniform" if case.public is None else case.public)


def _labels_of_people(case: Case, ask: Ask) -> Any:
    steps = max(1, math.ceil(math.log(case.rows / case.X.shape[1])))
    return recipes.LabelLDPIHT(steps=steps, step_size=ask.at["step"])


def _iht_400(case: Case, ask: Ask) -> Any:
    step = ask.at["step"] / printed.largest_curvature(case)
    return recipes.DPIGHT(mechanism="dense", decay=False, steps=ask.at["steps"], step_size=step)


def _paper_004(epochs: int) -> Grid:
    """Its six steps, and the number of epochs that its tables print as chosen."""
    steps = Axis(tuple(10.0**power for power in range(1, -5, -1)), "paper", "paper")
    return Grid({"epochs": Axis((epochs,)), "step": steps}, "004, section 6.1", {"epochs": epochs})


#: 004, for the printed noise: few, large batches too, which its formula rewards, and longer steps than its own on texts.
LONGER = Axis((0.1, 1.0, 10.0, 30.0, 100.0, 300.0, 1000.0), "", "time")
SHORTER = Axis((0.01, 0.1, 1.0, 10.0, 30.0, 100.0))
BATCHES = Axis(((0.1, 200), (0.5, 40), (1.0, 20), (1.0, 10)), ordered=False)
SNAPSHOTS = Axis(((0.5, 0.05, 10), (0.5, 0.25, 5), (0.5, 0.5, 5), (1.0, 1.0, 2), (1.0, 1.0, 5)), ordered=False)


def _plans(name: str, plans: Axis, chosen: Any) -> dict[str, Grid]:
    """The plan that the paper's tables print as chosen among others, on texts and on images."""
    return {
        data: Grid({name: plans, "step": steps}, chosen={name: chosen})
        for data, steps in (("", LONGER), ("chest x-ray folds", SHORTER))
    }


SGD_PLANS = _plans("part of the rows, steps", BATCHES, (0.1, 200))
SCSG_PLANS = _plans("B/n, b/n, J", SNAPSHOTS, (0.5, 0.05, 10))
GD_PLANS = _plans("steps", Axis((5, 20, 100), "", "paper"), 100)


def _gd_ht(case: Case, ask: Ask) -> Any:
    return recipes.DPIGHT(mechanism="dense", decay=False, steps=ask.at["epochs"], step_size=printed.step_of(case, ask))


def _sgd_ht(case: Case, ask: Ask) -> Any:
    """Batches of a tenth of the rows."""
    return recipes.DPSGDHT(steps=10 * ask.at["epochs"], batch_size=case.rows / 10, step_size=printed.step_of(case, ask))


def _scsg_ht(case: Case, ask: Ask) -> Any:
    """Snapshots of half of the rows, inner batches of a twentieth."""
    return recipes.DPSCSGHT(
        epochs=ask.at["epochs"],
        batch_size=case.rows / 2,
        inner_batch_size=case.rows / 20,
        step_size=printed.step_of(case, ask),
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
    f"DP-IGHT dense{GRID}": grid(IGHT, _ight),
    **as_printed("DP-IGHT", printed.dp_ight, IGHT),
    "Frank-Wolfe": ours("dp_frank_wolfe"),
    f"Frank-Wolfe{GRID}": grid(FRANK_WOLFE, _frank_wolfe),
    **as_printed("Frank-Wolfe", printed.frank_wolfe, FRANK_WOLFE),
    "Two stage": ours("two_stage"),
    f"Two stage{GRID}": grid(TWO_STAGE, _two_stage),
    "DPSL-KT": ours("dpsl_kt"),
    "DPSL-KT labels": Method(lambda case, ask: estimate(case, ask, _labels(case, ask))),
    f"DPSL-KT{GRID}": grid(TRANSFER, _transfer),
    **as_printed("DPSL-KT", printed.dpsl_kt, TRANSFER),
    **as_printed("DPSL-KT (λ as in section 5)", partial(printed.dpsl_kt, squared=False), TRANSFER),
    "DP-GCD": ours("dp_gcd"),
    **{f"DP-GCD {rule}": ours(recipes.DPGCD(rule=rule)) for rule in ("gs-s", "gs-r", "gs-q")},
    f"DP-GCD{GRID}": grid(published.GCD, published.gcd),
    **as_printed("DP-GCD", printed.dp_gcd, published.PRINTED_GCD),
    "DP-CD": ours("dp_cd"),
    f"DP-CD{GRID}": grid(published.CD, published.cd),
    "DP-SGD": ours("dp_sgd"),
    f"DP-SGD{GRID}": Method(lambda case, ask: Fitted(batch_of_one(case, ask)), grids=published.SGD),
    "Label-LDP-IHT": ours("label_ldp_iht"),
    "Label-LDP-IHT, dense model": ours("label_ldp_iht", limited=False),
    f"Label-LDP-IHT{GRID}": grid(PEOPLE, _labels_of_people),
    **as_printed("Label-LDP-IHT", printed.label_ldp_iht, PEOPLE),
    **as_printed("Label-LDP-IHT (no unit ball, T = 60)", partial(printed.label_ldp_iht, ball=False), PEOPLE),
    "DP-IHT": ours("dp_ight"),
    f"DP-IHT{GRID}": grid(FOREST, _iht_400),
    "DP-GD-HT": ours(recipes.DPIGHT(mechanism="dense")),
    f"DP-GD-HT{GRID}": grid(_paper_004(100), _gd_ht),
    **as_printed("DP-GD-HT", printed.gd_ht, GD_PLANS),
    "DP-SGD-HT": ours("dp_sgd_ht"),
    f"DP-SGD-HT{GRID}": grid(_paper_004(20), _sgd_ht),
    **as_printed("DP-SGD-HT", printed.sgd_ht, SGD_PLANS),
    "DP-SCSG-HT": ours("dp_scsg_ht"),
    f"DP-SCSG-HT{GRID}": grid(_paper_004(10), _scsg_ht),
    **as_printed("DP-SCSG-HT", printed.scsg_ht, SCSG_PLANS),
    **{name: ours(name) for name in RECIPES},
    "dual_averaging, no weights": ours(recipes.DualAveraging(weights="none"), limited=False),
    "dual_averaging, all features": ours("dual_averaging", limited=False),
}
