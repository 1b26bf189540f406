"""What the tables and figures of paper 004 share: stochastic against full-batch hard thresholding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dpsparse.report.bench import Results, StudyClaim
from dpsparse.report.bench.study import GRID, ON_CURVE

from .methods import DENSE, EXACT, OFF, PRINTED
from .study import PaperStudy, Part

EPSILONS = (2.0, 4.0, 6.0, 8.0, 10.0)
METHODS = ("zero", f"SCSG-HT{EXACT}", "DP-GD-HT", "DP-SGD-HT", "DP-SCSG-HT")
NAMES = ("DP-GD-HT", "DP-SGD-HT", "DP-SCSG-HT")
GRIDS = tuple(f"{name}{GRID}" for name in NAMES)
LOOPS = tuple(f"{name}{kind}{GRID}" for kind in (PRINTED, OFF) for name in NAMES)
BETTER = (("DP-SCSG-HT", "DP-GD-HT"), ("DP-SGD-HT", "DP-GD-HT"))
FOLDS = (
    "Five folds, twice over. Best of the paper's grid: its six steps with the epochs of its tables, 100 (GD), 20 (SGD, batches of n/10) and 10 (SCSG, snapshots of n/2 "
    "rows, inner batches of n/20), at three budgets. The printed loops, on three folds, may also choose few, large batches (b, T; B, b, J), which the printed formula rewards and the "
    "paper leaves to cross-validation, and longer steps than the paper's."
)
PASSES = (
    "Only the noise differs between seeds. The paper's claim is about passes: stochastic methods reach their best "
    "within 20 passes, the full batch later. Verdicts are about the objective after 2 and 10 passes and at the end."
)


def table(number: int, data: str, metric: str, k: int, note: str, *, own: str | None = None) -> PaperStudy:
    """Table 3, 4 or 5: five folds; `own` is the paper's data, where another set stands in for it."""
    ours = (*METHODS, "auto", *DENSE)
    parts = [
        Part(sets=(data,), methods=ours, epsilons=EPSILONS, seeds=10, quick_epsilons=(4.0,)),
        Part(sets=(data,), methods=GRIDS, epsilons=(2.0, 6.0, 10.0), quick_epsilons=(6.0,)),
        Part(sets=(data,), methods=LOOPS, epsilons=(2.0, 6.0, 10.0), seeds=3, quick_epsilons=(6.0,)),
    ]
    if own is not None:
        parts.append(Part(sets=(own,), methods=ours, epsilons=EPSILONS, seeds=10, quick=0))
    return PaperStudy(
        name=f"004-table-{number}",
        title=f"Stochastic against full-batch hard thresholding, five folds, k = {k}: {data}",
        paper="004",
        where=f"Table {number}",
        parts=tuple(parts),
        metric=metric,
        delta=1e-5,
        pairs=(
            *BETTER,
            ("DP-SCSG-HT", "DP-SGD-HT"),
            *((better + GRID, worse + GRID) for better, worse in BETTER),
            *((better + PRINTED + GRID, worse + PRINTED + GRID) for better, worse in BETTER),
        ),
        notes=(note, FOLDS),
    )


@dataclass(frozen=True, kw_only=True)
class Objective(PaperStudy):
    """Two figures: by passes, and by thresholding operations in a second file."""

    keep_path: bool = True

    def claims(self) -> Sequence[StudyClaim]:
        """Stochastic methods are lower after the same number of passes, and at the end."""
        after = [f"objective by passes{ON_CURVE}{passes}" for passes in (2, 10)]
        at_end = PaperStudy.claims(self)
        return [*at_end, *(replace(claim, metric=metric, at=0.0) for claim in at_end for metric in after)]

    @property
    def figures(self) -> tuple[str, ...]:
        """By passes, and by thresholding operations."""
        return ("", "-thresholds")

    def draw(self, results: Results, path: Path) -> None:
        """Panels for both budgets."""
        from dpsparse.plots import objective_curves, save

        save(objective_curves(results, "objective", methods=METHODS[2:], x="passes"), path)
        second = path.with_name(f"{path.stem}-thresholds{path.suffix}")
        save(objective_curves(results, "objective", methods=METHODS[2:], x="thresholds"), second)


def curves(number: int, data: str, note: str, *, own: str | None = None) -> Objective:
    """Figure 1 or 2: the objective on all rows."""
    return Objective(
        name=f"004-figure-{number}",
        title=f"Objective by passes and by hard-thresholding operations: {data}",
        paper="004",
        where=f"Figure {number} (a) to (d)",
        parts=(
            Part(
                sets=(data,) if own is None else (data, own),
                methods=(*METHODS, *DENSE),
                epsilons=(4.0, 6.0),
                seeds=10,
                quick_epsilons=(4.0,),
                quick_sets=(data,),
            ),
        ),
        metric="objective",
        delta=1e-5,
        pairs=BETTER,
        notes=(f"{note} {PASSES}",),
    )
