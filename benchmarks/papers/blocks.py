"""Tables within the pages that are written by hand: every number between two marks comes from benchmarks/results.

    <!-- made: recipes -->
    ...
    <!-- end: recipes -->

``python -m benchmarks.papers --pages`` makes them anew.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks import planner_coverage, planner_tables, planner_verdicts
from benchmarks.as_published import Epsilon
from benchmarks.as_published.exhibit import DEFECTS

from .cells import RESULTS, ROOT, NotRunError, budgets, origin, read
from .choose import classes, coordinates, growth, orderings, recipes, stochastic, weights
from .guide_verdicts import VERDICTS

DOCS, AUDIT = ROOT / "docs", RESULTS / "as_published.json"


def bands() -> Iterator[str]:
    """Coverage of the planner's bands."""
    results = read("guide-bands")
    rows, held, count = [], 0, 0
    for name, checked in planner_coverage.SETTINGS.items():
        found = planner_coverage.covered(results, name)
        if not found:
            continue
        inside = sum(one[-1] for one in found)
        if name not in planner_coverage.TOLD:
            held, count = held + inside, count + len(found)
        outside = "; ".join(
            f"ε {e:g}: {v:.3g}, band {low:.3g} to {high:.3g}" for e, v, low, high, ok in found if not ok
        )
        rows.append(f"| {name} | {checked.band} | {inside} of {len(found)} | {outside} |")
    yield f"{origin('guide-bands', results)}, {max(c.seed for c in results.errors) + 1} for each cell: the band held the measured mean in **{held} of {count}** cells."
    yield ""
    yield "| setting | compared | covered | outside |"
    yield "|---|---|---|---|"
    yield from rows


def verdicts() -> Iterator[str]:
    """The planner's verdict beside what happens."""
    results = read("guide-verdicts")
    yield f"{origin('guide-verdicts', results)}; ranked within records, delta 1e-5, random 80/20 splits. Chances are those of five of the runs, drawn anew."
    yield ""
    yield "| data | ε | planner | five runs say | runs |"
    yield "|---|---|---|---|---|"
    metric = "error over the constant's"
    for data in dict.fromkeys(c.data for c in sorted(results.errors)):
        for epsilon in budgets(results, data):
            ratios = np.array(list(results.values(data, "auto", epsilon, metric).values()))
            said = VERDICTS[round(next(iter(results.values(data, "auto", epsilon, "verdict").values())))]
            odds = planner_verdicts.chances(ratios, np.random.default_rng(0))
            words = ", ".join(f"{word} {chance:.2f}" for word, chance in odds.items() if chance >= 0.05)
            yield f"| {data} | {epsilon:g} | {said} | {words} | {ratios.size} |"


def records() -> Iterator[str]:
    """How many fits the constants of the planner come from."""
    path = ROOT / "src" / "dpsparse" / "report/planner" / "calibration.json"
    kinds: dict[str, dict[str, Any]] = json.loads(path.read_text())["kinds"]
    yield "| kind of fit | fits behind its constants |"
    yield "|---|---|"
    for name, kind in kinds.items():
        yield f"| {name} | {kind['records']} |"


#: Where the fits of a row come from, by the family of its records.
FAMILIES = {
    "real": "public tables",
    "table": "drawn tables",
    "few": "drawn, few dense columns",
    "wide": "drawn, wide rows",
    "text": "drawn documents",
    "persons": "public panels, several rows for each person",
    "curves": "public tables, curves",
}


def held() -> Iterator[str]:
    """Which part of fits that calibrated nothing lies in the planner's bands."""
    told = {"nothing": "nothing", "classes": "share of the rarer class", "signal": "that, and the signal"}
    yield "| data | kind of fit | the planner was told | inside the 90 % band | upper over lower end, median |"
    yield "|---|---|---|---|---|"
    for row in json.loads(planner_tables.RESULTS.read_text()):
        kind, family = row["kind"].split(", ", 1)
        numbers = kind.endswith("regression")
        if row["error"] != "test" or (numbers and row["told"] == "classes"):
            continue
        knows = "the signal" if numbers and row["told"] == "signal" else told[row["told"]]
        inside = f"{row['inside']} of {row['fits']} ({row['inside'] / row['fits']:.0%})"
        yield f"| {FAMILIES.get(family, family)} | {kind} | {knows} | {inside} | {row['width']:.1f} |"


def example() -> Iterator[str]:
    """A plan as the command prints it."""
    from click.testing import CliRunner

    from dpsparse.cli import main

    command = "plan --n-rows 2000 --n-features 1000 --task classification --sparsity 10 --feature-bound 1"
    told = CliRunner().invoke(main, command.split()).output
    yield "```console"
    yield f"$ dpsparse {command}"
    yield told.rstrip()
    yield "```"


def audited() -> Iterator[str]:
    """The museum's table."""
    if not AUDIT.is_file():
        raise NotRunError("not run yet: `python -m benchmarks.as_published --keep`.")
    found = json.loads(AUDIT.read_text(encoding="utf-8"))
    yield "| mechanism | claim | setting | claimed | true | seen in runs | ours | class |"
    yield "|---|---|---|---|---|---|---|---|"
    for e in found["exhibits"]:
        claimed = f"({e['claimed']['epsilon']:.3g}, {e['claimed']['delta']:g})"
        yield f"| {e['name']} | {e['theorem']} | {e['setting']} | {claimed} | {_epsilon(e['true'])} | {_epsilon(e['seen'])} | {_epsilon(e['ours'])} | {e['defect'] if e['broken'] else 'not exceeded'} |"
    yield ""
    yield f"In {found['broken']} of these {len(found['exhibits'])} settings the printed noise costs more than is claimed; ours keeps all {found['kept by ours']} at the same budgets. The classes:"
    yield ""
    for name, meaning in DEFECTS.items():
        count = sum(e["defect"] == name and e["broken"] for e in found["exhibits"])
        yield f"- **{name}** ({count} settings): {meaning}."


def _epsilon(found: dict[str, Any] | None) -> str:
    if found is None:
        return ""
    value = found["value"]
    return str(Epsilon(math.inf if value is None else float(value), found["kind"], found["how"]))


#: Page: names of its blocks, and what makes them.
BLOCKS: dict[str, dict[str, Callable[[], Iterator[str]]]] = {
    "choose.md": {
        "recipes": recipes,
        "orderings": orderings,
        "classes": classes,
        "weights": weights,
        "coordinates": coordinates,
        "stochastic": stochastic,
        "growth": growth,
    },
    "planner.md": {"example": example, "bands": bands, "verdicts": verdicts, "records": records, "tables": held},
    "papers.md": {"audited": audited},
}


def fill(page: str, text: str) -> str:
    """The page with its blocks made anew."""
    for name, make in BLOCKS[page].items():
        start, end = f"<!-- made: {name} -->", f"<!-- end: {name} -->"
        between = re.compile(re.escape(start) + ".*?" + re.escape(end), re.DOTALL)
        try:
            block = "\n".join([start, "", *make(), "", end])
        except NotRunError as missing:
            block = "\n".join([start, "", f"{missing}", "", end])
        text, count = between.subn(lambda _, block=block: block, text)
        if count != 1:
            raise ValueError(f"{page} has {count} blocks {name!r}, not one.")
    return text


def write(pages: Sequence[str] = tuple(BLOCKS)) -> None:
    """Make the blocks of all pages anew."""
    for page in pages:
        path = DOCS / page
        path.write_text(fill(page, path.read_text(encoding="utf-8")), encoding="utf-8")
