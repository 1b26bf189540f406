"""``dpsparse audit --papers``: the papers' mechanisms as published, audited beside ours.

What was published is not part of this package, on purpose: it stands in ``benchmarks/as_published``
of the source tree and is run there, as a program of its own. Nothing of it is imported here.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from .exits import Refusal
from .output import check_file, echo, progress, waiting

#: The folder that holds the package in a source tree, and the museum beside it.
TREE = Path(__file__).resolve().parents[3]
MUSEUM = Path("benchmarks", "as_published", "__main__.py")


def show_papers(runs: int | None, as_json: bool, plot: Path | None) -> None:
    """Audit what was published, print a table or JSON, and draw claimed against true if a file is given."""
    if plot is not None:
        check_file(plot, "--plot")
    if not (TREE / MUSEUM).is_file():
        raise Refusal(
            "the published mechanisms are kept out of the installed package, in "
            "benchmarks/as_published of its source tree. "
            "Run --papers from a checkout (make setup installs one)."
        )
    command = [sys.executable, "-m", "benchmarks.as_published"]
    command += [] if runs is None else ["--runs", str(runs)]
    command += ["--json"] if as_json else []
    command += [] if plot is None else ["--plot", str(plot.resolve())]
    with progress(quiet=as_json) as visible, waiting("auditing what was published", visible):
        done = subprocess.run(command, cwd=TREE, capture_output=True, text=True, check=False)
    echo(done.stdout, nl=False)
    if not done.stdout:
        raise Refusal(f"the audit of what was published did not end: {done.stderr.strip().splitlines()[-1:]}")
