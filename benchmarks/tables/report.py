"""Tables of results: part of the attainable improvement lost, regret, safety."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.tables.cells import Cell
from benchmarks.tables.methods import METHODS
from benchmarks.tables.synthetic import TARGETS

#: A table where less than this can be gained says nothing about the part that is lost.
LEAST_GAIN = 0.02
#: Held-out rows are too few to tell errors below this from each other.
LEAST_ERROR = 1e-3
#: Rows that divide small tables from others.
SMALL = 700
#: A cell above this multiple of the constant counts as worse than it.
WORSE = 1.03


@dataclass(frozen=True)
class Result:
    """Means over seeds of one table and epsilon: errors by method, with what bounds them."""

    table: str
    kind: str
    n: int
    d: int
    epsilon: float
    error: dict[str, float]
    wrong: dict[str, float]
    deviance: dict[str, float]
    spread: dict[str, float]
    seconds: dict[str, float]
    constant: float
    nonprivate: float
    slope: dict[str, float] = field(default_factory=dict)
    shift: dict[str, float] = field(default_factory=dict)
    free_deviance: float = math.nan

    def deviance_lost(self, method: str) -> float:
        """Part of the attainable deviance that is lost; nan where there is little to attain."""
        gain = 1 - self.free_deviance
        return (self.deviance[method] - self.free_deviance) / gain if gain >= LEAST_GAIN else math.nan

    def lost(self, method: str) -> float:
        """Part of the attainable improvement over the constant that is lost; nan where there is little to attain."""
        gain = self.constant - self.nonprivate
        return (self.error[method] - self.nonprivate) / gain if gain >= LEAST_GAIN * self.constant else math.nan

    def regret(self, method: str) -> float:
        """Error over that of the best private method, minus one; smaller errors than `LEAST_ERROR` count as that."""
        return max(self.error[method], LEAST_ERROR) / max(min(self.error.values()), LEAST_ERROR) - 1


def results(cells: Iterable[Cell]) -> list[Result]:
    """Cells averaged over seeds."""
    groups: dict[tuple[str, float], dict[str, list[Cell]]] = defaultdict(lambda: defaultdict(list))
    for cell in cells:
        if "failure" not in cell:
            groups[cell["table"], cell["epsilon"]][cell["method"]].append(cell)
    out = []
    for (table, epsilon), by_method in groups.items():
        private = {m: c for m, c in by_method.items() if METHODS[m].private}
        if not private:
            continue

        def mean(field: str, group: dict[str, list[Cell]] = private) -> dict[str, float]:
            return {m: float(np.mean([c.get(field, math.nan) for c in cells])) for m, cells in group.items()}

        def spread(group: dict[str, list[Cell]] = private) -> dict[str, float]:
            several = {m: [c["main"] for c in cells] for m, cells in group.items()}
            return {m: float(np.std(v, ddof=1) / len(v) ** 0.5) if len(v) > 1 else math.nan for m, v in several.items()}

        first = next(iter(private.values()))[0]
        free = groups.get((table, 0.0), {}).get("nonprivate", [])
        floor = float(np.mean([c["main"] for c in free])) if free else math.nan
        attained = float(np.mean([c["deviance"] for c in free])) if free else math.nan
        facts = (table, first["kind"], first["n"], first["d"], epsilon)
        errors = (mean("main"), mean("wrong"), mean("deviance"), spread(), mean("seconds"))
        out.append(Result(*facts, *errors, first["constant"], floor, mean("slope"), mean("shift"), attained))
    return out


def lines(found: Sequence[Result], methods: Sequence[str]) -> list[str]:
    """One line of errors for each table, epsilons side by side."""
    epsilons = sorted({r.epsilon for r in found})
    head = ["table (n x d)", *methods, "non-private"]
    rows = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for name in dict.fromkeys(r.table for r in found):
        here = {r.epsilon: r for r in found if r.table == name}
        one = next(iter(here.values()))
        values = [
            " / ".join(_short(here[e].error.get(m, math.nan)) if e in here else "-" for e in epsilons) for m in methods
        ]
        rows.append("| " + " | ".join([f"{name} ({one.n} x {one.d})", *values, _short(one.nonprivate)]) + " |")
    return rows


def probabilities(found: Sequence[Result], method: str) -> list[str]:
    """Deviance, slope and shift of one method, a line for each table of classes, epsilons side by side; medians last."""
    mine = [r for r in found if r.kind == "classification" and method in r.error]
    epsilons = sorted({r.epsilon for r in mine})
    head = ["table (n x d)", "deviance", "deviance lost", "slope", "shift", "AUC", "non-private deviance"]
    rows = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]

    def line(name: str, here: dict[float, list[Result]], attained: float) -> str:
        def shown(value: Callable[[Result], float]) -> str:
            several = ([value(r) for r in here.get(e, [])] for e in epsilons)
            kept = ([v for v in values if not math.isnan(v)] for values in several)
            return " / ".join(_short(float(np.median(values))) if values else "-" for values in kept)

        columns = [
            shown(lambda r: r.deviance[method]),
            shown(lambda r: r.deviance_lost(method)),
            shown(lambda r: r.slope.get(method, math.nan)),
            shown(lambda r: r.shift.get(method, math.nan)),
            shown(lambda r: 1 - r.error[method]),
        ]
        return "| " + " | ".join([name, *columns, _short(attained)]) + " |"

    for name in dict.fromkeys(r.table for r in mine):
        here = [r for r in mine if r.table == name]
        rows.append(line(f"{name} ({here[0].n} x {here[0].d})", {r.epsilon: [r] for r in here}, here[0].free_deviance))
    by_epsilon = {e: [r for r in mine if r.epsilon == e] for e in epsilons}
    rows.append(line("median", by_epsilon, float(np.nanmedian([r.free_deviance for r in mine])) if mine else math.nan))
    return rows


def _short(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:.3f}".replace("0.", ".", 1) if 0.01 <= abs(value) < 1 else f"{value:.3g}"


def _both(values: Iterable[float]) -> str:
    kept = [v for v in values if not math.isnan(v)]
    return f"{np.mean(kept):.3f} / {np.median(kept):.3f}" if kept else "-"


def summary(found: Sequence[Result], methods: Sequence[str]) -> list[str]:
    """Lost, regret and safety, mean / median, by kind and number of rows."""
    groups: list[tuple[str, Callable[[Result], bool]]] = [
        (f"regression, n > {SMALL}", lambda r: r.kind == "regression" and r.n > SMALL),
        (f"regression, n <= {SMALL}", lambda r: r.kind == "regression" and r.n <= SMALL),
        (f"classes, n > {SMALL}", lambda r: r.kind == "classification" and r.n > SMALL),
        (f"classes, n <= {SMALL}", lambda r: r.kind == "classification" and r.n <= SMALL),
    ]
    epsilons = sorted({r.epsilon for r in found})
    head = [
        "group",
        "method",
        *(f"lost at {e:g}" for e in epsilons),
        "regret",
        "cells",
        f"> {WORSE} x constant",
        "worst",
        "deviance worse",
        "deviance lost at 1",
        "slope at 1",
        "size of shift at 1",
        "s",
    ]
    rows = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for label, inside in groups:
        group = [r for r in found if inside(r)]
        for method in methods:
            cells = [r for r in group if method in r.error]
            if not cells:
                continue
            lost = [_both(r.lost(method) for r in cells if r.epsilon == e) for e in epsilons]
            worse = [r.wrong[method] for r in cells]
            row = [label, method, *lost, _both(r.regret(method) for r in cells), str(len(cells))]
            row += [str(sum(w > WORSE for w in worse)), f"{max(worse):.2f}"]
            row += [str(sum(r.deviance[method] > WORSE for r in cells))]
            at_one = [r for r in cells if r.epsilon == 1]
            row += [
                _both(r.deviance_lost(method) for r in at_one),
                _both(r.slope.get(method, math.nan) for r in at_one),
            ]
            row += [_both(abs(r.shift.get(method, math.nan)) for r in at_one)]
            row += [f"{np.median([r.seconds[method] for r in cells]):.2f}"]
            rows.append("| " + " | ".join(row) + " |")
    return rows


def targets(found: Sequence[Result], methods: Sequence[str]) -> list[str]:
    """Synthetic designs with a target: mean, standard error, and a mark where it is missed by two of them."""
    rows = ["| design | epsilon | target | " + " | ".join(methods) + " |", "|" + "---|" * (3 + len(methods))]
    for r in found:
        target = TARGETS.get((r.table, r.epsilon))
        if target is None:
            continue
        values = []
        for m in methods:
            if m not in r.error:
                values.append("-")
                continue
            two = 0.0 if math.isnan(r.spread[m]) else 2 * r.spread[m]
            values.append(f"{r.error[m]:.4f} ({r.spread[m]:.4f})" + (" missed" if r.error[m] > target + two else ""))
        rows.append(f"| {r.table} | {r.epsilon:g} | {target:g} | " + " | ".join(values) + " |")
    return rows


def worst(found: Sequence[Result], method: str, count: int = 12) -> list[str]:
    """Where a method is furthest behind the best one."""
    ranked = sorted((r for r in found if method in r.error), key=lambda r: -r.regret(method))[:count]
    return [f"{r.table} epsilon {r.epsilon:g}: {r.error[method]:.4f}, regret {r.regret(method):.3f}" for r in ranked]
