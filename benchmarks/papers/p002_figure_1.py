"""002, Figure 1: gap to the optimum by passes over the data, eight problems."""

from pathlib import Path

from dpsparse.report.bench import Results

from .gcd import DEFAULTS, GRIDS, LINES, LOOPS, SMOOTH, SPARSE, GCDStudy, parts


class Curves(GCDStudy):
    """Drawn by passes."""

    def draw(self, results: Results, path: Path) -> None:
        """One panel for each problem."""
        from dpsparse.plots import objective_curves, save

        save(objective_curves(results, "gap", methods=LINES, x="passes"), path)


STUDY = Curves(
    name="002-figure-1",
    title="DP-GCD, DP-CD and DP-SGD on eight problems, gap to the optimum by passes",
    where="Figure 1",
    parts=parts((*SMOOTH, *SPARSE), (*DEFAULTS, *GRIDS, *LOOPS)),
)
