"""Results as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .results import Results
from .study import Claim


def table(results: Results, metric: str) -> Iterator[str]:
    """One metric: a line for each method, a column for each epsilon; means with standard errors."""
    rows = [row for row in results.rows() if row["metric"] == metric]
    for data in dict.fromkeys(row["data"] for row in rows):
        here = [row for row in rows if row["data"] == data]
        epsilons = sorted({row["epsilon"] for row in here})
        methods = list(dict.fromkeys(row["method"] for row in here))
        width = max(len(name) for name in [*methods, data])
        yield f"{data:{width}s}  " + "  ".join(f"{'epsilon ' + format(e, 'g'):>16s}" for e in epsilons) + f"   {metric}"
        for method in methods:
            cells = {row["epsilon"]: row for row in here if row["method"] == method}
            said = [
                f"{cells[e]['mean']:8.4f} ± {cells[e]['standard_error']:5.4f}" if e in cells else "" for e in epsilons
            ]
            yield f"{method:{width}s}  " + "  ".join(f"{text:>16s}" for text in said)


def verdicts(results: Results, claims: Sequence[Claim]) -> Iterator[str]:
    """One line for each claim."""
    for claim in claims:
        yield f"{claim}: {results.verdict(claim)}"
