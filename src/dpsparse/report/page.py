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
from .figures import Panel, error_panels
from .pictures import Axis, Picture

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
        drawn = [_by_epsilon(panel) for panel in error_panels(results, metric) if panel.title == data]
        parts.append({"data": data, "metric": metric, "rows": here, "plot": "".join(drawn)})
    return render("bench.html", {"study": results.study, "machine": results.machine, "parts": parts})


def _by_epsilon(panel: Panel) -> str:
    """Error by epsilon; nothing where there are not two budgets."""
    budgets = sorted({epsilon for line in panel.lines for epsilon in line.x})
    if len(budgets) < 2:
        return ""
    top = max(value for line in panel.lines for value in line.y)
    return Picture(
        title=f"{panel.y} on {panel.title} by epsilon, with two standard errors",
        across=Axis(panel.x, budgets[0], budgets[-1], log=True),
        up=Axis(panel.y, 0.0, 1.05 * top or 1.0),
        lines=panel.lines,
    ).svg()


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
        total, spent = ledger.total(name), ledger.spent(name)
        datasets.append(
            {
                "name": name,
                "adjacency": str(ledger.describe(name).adjacency),
                "total": total,
                "spent": spent,
                "remaining": ledger.remaining(name),
                "part": min(1.0, spent.epsilon / total.epsilon) if total.epsilon else 1.0,
                "entries": [(entry, entry.epsilon(max(total.delta, 0.0))) for entry in ledger.entries(name)],
            }
        )
    values = {"verified": verified, "problem": problem, "identity": ledger.identity(), "datasets": datasets}
    return render("ledger.html", values)
