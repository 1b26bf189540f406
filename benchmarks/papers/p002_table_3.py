"""002, Table 3: coordinates rightly and wrongly nonzero, and the gap, on the four problems with an l1 penalty."""

from collections.abc import Iterator

from dpsparse.report.bench import Results
from dpsparse.report.bench.study import GRID

from .gcd import DEFAULTS, GRIDS, LINES, LOOPS, SPARSE, GCDStudy, counts, parts, published_counts


class Counts(GCDStudy):
    """Right and wrong coordinates beside the gap."""

    figures = ()

    def lead(self, results: Results) -> Iterator[str]:
        """The paper's table beside ours."""
        yield "Right / wrong coordinates (gap), at epsilon 1."
        yield ""
        yield "| problem | method | the paper | printed noise, best of grid | honest noise, best of grid | honest noise, defaults |"
        yield "|---|---|---|---|---|---|"
        for data in SPARSE:
            for name in LINES:
                loop = counts(results, data, LOOPS[0]) if name == "DP-GCD" else ""
                ours = [counts(results, data, f"{name}{end}") for end in (GRID, "")]
                yield f"| {data} | {name} | {published_counts(data, name)} | {loop} | {' | '.join(ours)} |"


STUDY = Counts(
    name="002-table-3",
    title="Right and wrong coordinates of DP-GCD, DP-CD and DP-SGD",
    where="Table 3",
    parts=parts(SPARSE, (*DEFAULTS, *GRIDS, *LOOPS)),
    claims_of="Figure 1",
)
