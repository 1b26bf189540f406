"""A page about a comparison: means with standard errors, and pictures. It says that seeds were used."""

from __future__ import annotations

import math
from typing import Any

from .bench import Results
from .page import render
from .pictures import Axis, Line, plot


def bench_page(results: Results) -> str:
    """Tables and, where there are several epsilons, a picture for each data set and metric."""
    rows = list(results.rows())
    parts: list[dict[str, Any]] = []
    for data, metric in dict.fromkeys((row["data"], row["metric"]) for row in rows):
        here = [row for row in rows if (row["data"], row["metric"]) == (data, metric)]
        parts.append({"data": data, "metric": metric, "rows": here, "plot": _plot(data, metric, here)})
    return render("bench.html", {"study": results.study, "machine": results.machine, "parts": parts})


def _plot(data: str, metric: str, rows: list[dict[str, Any]]) -> str:
    """Error by epsilon; nothing where there are not two budgets."""
    budgets = sorted({row["epsilon"] for row in rows if math.isfinite(row["epsilon"])})
    if len(budgets) < 2:
        return ""
    lines, top = [], 0.0
    for method in dict.fromkeys(row["method"] for row in rows):
        here = sorted((row for row in rows if row["method"] == method), key=lambda row: row["epsilon"])
        top = max(top, *(row["mean"] for row in here))
        if math.isinf(here[0]["epsilon"]):
            lines.append(Line(method, [budgets[0], budgets[-1]], [here[0]["mean"]] * 2, dashed=True))
            continue
        x, y = [row["epsilon"] for row in here], [row["mean"] for row in here]
        errors = [0.0 if math.isnan(row["standard_error"]) else 2 * row["standard_error"] for row in here]
        low, high = [a - b for a, b in zip(y, errors, strict=True)], [a + b for a, b in zip(y, errors, strict=True)]
        lines.append(Line(method, x, y, low, high))
    across = Axis("epsilon", budgets[0], budgets[-1], log=True)
    return plot(
        f"{metric} on {data} by epsilon, with two standard errors", across, Axis(metric, 0.0, 1.05 * top or 1.0), lines
    )
