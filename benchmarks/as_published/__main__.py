"""``python -m benchmarks.as_published``: the museum's table, and its plot of claimed against true epsilons."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from pathlib import Path
from typing import Any

from . import RUNS, museum
from .show import markdown, plot, table


def plain(value: Any) -> Any:
    """JSON knows no infinity."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return [plain(v) for v in value] if isinstance(value, list | tuple) else value


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help="runs of a printed mechanism in each world")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--markdown", action="store_true", help="print the table of docs/papers.md")
    parser.add_argument("--plot", type=Path, default=Path("out/papers.svg"), help="where the plot goes")
    options = parser.parse_args()
    start = time.perf_counter()
    exhibits = museum(options.runs, lambda name: print(f"auditing {name} ...", file=sys.stderr, flush=True))
    if options.json:
        print(json.dumps({"exhibits": [plain(e.to_dict()) for e in exhibits]}, indent=2, allow_nan=False))
    else:
        print(markdown(exhibits) if options.markdown else table(exhibits))
    options.plot.parent.mkdir(parents=True, exist_ok=True)
    plot(exhibits, options.plot)
    print(f"plot: {options.plot} ({time.perf_counter() - start:.0f} s)", file=sys.stderr)
    return 0 if all(e.agrees and e.kept for e in exhibits) else 1


if __name__ == "__main__":
    sys.exit(main())
