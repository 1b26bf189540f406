"""One page for the people who decide about a release: what was guaranteed, what was not, and what speaks against it.

`report_of` gathers plain values from a model, its ledger, its audit and its scores; `Report.html`
renders them into one file that needs no network. Nothing here reads rows.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .content import Report, report_of, report_of_file
    from .page import bench_page, ledger_page

_NAMES = {
    "Report": "content",
    "bench_page": "page",
    "ledger_page": "page",
    "report_of": "content",
    "report_of_file": "content",
}


def __getattr__(name: str) -> Any:
    if name in _NAMES:  # imported when first used: every fit takes the planner from this package
        return getattr(importlib.import_module(f".{_NAMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["Report", "bench_page", "ledger_page", "report_of", "report_of_file"]
