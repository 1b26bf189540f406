"""Which page and which command show each claim of the README, and how old results are: python docs/extensions/evidence.py writes it."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "evidence.md"


@dataclass(frozen=True)
class Claim:
    """Words of the README, the page that says more, and the command that anybody can run to see it."""

    quote: str
    page: str
    command: str


CLAIMS = (
    Claim(
        "Each model comes with a statement that says what is guaranteed for each record",
        "guarantees/index.md",
        "make laws",
    ),
    Claim(
        "features 3 and 41, and what is guaranteed for each record, in words",
        "start.md",
        "pytest tests/people/test_readme.py",
    ),
    Claim(
        "A missing bound is an error; it is never computed from the data.", "guarantees/index.md", "pytest tests/laws"
    ),
    Claim("privacy guarantee holds for *any* data.", "guarantees/index.md", "pytest tests/laws"),
    Claim("tested with the pinned and the oldest allowed libraries", "versions.md", "make test-versions"),
    Claim("one module opens, locks and names files there", "versions.md", "pytest tests/core/test_private_files.py"),
    Claim("The wheel is pure Python.", "prove.md", "make dist"),
    Claim("Tables on which dpsparse wins / ties / loses", "peers.md", "make bench-peers"),
    Claim("the guarantee is for all rows of one patient", "units.md", "pytest tests/laws/test_units_law.py"),
    Claim(
        "A cell that is empty or cannot be read becomes a public fill value",
        "tables.md",
        "pytest tests/people/test_readme.py",
    ),
    Claim("starts from a REDCap, Frictionless, CSVW, SPSS or Stata description", "tables.md", "pytest tests/io"),
    Claim(
        "The plan is fixed and priced from public facts before any record is used.",
        "guarantees/index.md",
        "pytest tests/laws/test_shown_is_run.py",
    ),
    Claim("If the answers are the same, the model must be the same", "audit.md", "make laws"),
    Claim("on an integer lattice", "limits.md", "pytest tests/core/test_lattice_noise.py"),
    Claim("rounds towards more noise elsewhere", "guarantees/index.md", "pytest tests/accounting"),
    Claim("a random sample of them is run against the tests", "mutation.md", "make mutants"),
)

#: Pages of results, with the command that measures them and where its numbers are kept.
RESULTS = (
    ("peers.md", "make bench-peers", "benchmarks/results/peers.parquet"),
    ("tables_benchmark.md", "python -m benchmarks.tables", "docs/tables_benchmark.md"),
    ("intervals_benchmark.md", "python -m benchmarks.coverage", "benchmarks/results/coverage.parquet"),
    ("shapes_benchmark.md", "python -m benchmarks.shapes", "docs/shapes_benchmark.md"),
    ("planner.md", "python -m benchmarks.planner_tables", "src/dpsparse/report/planner/calibration.json"),
    ("papers/index.md", "make papers", "docs/papers/index.md"),
    ("speed.md", "make bench-speed", "docs/speed.md"),
    ("mutation.md", "make mutants", "docs/mutation.json"),
    ("audit.md", "make audit", "docs/coverage.json"),
    ("versions.md", "make test-versions", "docs/versions.md"),
)


def last_change(path: str) -> str:
    """The day and the commit in which a file changed last."""
    command = ["git", "log", "-1", "--format=%cs, `%h`", "--", path]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout.strip() or "not yet"


def text() -> str:
    """The page."""
    claims = [f"| {c.quote.replace('|', ' ')} | [](./{c.page}) | `{c.command}` |" for c in CLAIMS]
    results = [f"| [](./{page}) | `{command}` | {last_change(kept)} |" for page, command, kept in RESULTS]
    return "\n".join(
        (
            "# What shows what we say",
            "",
            "Every claim of the README, the page that says more, and the command with which anybody can see it. Written by",
            "`python docs/extensions/evidence.py`; a test holds that each claim stands in the README, and that pages and",
            "commands exist.",
            "",
            "| the README says | page | command |",
            "|---|---|---|",
            *claims,
            "",
            "## How old results are",
            "",
            "The day on which the numbers of a page changed last. Results that are older than the code they measure say so",
            "on their page, or are measured again before a release.",
            "",
            "| page | measured by | numbers last changed |",
            "|---|---|---|",
            *results,
            "",
        )
    )


if __name__ == "__main__":
    PAGE.write_text(text())
