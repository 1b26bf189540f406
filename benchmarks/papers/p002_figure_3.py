"""002, Figure 3: the proximal rules GS-r, GS-s and GS-q on the four problems with an l1 penalty."""

from collections.abc import Sequence
from pathlib import Path

from dpsparse.report.bench import Results, StudyClaim

from .gcd import DEFAULTS, NOTES, RIVALS, RULES, SPARSE, GCDStudy, parts


class Rules(GCDStudy):
    """The claim is that the three rules behave the same where p is large."""

    def claims(self) -> Sequence[StudyClaim]:
        """On par, within 5 % of the gap at zero."""
        return [
            StudyClaim("DP-GCD gs-r", rule, data, 1.0, "gap", on_par=0.05)
            for data in ("square", "dorothea", "madelon-l1")
            for rule in ("DP-GCD gs-s", "DP-GCD gs-q")
        ]

    def draw(self, results: Results, path: Path) -> None:
        """One panel for each problem."""
        from dpsparse.plots import objective_curves, save

        save(objective_curves(results, "gap", methods=(*RULES, *RIVALS), x="passes"), path)


STUDY = Rules(
    name="002-figure-3",
    title="The rules GS-r, GS-s and GS-q beside DP-CD and DP-SGD, gap to the optimum by passes",
    where="Figure 3",
    parts=parts(SPARSE, (*DEFAULTS, *RULES)),
    notes=(*NOTES, "GS-q is printed in the paper without any noise; here it has ours."),
)
