"""Templates: HTML with everything in it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..core.errors import LedgerTamperedError
from ..ledger import Ledger
from .bench import Results
from .pictures import Axis, Line, plot

if TYPE_CHECKING:
    from jinja2 import Environment


def render(template: str, values: Mapping[str, Any]) -> str:
    """A page from a template of this package. Every value is escaped but the pictures, which are made here."""
    style = (files(__package__) / "templates" / "style.css").read_text(encoding="utf-8")
    text: str = _environment().get_template(template).render(**values, style=style, version=__version__)
    return text


@lru_cache(maxsize=1)
def _environment() -> Environment:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise ImportError("reports need jinja2. Install it with: pip install 'dpsparse[report]'") from None
    made = Environment(
        loader=PackageLoader("dpsparse.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["number"] = format_number
    made.filters["percent"] = lambda value: f"{100 * value:.3g} %"
    return made


def format_number(value: object) -> str:
    """A number as a person reads it.

    >>> format_number(0.123456), format_number(float("inf")), format_number("a")
    ('0.1235', 'not proven', 'a')
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return "not proven" if math.isinf(value) else f"{value:.4g}"


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


def ledger_page(ledger: Ledger) -> str:
    """Every dataset with its total, what was spent, what is left, and its entries.

    Whether all of it verifies comes first.
    """
    try:
        verified, problem = ledger.verify(), ""
    except LedgerTamperedError as error:
        return render("ledger.html", {"verified": None, "problem": str(error), "identity": "", "datasets": []})
    datasets: list[dict[str, Any]] = []
    for name in ledger.datasets():
        entries = [
            {
                "number": entry.number,
                "label": entry.label,
                "time": entry.time,
                "status": entry.status,
                "run": entry.run_id,
                "epsilon": entry.epsilon(max(ledger.total(name).delta, 0.0)),
            }
            for entry in ledger.entries(name)
        ]
        total, spent = ledger.total(name), ledger.spent(name)
        datasets.append(
            {
                "name": name,
                "adjacency": str(ledger.describe(name).adjacency),
                "total": total,
                "spent": spent,
                "remaining": ledger.remaining(name),
                "part": min(1.0, spent.epsilon / total.epsilon) if total.epsilon else 1.0,
                "entries": entries,
            }
        )
    values = {"verified": verified, "problem": problem, "identity": ledger.identity(), "datasets": datasets}
    return render("ledger.html", values)
