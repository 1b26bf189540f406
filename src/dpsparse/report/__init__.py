"""One page for the people who decide about a release: what was promised, what was not, and what speaks against it.

`report_of` gathers plain values from a model, its ledger, its audit and its scores; `Report.html`
renders them into one file that needs no network. Nothing here reads rows.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .bench_page import bench_page
    from .content import Report, report_of
    from .file_report import report_of_file
    from .ledger_page import ledger_page

_NAMES = {
    "Report": "content",
    "bench_page": "bench_page",
    "ledger_page": "ledger_page",
    "report_of": "content",
    "report_of_file": "file_report",
}


def __getattr__(name: str) -> Any:
    if name in _NAMES:  # imported when first used: every fit takes the planner from this package
        globals()[name] = found = getattr(importlib.import_module(f".{_NAMES[name]}", __name__), name)
        return found  # and kept: two modules have the name of their function
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["Report", "bench_page", "ledger_page", "report_of", "report_of_file"]
