"""002, Table 4: the chosen point of each grid."""

from collections.abc import Iterator

from dpsparse.report.bench import Results

from .gcd import DEFAULTS, GRIDS, SMOOTH, SPARSE, GCDStudy, parts, points


class Chosen(GCDStudy):
    """Which points are best, on the gap itself, as in the paper."""

    def extra(self, results: Results) -> Iterator[str]:
        """One line for each problem and method."""
        yield "| problem | method | chosen |"
        yield "|---|---|---|"
        for data in (*SMOOTH, *SPARSE):
            for method in GRIDS:
                if results.values(data, method, 1.0, "gap", None):
                    yield f"| {data} | {method} | {points(method, round(results.best_at(data, method, 1.0, 'gap')))} |"


STUDY = Chosen(
    name="002-table-4",
    title="Chosen hyper-parameters of DP-GCD, DP-CD and DP-SGD",
    where="Table 4",
    parts=parts((*SMOOTH, *SPARSE), (*DEFAULTS, *GRIDS)),
)
