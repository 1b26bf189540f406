"""The comparison with other libraries as a study: all of them on the same splits of the same tables, with the same bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np

from benchmarks.tables.scores import scores
from dpsparse.report.bench import Cell, Results, Scale, StudyClaim

from .methods import METHODS, Ask, Method
from .rows import DATA, LARGE, TEXT, present

#: Budgets on tables, and on the text of the picture.
EPSILONS, PICTURE_EPSILONS = (1.0, 4.0), (0.5, 1.0, 2.0, 4.0)
#: Splits of the full scale, and of the quick one; a method may have fewer.
SPLITS, QUICK = 20, 2
METRIC = "deviance"
#: Methods that are shown in the picture.
SHOWN = ("dpsparse auto", "DP-GD, tuned on the test rows", "linear, not private")


def budgets(data: str, method: Method) -> tuple[float, ...]:
    """Budgets of a method on this data."""
    if not method.private:
        return (math.inf,)
    return PICTURE_EPSILONS if data == TEXT else EPSILONS


def turn(cell: Cell) -> int:
    """When a cell has its turn: what decides most in little time comes first, so that a run that is stopped has decided much."""
    method = METHODS[cell.method]
    if method.seeds < SPLITS:  # slow ones
        return 4 if method.seeds > QUICK else 6
    if cell.data == TEXT:
        return 1 if cell.method in SHOWN and cell.seed < (4 if method.tuned else 10) else 5
    if cell.data in LARGE:
        return 3 if cell.seed < 3 else 5
    return 0 if cell.seed < 4 else 2 if cell.seed < 10 else 5


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Scores on held-out rows. The quick scale has two splits of the smaller tables, without the slowest method."""

    name: str = "peers"
    title: str = "other private libraries and methods beside dpsparse on public tables"
    runs: str = "peers"
    scale: Scale = "full"

    def at_scale(self, scale: Scale) -> Self:
        """The same at another scale."""
        return replace(self, scale=scale)

    def cells(self) -> Sequence[Cell]:
        """What decides most in little time first."""
        quick = self.scale == "quick"
        found = [
            Cell(data, name, epsilon, seed)
            for seed in range(QUICK if quick else SPLITS)
            for data in filter(present, DATA)
            if not (quick and (data in LARGE or data == TEXT))
            for name, method in METHODS.items()
            if seed < method.seeds and method.can(data) and not (quick and method.seeds <= QUICK)
            for epsilon in budgets(data, method)
        ]
        return sorted(found, key=lambda cell: (turn(cell), cell.seed))

    def run(self, cell: Cell) -> dict[str, float]:
        """One fit: its scores on held-out rows, all of which are 1 for a constant but slope and shift; or that it failed."""
        ask = Ask(cell.data, cell.seed, cell.epsilon)
        try:
            predicted, seconds = METHODS[cell.method].fit(ask)
        except (ValueError, RuntimeError, ArithmeticError, np.linalg.LinAlgError):
            return {"failed": 1.0}
        found = scores(lambda _: predicted, ask.table)
        kept = {
            "error": found["wrong"],
            **{name: found[name] for name in ("deviance", "slope", "shift") if name in found},
        }
        if ask.table.kind == "classification":
            kept["auc"] = 1 - found["main"]
        if "slope" in kept:
            kept["slope error"] = abs(math.log(max(kept["slope"], 0.01)))
        n, d = ask.table.shape
        return kept | {"rows": float(n), "columns": float(d), "seconds": seconds}

    def claims(self) -> Sequence[StudyClaim]:
        """Whether ours is better, for every table, budget and private method."""
        return [
            StudyClaim(mine, peer, data, epsilon, METRIC)
            for mine in ("dpsparse auto", "dpsparse curves")
            for peer, method in METHODS.items()
            if method.private and not peer.startswith("dpsparse")
            for data in DATA
            if method.can(data) and METHODS[mine].can(data)
            for epsilon in budgets(data, method)
        ]

    def draw(self, results: Results, path: Path) -> None:
        """Error against epsilon on the text: wide, sparse rows; lines are labelled at their ends."""
        from dpsparse.plots import errors_by_epsilon, save

        text: Mapping[Cell, Mapping[str, float]] = {c: e for c, e in results.errors.items() if c.data == TEXT}
        drawn = errors_by_epsilon(replace(results, errors=text), "error", methods=SHOWN, log_y=False)
        drawn.legends[0].remove()
        drawn.set_size_inches(6.5, 3.2)
        frame = drawn.axes[0]
        frame.set_ylabel("misclassified, of the commoner class's rate")
        low, high = frame.get_ylim()
        ends = []
        for handle, label in zip(*frame.get_legend_handles_labels(), strict=True):
            line = next(iter(handle)) if isinstance(handle, tuple) else handle
            ends.append(((line.get_ydata()[-1] - low) / (high - low), label, line.get_color()))
        place = -math.inf
        for height, label, colour in sorted(ends):
            place = max(height, place + 0.07)  # labels do not stand on each other
            frame.annotate(label, (1.02, place), xycoords="axes fraction", color=colour, fontsize=7, va="center")
        save(drawn, path)


STUDY = Comparison()
