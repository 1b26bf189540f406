"""The comparison with other libraries as a study: all of them on the same rows, with paired seeds."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from dpsparse.report.bench import Cell, Results, Scale, StudyClaim
from dpsparse.report.bench.study import GRID

from .methods import METHODS, Ask
from .rows import ROWS, present, rows_of

#: Budgets on the file of the picture; and elsewhere.
EPSILONS, FEW = (0.5, 1.0, 2.0, 4.0), (1.0, 4.0)
#: Seeds of defaults, and those at which every point of a grid is run.
SEEDS, GRID_SEEDS = 10, 3
METRIC = "error"
#: Files whose target is a number.
REGRESSION = ("california", "melting points")
#: The file of the picture: the one that readers know best, chosen before there were results.
PICTURE = "census income (a9a)"


def _budgets(data: str, method: str) -> tuple[float, ...]:
    return EPSILONS if data == PICTURE and "add-remove" not in method else FEW


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Errors on test rows. The quick scale has three seeds on the file of the picture; elsewhere two, one budget, a third of each grid and no text."""

    name: str = "peers"
    title: str = "diffprivlib, Opacus, scikit-learn and skglm beside dpsparse on public files"
    runs: str = "peers"
    scale: Scale = "full"

    def at_scale(self, scale: Scale) -> Self:
        """The same at another scale."""
        return replace(self, scale=scale)

    def cells(self) -> Sequence[Cell]:
        """The file of the picture first, the slowest peer last; seeds outside files."""
        quick = self.scale == "quick"
        found = []
        for seed in range(3 if quick else SEEDS):
            for data in filter(present, ROWS):
                if quick and (data.startswith("news") or (seed == 2 and data != PICTURE)):
                    continue
                task = "regression" if data in REGRESSION else "classification"
                for name, method in METHODS.items():
                    if task not in method.tasks or (method.grid and seed >= (1 if quick else GRID_SEEDS)):
                        continue
                    budgets = _budgets(data, name) if method.private else (math.inf,)
                    if quick and method.private and (data != PICTURE or len(budgets) < len(EPSILONS)):
                        budgets = (1.0,)
                    step = 3 if quick and data != PICTURE else 1
                    points = range(1, method.grid + 1, step) if method.grid else (0,)
                    found += [Cell(data, name, e, seed, float(at)) for e in budgets for at in points]
        return sorted(found, key=lambda cell: (cell.method.startswith("skglm"), cell.data != PICTURE))

    def run(self, cell: Cell) -> dict[str, float]:
        """One fit, and its error on the test rows."""
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = METHODS[cell.method].fit(Ask(cell.data, cell.seed, cell.epsilon, round(cell.at)))
        found = {METRIC: rows_of(cell.data, cell.seed).error(model.coef, model.intercept)}
        found |= {"nonzero": float((model.coef != 0).sum()), "seconds": model.seconds}
        return found | {"cost": max(model.seconds, time.process_time() - start)}

    def claims(self) -> Sequence[StudyClaim]:
        """What a reader would like to know: whether ours is better at equal effort."""
        ours = {"": "dpsparse auto", GRID: f"dpsparse auto{GRID}"}
        found = []
        for data in ROWS:
            for end, mine in ours.items():
                for peer in (f"diffprivlib{end}", f"Opacus{end}"):
                    if peer in METHODS and not (data in REGRESSION and len(METHODS[peer].tasks) == 1):
                        found += [StudyClaim(mine, peer, data, e, METRIC, at=None) for e in _budgets(data, mine)]
            found += [StudyClaim("dpsparse auto, add-remove", f"Opacus{GRID}", data, e, METRIC, at=None) for e in FEW]
        return found

    def draw(self, results: Results, path: Path) -> None:
        """Error against epsilon on one public file."""
        from dpsparse.plots import errors_by_epsilon, save

        shown = {cell: errors for cell, errors in results.errors.items() if cell.data == PICTURE}
        methods = [name for name in METHODS if name != "dpsparse auto, add-remove"]
        save(errors_by_epsilon(replace(results, errors=shown), METRIC, methods=methods, log_y=False), path)


STUDY = Comparison()
