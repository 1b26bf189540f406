"""004, Figure 1: the objective on all rows of RCV1, by passes and by hard-thresholding operations."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dpsparse.bench import Claim, Results
from dpsparse.bench.study import ON_CURVE

from .methods import EXACT
from .study import PaperStudy, Part

METHODS = ("zero", f"SCSG-HT{EXACT}", "DP-GD-HT", "DP-SGD-HT", "DP-SCSG-HT")


@dataclass(frozen=True, kw_only=True)
class Objective(PaperStudy):
    """Two figures: by passes, and by thresholding operations in a second file."""

    keep_path: bool = True

    def claims(self) -> Sequence[Claim]:
        """Stochastic methods are lower after the same number of passes, and at the end."""
        after = [f"objective by passes{ON_CURVE}{passes}" for passes in (2, 10)]
        return [
            *PaperStudy.claims(self),
            *(replace(claim, metric=metric, at=0.0) for claim in PaperStudy.claims(self) for metric in after),
        ]

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


STUDY = Objective(
    name="004-figure-1",
    title="Objective by passes and by hard-thresholding operations: news20 all rows (for RCV1)",
    paper="004",
    where="Figure 1 (a) to (d)",
    parts=(
        Part(
            sets=("news20 all rows (for RCV1)", "RCV1 all rows"),
            methods=METHODS,
            epsilons=(4.0, 6.0),
            seeds=10,
            quick_epsilons=(4.0,),
            quick_sets=("news20 all rows (for RCV1)",),
        ),
    ),
    metric="objective",
    delta=1e-5,
    pairs=(("DP-SCSG-HT", "DP-GD-HT"), ("DP-SGD-HT", "DP-GD-HT")),
    notes=(
        "20 Newsgroups stands in for RCV1. Only the noise differs between seeds. The paper's claim is about passes: stochastic methods reach their best "
        "within 20 passes, the full batch later. Verdicts are about the objective after 2 and 10 passes and at the end.",
    ),
)
