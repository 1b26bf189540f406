"""One page for the people who decide about a release: what was guaranteed, what was not, and what speaks against it.

`report_of` gathers plain values from a model, its ledger, its audit and its scores; `Report.html`
renders them into one file that needs no network. Nothing here reads rows.
"""

from .content import Report, report_of, report_of_file
from .page import bench_page, ledger_page

__all__ = ["Report", "bench_page", "ledger_page", "report_of", "report_of_file"]
