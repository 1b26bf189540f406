"""docs/mutation.md, made from docs/mutation.json."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Row = dict[str, Any]
HEAD = """# Mutants

Would a test notice a wrong change of trusted code? A mutant is one such change, made from the syntax of a file: a
comparison moved by its edge or turned round, a constant doubled, halved or moved by one, a check, call, update,
clause, bound or keyword argument dropped, an operator or `min` and `max` exchanged, a rounding turned
(`tests/mutants/operators.py`). Each is applied alone to a copy of the tree and meets the tests that enter its function.
It is *killed* when one of them fails, and *survives* when all pass that fit into the time for one mutant; it takes *too
long* when they do not end in three times their usual time, which is not counted as killed.

The files are those of `tools/tiers.json`. Mutants are taken in a random but fixed order, so those with a verdict are a
random sample of the mutants of their tier or file, as far as a run was not restricted to some. A verdict belongs to its
line and is dropped when the line changes; *earlier* counts those whose file has changed elsewhere since.
A mutant that survived at first and was killed in a later run, mostly by a test that was added for it, is *killed late*.
The ranges are 95 % Wilson intervals of the share that is killed at first. `make mutants` continues the sample.
"""


def read_reasons() -> dict[str, str]:
    """Why survivors may survive, by name of the mutant, from reasons.toml."""
    content = tomllib.loads((Path(__file__).parent / "reasons.toml").read_text())
    return {entry["mutant"]: entry["why"] for entry in content.get("survivor", [])}


def wilson(killed: int, count: int, z: float = 1.96) -> tuple[float, float]:
    """The Wilson interval of a share; everything where nothing is known."""
    if not count:
        return 0.0, 1.0
    share, weight = killed / count, z * z / count
    middle = (share + weight / 2) / (1 + weight)
    half = z * math.sqrt(share * (1 - share) / count + weight / (4 * count)) / (1 + weight)
    return max(0.0, middle - half), min(1.0, middle + half)


def page_of(content: Row) -> str:
    """The page."""
    files, rows = content["files"], content["results"]
    killed, late = (sum(row["verdict"] == "killed" and row["late"] is late for row in rows) for late in (False, True))
    total = sum(file["mutants"] for file in files.values())
    low, high = wilson(killed, len(rows))
    said = (
        f"{len(rows)} of {total} mutants have a verdict (seed {content['seed']}). {killed} of them were killed at first"
    )
    lines = [HEAD, f"**{said} ({low:.0%} to {high:.0%}), {late} more late.**", ""]
    tiers = dict.fromkeys(file["tier"] for file in files.values())
    lines += _table("tier", tiers, lambda row: files[row["file"]]["tier"], content)
    lines += ["", "## Files", "", "Each with the digest of its text; those without a verdict are left out.", ""]
    lines += _table("file", sorted({row["file"] for row in rows}), lambda row: row["file"], content)
    lines += ["", "## Survivors", ""]
    for row in rows:
        if row["verdict"] != "killed":
            met = f"{row['verdict']}; {row['tests']} of {row['tests_of_function']} tests that enter the function"
            before, after = (row[side].splitlines() for side in ("before", "after"))
            changed = [*(f"-{line}" for line in before), *(f"+{line}" for line in after)]
            name, why = row["mutant"].replace("`", ""), row["why"] or "**open**"
            lines += [f"`{name}` ({met}): {why}", "", "```diff", *changed, "```", ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _table(title: str, keys: Iterable[str], key: Callable[[Row], str], content: Row) -> list[str]:
    """Counts and kill rate by tier or file."""
    files = content["files"]
    heads = [title, "mutants", "with a verdict", "killed at first", "killed late", "survived, explained", "open"]
    heads += ["too long", "earlier", "killed at first, 95 %"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name in keys:
        own = [row for row in content["results"] if key(row) == name]
        mutants = sum(file["mutants"] for path, file in files.items() if name in (path, file["tier"]))
        late = sum(row["late"] for row in own)
        killed = sum(row["verdict"] == "killed" for row in own) - late
        survived = [row for row in own if row["verdict"] == "survived"]
        explained = sum(bool(row["why"]) for row in survived)
        too_long = sum(row["verdict"] == "too long" for row in own)
        earlier = sum(row["file_digest"] != files[row["file"]]["digest"] for row in own)
        low, high = wilson(killed, len(own))
        counts = (mutants, len(own), killed, late, explained, len(survived) - explained, too_long, earlier)
        range_ = f"{low:.0%} to {high:.0%}" if own else "unknown"
        version = f" {files[name]['digest']}" if name in files else ""
        lines.append(f"| `{name}{version}` | {' | '.join(map(str, counts))} | {range_} |")
    return lines
