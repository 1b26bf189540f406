"""002, Table 4: the chosen point of each grid."""

import math
from collections.abc import Iterator

from dpsparse.report.bench import Results

from .gcd import DEFAULTS, GRIDS, LINES, LOOPS, SMOOTH, SPARSE, GCDStudy, parts, points
from .methods import METHODS
from .published import TABLE_4


class Chosen(GCDStudy):
    """Which points are best, on the gap itself, as in the paper."""

    figures = ()

    def lead(self, results: Results) -> Iterator[str]:
        """One line for each problem and method."""
        yield "| problem | method | published: passes, clip, step | chosen here |"
        yield "|---|---|---|---|"
        for data in (*SMOOTH, *SPARSE):
            for method in (*GRIDS, *LOOPS):
                epsilon = 1.0 if METHODS[method].noise else math.inf
                if results.values(data, method, epsilon, "gap", None):
                    best = round(results.best_at(data, method, epsilon, "gap"))
                    printed = TABLE_4[data][LINES.index(method.split(",")[0].split(" as")[0])]
                    yield f"| {data} | {method} | {', '.join(format(v, 'g') for v in printed)} | {points(data, method, best)} |"


STUDY = Chosen(
    name="002-table-4",
    title="Chosen hyper-parameters of DP-GCD, DP-CD and DP-SGD",
    where="Table 4",
    parts=parts((*SMOOTH, *SPARSE), (*DEFAULTS, *GRIDS, *LOOPS)),
    claims_of="Figure 1",
)
