"""The page of coverage tables, from the records of `benchmarks.coverage`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

HEAD = """# Coverage of intervals

Made by `python -m benchmarks.coverage` from `docs/coverage.json`; the page {doc}`intervals` says what the intervals are. Every fit has data, coins and noise of its own. Pooled
over all selected coefficients of all fits of a cell, with standard errors over fits:

- **95 %**: part of intervals that contain their target; **nulls**: part of selected coefficients whose target is zero that are called nonzero at 5 %; **FDR**: false discoveries at a nominal 10 %;
- **width**: half-width over that of a robust interval without privacy on as many rows as the second part has, and what is allowed;
- **good**: part of fits with the flag good; **over moments**: width over that of intervals from noisy second moments of features and target at the same budget;
- *real*: on real tables, how often an interval contains the estimate without privacy on all rows and the same columns. That is least squares without weights, which is another target where the mean is not linear (California; see {doc}`intervals`).

Few fits are few: a cell of 12 fits has about 100 intervals, and a standard error of two or three per cent. `--fits 400` is what a verdict takes.

"""

Records = list[dict[str, Any]]


def ratio(
    records: Records, top: Callable[[dict[str, Any]], float], bottom: Callable[[dict[str, Any]], float]
) -> tuple[float, float]:
    """A ratio of sums over fits, and its standard error."""
    a, b = (np.array([part(r) for r in records], dtype=float) for part in (top, bottom))
    if not b.sum():
        return math.nan, math.nan
    value = a.sum() / b.sum()
    return value, float(np.sqrt(np.sum((a - value * b) ** 2)) / b.sum())


def judged(cell: dict[str, Any]) -> dict[str, Any]:
    """The numbers of a cell."""
    records: Records = [r for r in cell["fits"] if r["m"]]
    found: dict[str, Any] = {"fits": len(cell["fits"])}
    for level in ("0.9", "0.95", "0.99"):
        found[level] = ratio(records, lambda r, at=level: r[f"in {at}"], lambda r: r["m"])  # type: ignore[misc]
    found["nonzero"] = ratio(records, lambda r: r["nonzero in"], lambda r: r["m"] - r["nulls"])
    found["nulls"] = ratio(records, lambda r: r["false"], lambda r: r["nulls"])
    found["null count"] = sum(r["nulls"] for r in records)
    found["fdr"] = ratio(records, lambda r: r["fdr"], lambda r: 1.0)
    found["width"] = float(np.median([r["width"] for r in records])) if records else math.nan
    found["band"] = ratio(records, lambda r: r["band"], lambda r: 1.0)
    surface = [r for r in records if "surface" in r]
    found["surface"] = ratio(surface, lambda r: r["surface"], lambda r: 1.0) if surface else (math.nan, math.nan)
    found["good"] = float(np.mean([r["flag"] == "good" for r in records])) if records else math.nan
    found["selected"] = float(np.mean([r["m"] for r in records])) if records else 0.0
    against = [r["against moments"] for r in records if "against moments" in r]
    found["against"] = float(np.median(against)) if against else math.nan
    return found


def page(kept: dict[str, Any]) -> str:
    """The whole page."""
    lines = [HEAD]
    groups = list(dict.fromkeys(cell["group"] for cell in kept.values()))
    for group in groups:
        lines += [
            f"## {group}",
            "",
            "| cell | fits | selected | 90 % | 95 % | 99 % | nonzero ones | nulls | FDR | bands | surface | width | allowed | over moments | good |",
        ]
        lines.append("|---" * 15 + "|")
        for name, cell in kept.items():
            if cell["group"] != group:
                continue
            j = judged(cell)
            allowed = "" if cell["allowed"] is None else f"{cell['allowed']:g}"
            expected = " (expected to fail)" if cell["verdict"] == "fail" else ""
            cells = [name.split(": ", 1)[1] + expected, str(j["fits"]), f"{j['selected']:.1f}"]
            cells += [_told(j[key]) for key in ("0.9", "0.95", "0.99", "nonzero", "nulls", "fdr", "band", "surface")]
            cells += [_number(j["width"]), allowed, _number(j["against"]), _number(j["good"])]
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def _told(value: tuple[float, float]) -> str:
    return "" if math.isnan(value[0]) else f"{value[0]:.3f} ({value[1]:.3f})"


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.2f}"
