"""The table of the README beside other libraries, made from the page: python docs/extensions/readme.py writes it."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
START, END = "<!-- peers: made from docs/peers.md by python docs/extensions/readme.py -->", "<!-- peers end -->"
#: Lines of the page that the README shows.
SHOWN = ("dpsparse auto", "diffprivlib", "Opacus, best of grid", "scikit-learn, not private")
#: The column of the privacy guarantee; models without privacy have a separate one.
GUARANTEE, BARE = "ε = 1", "no noise"


def cells(line: str) -> list[str]:
    """The cells of a line of a table."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def read(page: str) -> list[tuple[str, list[dict[str, str]]]]:
    """The tables of the page: the name of the data, and rows by heading, for the libraries that the README shows."""
    found = []
    pattern = r"^(\|[^\n]*\bε = [^\n]*\|)\n\|[-|]+\|\n((?:\|[^\n]*\|\n)+)"
    for head, body in re.findall(pattern, page, flags=re.MULTILINE):
        names = cells(head)
        rows = [dict(zip(names, cells(line), strict=True)) for line in body.splitlines()]
        found.append((names[0], [row for row in rows if row[names[0]] in SHOWN]))
    return found


def shown(cell: str) -> str:
    """An error as the README shows it: beyond ten times a constant's error its size says nothing more."""
    value = re.match(r"[\d.]+(e[+-]?\d+)?", cell)
    return "above 10" if value and float(value[0]) > 10 else cell


def tables(page: str) -> dict[str, dict[str, str]]:
    """Errors by data set and library."""
    return {
        data: {row[data]: shown(row.get(GUARANTEE) or row.get(BARE, "")) for row in rows} for data, rows in read(page)
    }


def table(page: str) -> str:
    """The README's part between its marks: one line a library, one column a data set, and the command."""
    by_data = tables(page)
    heads = [f"{data}<br>{metric.strip()}" for data, _, metric in (name.partition(":") for name in by_data)]
    counts = sorted({int(count) for _, rows in read(page) for row in rows if (count := row.get("seeds", "")).isdigit()})
    seeds = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
    lines = [
        f"At epsilon 1 with defaults, on held-out data (Opacus has no defaults for a linear model: the best of six learning rates, tuned on the test set); mean ± standard error of {seeds} seeds:",
        "",
    ]
    lines += ["| | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    lines += [f"| {name} | " + " | ".join(rows.get(name, "") for rows in by_data.values()) + " |" for name in SHOWN]
    commands = re.search(r"```sh\n(.*?)```", page, flags=re.DOTALL)
    lines += ["", "```sh", (commands[1].strip() if commands else ""), "```"]
    return "\n".join(lines)


def updated(readme: str, page: str) -> str:
    """The README with the table of the page."""
    before, _, rest = readme.partition(START)
    return f"{before}{START}\n{table(page)}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    path = ROOT / "README.md"
    path.write_text(updated(path.read_text(), (ROOT / "docs" / "peers.md").read_text()))
