"""docs/planner.md: the planner's 90 % bands beside what fits reach, on settings that its formulas were not fitted to."""

import warnings

from benchmarks.planner_coverage import SETTINGS
from dpsparse.report.bench import Cell

from .guide import Measures


class Bands(Measures):
    """Errors of `auto` with the band for its shape, bounds and budget."""

    def file(self, data: str) -> str | None:
        """That of the setting."""
        file = SETTINGS[data].file
        return None if file is None else f"{file}.npz"

    def run(self, cell: Cell) -> dict[str, float]:
        """One fit and one plan."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return SETTINGS[cell.data].measure(cell.epsilon, cell.seed)


STUDY = Bands(
    name="guide-bands",
    title="The planner's bands beside what fits reach",
    places=tuple((name, "auto", checked.epsilons) for name, checked in SETTINGS.items()),
    metric="measured",
    quick_places=tuple(
        (name, "auto", checked.epsilons)
        for name, checked in SETTINGS.items()
        if "(i)" in name or "(800)" in name or checked.file in ("california", "reuters_moneyfx")
    ),
)
