"""``dpsparse audit --papers``: the papers' mechanisms as published, audited beside ours.

What is published there is not part of this package, on purpose; it is looked for in the source tree that the package was
installed from.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import click

from .exits import Refusal
from .output import as_json as print_json
from .output import check_file, progress, waiting, writing

#: The folder that holds the package in a source tree, and the museum beside it.
TREE = Path(__file__).resolve().parents[3]
MUSEUM = Path("benchmarks", "as_published", "__init__.py")


def show_papers(runs: int | None, as_json: bool, plot: Path | None) -> None:
    """Audit what was published, print a table or JSON, and draw claimed against true if a file is given."""
    if plot is not None:
        check_file(plot, "--plot")
    museum, show = _museum()
    with progress(quiet=as_json) as visible, waiting("auditing what was published", visible):
        exhibits = museum.museum(museum.RUNS if runs is None else runs)
    if plot is not None:
        with writing(plot, "--plot"):
            show.plot(exhibits, plot)
    broken, kept = sum(e.broken for e in exhibits), sum(e.kept for e in exhibits)
    if as_json:
        print_json({"exhibits": [e.to_dict() for e in exhibits], "broken": broken, "kept by ours": kept})
        return
    click.echo(show.table(exhibits))
    for name, finding in dict.fromkeys((e.name, e.finding) for e in exhibits):
        click.echo(f"\n{name}: {finding}")
    click.echo(
        f"\n{broken} of {len(exhibits)} published claims are broken; ours keeps {kept} of {len(exhibits)} at the same budgets."
    )


def _museum() -> tuple[Any, Any]:
    """The museum and how it is shown, from the source tree."""
    if not (TREE / MUSEUM).is_file():
        raise Refusal(
            "the published mechanisms are kept out of the installed package, in benchmarks/as_published of its source tree. "
            "Run --papers from a checkout (make setup installs one)."
        )
    if str(TREE) not in sys.path:
        sys.path.append(str(TREE))
    return importlib.import_module("benchmarks.as_published"), importlib.import_module("benchmarks.as_published.show")
