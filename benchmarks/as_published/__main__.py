"""``python -m benchmarks.as_published``: the museum's table, and its plot of claimed against true epsilons."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from dpsparse.core.plain import to_json

from . import RUNS, museum
from .show import counted, markdown, plot, table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help="runs of a printed mechanism in each world")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--markdown", action="store_true", help="print the table of docs/papers.md")
    parser.add_argument(
        "--keep", action="store_true", help="write benchmarks/results/as_published.json and docs/papers.svg"
    )
    parser.add_argument("--plot", type=Path, help="draw claimed against true to this file")
    options = parser.parse_args()
    start = time.perf_counter()
    exhibits = museum(options.runs, lambda name: print(f"auditing {name} ...", file=sys.stderr, flush=True))
    broken, kept = sum(e.broken for e in exhibits), sum(e.kept for e in exhibits)
    found = {"exhibits": [e.to_dict() for e in exhibits], "broken": broken, "kept by ours": kept, "runs": options.runs}
    text = json.dumps(to_json(found), indent=2, allow_nan=False)
    if options.keep:
        root = Path(__file__).resolve().parents[2]
        (root / "benchmarks" / "results" / "as_published.json").write_text(text + "\n", encoding="utf-8")
        plot(exhibits, root / "docs" / "papers.svg")
    if options.json:
        print(text)
    elif options.markdown:
        print(markdown(exhibits))
    else:
        print(table(exhibits))
        for name, finding in dict.fromkeys((e.name, e.finding) for e in exhibits):
            print(f"\n{name}: {finding}")
        print(f"\n{counted(exhibits)} Ours keeps {kept} at the same budgets.")
    if options.plot is not None:
        plot(exhibits, options.plot)
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)
    return 0 if all(e.agrees and e.kept for e in exhibits) else 1


if __name__ == "__main__":
    sys.exit(main())
