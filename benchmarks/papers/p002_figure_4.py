"""002, Figure 4: gap to the optimum by run time, eight problems."""

from pathlib import Path

from dpsparse.report.bench import Results

from .gcd import DEFAULTS, LINES, NOTES, SMOOTH, SPARSE, GCDStudy, parts


class Times(GCDStudy):
    """Drawn by seconds."""

    def draw(self, results: Results, path: Path) -> None:
        """One panel for each problem."""
        from dpsparse.plots import objective_curves, save

        save(objective_curves(results, "gap", methods=LINES, x="seconds"), path)


STUDY = Times(
    name="002-figure-4",
    title="DP-GCD, DP-CD and DP-SGD on eight problems, gap to the optimum by run time",
    where="Figure 4",
    claims_of="Figure 1",
    parts=parts((*SMOOTH, *SPARSE), DEFAULTS),
    notes=(
        *NOTES,
        "Seconds are wall-clock time of one thread on the machine that the results name, and depend on what else ran there.",
    ),
)
