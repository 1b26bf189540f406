"""docs/planner.md: the planner's verdict beside what happens, on data with few records."""

import warnings

from benchmarks import planner_verdicts
from dpsparse.report.bench import Cell

from .guide import Measures

#: Verdicts as numbers, since results are numbers.
VERDICTS = ("hopeless", "borderline", "useful", "unknown")


class Verdicts(Measures):
    """Test error over that of the constant predictor on one random split, and what the planner says."""

    def file(self, data: str) -> str | None:
        """Of the same name."""
        return f"{data}.npz"

    def run(self, cell: Cell) -> dict[str, float]:
        """One fit and one plan."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ratio = planner_verdicts.ratio(cell.data, cell.epsilon, cell.seed)
            said = planner_verdicts.verdict(cell.data, cell.epsilon)
        return {self.metric: ratio, "verdict": float(VERDICTS.index(said))}


STUDY = Verdicts(
    name="guide-verdicts",
    title="The planner's verdict beside what happens: few records, thousands of features",
    places=tuple((name, "auto", (1.0, 4.0)) for name in planner_verdicts.NAMES),
    metric="error over the constant's",
    seeds=20,
    quick=5,
)
