"""002, Table 3: coordinates rightly and wrongly nonzero, and the gap, on the four problems with an l1 penalty."""

from collections.abc import Iterator

from dpsparse.report.bench import Results

from .gcd import DEFAULTS, GRIDS, LINES, LOOPS, SPARSE, GCDStudy, counts, parts


class Counts(GCDStudy):
    """Right and wrong coordinates beside the gap."""

    def extra(self, results: Results) -> Iterator[str]:
        """The paper's table."""
        yield "| problem | method | right / wrong | gap |"
        yield "|---|---|---|---|"
        for data in SPARSE:
            yield from counts(results, data, (*LINES, *GRIDS, LOOPS[0]))


STUDY = Counts(
    name="002-table-3",
    title="Right and wrong coordinates of DP-GCD, DP-CD and DP-SGD",
    where="Table 3",
    parts=parts(SPARSE, (*DEFAULTS, *GRIDS, *LOOPS)),
)
