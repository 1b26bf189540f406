"""What has to be true of the grids and of the numbers of a page, or the page says why in a word of a fixed list; else it is not built."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations

from dpsparse.report.bench import Results
from dpsparse.report.bench.results import allowance, mean_and_error
from dpsparse.report.bench.study import GRID

from .cells import budgets
from .grids import ENDS
from .methods import METHODS, OFF
from .study import PaperStudy

#: Why the best point of a grid may be worse than our default.
WORSE = {
    "paper": "the paper's grid varies fewer settings than our default chooses by the budget",
    "time": "longer runs and steps do not fit the time of these studies",
}
#: Why a cell may be worse than a model of zeros: with noise, and of a printed loop with its noise off.
ABOVE = {
    True: "the noise of the budget outweighs the signal",
    False: "the printed number of steps ends before the loop has left its random start",
}
#: Error of a model of zeros (or of a coin), where a study does not run it.
LEVELS = {"relative error": 1.0, "test error": 0.5, "log-loss": math.log(2), "objective": math.log(2)}


class UnexplainedError(ValueError):
    """A number of a page has no reason of the fixed lists."""


def grid_notes(study: PaperStudy, results: Results) -> Iterator[str]:
    """Where each grid comes from; best points at an end, and grids that are worse than our default, with their reasons."""
    methods = list(dict.fromkeys(m for part in study.parts for m in part.methods if m.endswith(GRID)))
    for name in methods:
        wheres = {grid.where for grid in METHODS[name].grids.values()}
        origin = " and ".join(sorted(f"printed in {where}" if where else "ours" for where in wheres))
        found = [*_ends(study, results, name), *_worse(study, results, name)]
        reasons: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for what, data, epsilon, reason in found:
            reasons[reason][f"{what}, {data}"].append(format(epsilon, "g"))
        text = "; ".join(
            f"{reason} ({', '.join(_told(where, at) for where, at in places.items())})"
            for reason, places in reasons.items()
        )
        yield f"- {name.removesuffix(GRID)}: {origin}.{f' At an end, or worse than our default: {text}.' if text else ''}"


def _told(where: str, epsilons: list[str]) -> str:
    return where if epsilons == ["inf"] else f"{where}, ε {' '.join(dict.fromkeys(epsilons))}"


def _places(results: Results, method: str) -> Iterator[tuple[str, float]]:
    for data in dict.fromkeys(cell.data for cell in results.errors if cell.method == method):
        yield from ((data, e) for e in (budgets(results, data) if METHODS[method].noise else [math.inf]))


def _ends(study: PaperStudy, results: Results, name: str) -> Iterator[tuple[str, str, float, str]]:
    for data, epsilon in _places(results, name):
        grid = METHODS[name].grid(data)
        best = results.values(data, name, epsilon, study.metric, None)
        if grid is None or not best:
            continue
        number = round(results.best_at(data, name, epsilon, study.metric))
        for axis, reason, inside in grid.ends(number):
            why = reason or ("off" if OFF in name else "") or _found_reason(study, results, data, epsilon, name, inside)
            if not why:
                raise UnexplainedError(
                    f"{study.name}: {name} on {data} at epsilon {epsilon:g} is best at an end of {axis}: {grid.point(number)}. Widen the grid."
                )
            yield axis, data, epsilon, ENDS[why]


def _found_reason(study: PaperStudy, results: Results, data: str, epsilon: float, name: str, inside: int) -> str:
    """Whether the next point is as good, or no point better than zeros."""
    best = results.values(data, name, epsilon, study.metric, None)
    near = results.values(data, name, epsilon, study.metric, float(inside))
    if _clear(near, best) is False:
        return "flat"
    level = _level(study, results, data)
    mean, error = mean_and_error(best.values())
    spread = allowance(len(best)) * error if len(best) > 1 else math.inf
    return "zero" if level is not None and mean + spread >= level else ""


def _clear(worse: dict[int, float], better: dict[int, float]) -> bool | None:
    """Whether errors are larger beyond two standard errors; None without numbers."""
    seeds = sorted(worse.keys() & better.keys())
    if len(seeds) < 2 or not all(math.isfinite(worse[k]) for k in seeds):
        return None
    mean, error = mean_and_error([worse[k] - better[k] for k in seeds])
    return mean > allowance(len(seeds)) * error


def _worse(study: PaperStudy, results: Results, name: str) -> Iterator[tuple[str, str, float, str]]:
    default = name.removesuffix(GRID)
    if default not in METHODS:
        return
    for data, epsilon in _places(results, name):
        ours = results.values(data, default, epsilon, study.metric)
        best = results.values(data, name, epsilon, study.metric, None)
        if ours and best and _clear(best, ours):
            grid = METHODS[name].grid(data)
            assert grid is not None
            timed = any("time" in (axis.low, axis.high) for axis in grid.axes.values())
            if not grid.where and not timed:
                raise UnexplainedError(
                    f"{study.name}: {name} on {data} at epsilon {epsilon:g} is worse than our default. Widen the grid."
                )
            yield "default", data, epsilon, WORSE["paper" if grid.where else "time"]


def _level(study: PaperStudy, results: Results, data: str) -> float | None:
    zero = results.values(data, "zero", math.inf, study.metric)
    return mean_and_error(zero.values())[0] if zero else LEVELS.get(study.metric)


def above_zero(study: PaperStudy, results: Results) -> Iterator[str]:
    """Cells that are worse than a model of zeros by more than two standard errors, with the reason."""
    found: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for data in dict.fromkeys(cell.data for cell in sorted(results.errors)):
        level = _level(study, results, data)
        for method in dict.fromkeys(cell.method for cell in sorted(results.errors) if cell.data == data):
            for epsilon in budgets(results, data) if METHODS[method].noise else [math.inf]:
                at = None if method.endswith(GRID) else 0.0
                mean, error = mean_and_error(results.values(data, method, epsilon, study.metric, at).values())
                if level is None or not (mean - 2 * (error if math.isfinite(error) else 0.0) > level * (1 + 1e-9)):
                    continue
                if not METHODS[method].noise and OFF not in method:
                    raise UnexplainedError(
                        f"{study.name}: {method} on {data} is worse than a model of zeros without any noise."
                    )
                found[ABOVE[METHODS[method].noise]].append((f"{method.removesuffix(GRID)} ({data})", epsilon))
    for reason, cells in found.items():
        places: dict[str, list[str]] = defaultdict(list)
        for where, epsilon in cells:
            places[where].append(format(epsilon, "g"))
        yield f"- Worse than a model of zeros, since {reason}: {'; '.join(_told(where, at) for where, at in places.items())}."


def rising(study: PaperStudy, results: Results) -> Iterator[str]:
    """Defaults whose error grows with the budget by more than two standard errors, which is a defect of theirs and not of the data."""
    found = []
    for data in dict.fromkeys(cell.data for cell in sorted(results.errors)):
        methods = dict.fromkeys(cell.method for cell in sorted(results.errors) if cell.data == data)
        for method in (name for name in methods if METHODS[name].noise and not name.endswith(GRID)):
            runs = {e: results.values(data, method, e, study.metric) for e in budgets(results, data)}
            pairs = [(low, high) for low, high in combinations(runs, 2) if _clear(runs[high], runs[low])]
            if pairs:
                low, high = max(pairs, key=lambda pair: pair[1] - pair[0])
                found.append(f"{method} ({data}) from ε {low:g} to {high:g}")
    if found:
        yield f"- Worse with more epsilon by more than two standard errors, a defect of these defaults as they stood when they were run: {'; '.join(found)}."
