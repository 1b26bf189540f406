"""Print the table of the papers' recipes with their defaults.

    python -m benchmarks.defaults [--data covtype california] [--recipes dp_ight dp_sgd_ht] [--seeds 2] [--epsilons .5 4 1e4]

Lines that are in the results already are measured anew and replaced. `--page` writes docs/papers_defaults.md from all of them.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from benchmarks.defaults.cases import CASES, TWINS
from benchmarks.defaults.cells import Bench, Line, line_of
from benchmarks.defaults.page import page, shown

HERE = Path(__file__).resolve().parent


def read(path: Path) -> list[Line]:
    """Lines that were measured before."""
    return [line_of(v) for v in json.loads(path.read_text())] if path.exists() else []


def write(path: Path, lines: list[Line]) -> None:
    """In the order of the data sets and recipes, one line of text for each."""
    order = {(d, r): i for i, (d, r) in enumerate((d, r) for d in CASES for r in TWINS)}
    lines = sorted(lines, key=lambda line: order[line.data, line.recipe])
    path.write_text("[\n" + ",\n".join(json.dumps(line.to_dict()) for line in lines) + "\n]\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--recipes", nargs="*", default=list(TWINS), choices=list(TWINS))
    parser.add_argument("--epsilons", nargs="*", type=float, default=[0.5, 4.0, 1e4])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=None, help="at most so many rows")
    parser.add_argument("--results", type=Path, default=HERE / "results.json")
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    for name in options.data:
        bench = Bench(name, options.rows)
        print(f"{name}: {bench.case.X.shape}, constant {bench.case.constant:.4f}", flush=True)
        for recipe in options.recipes:
            line = bench.line(recipe, options.epsilons, seeds)
            kept = [v for v in read(options.results) if (v.data, v.recipe) != (name, recipe)]
            write(options.results, [*kept, line])
            words = "  ".join(f"{e:g}: {shown(v)}" for e, v in zip(line.epsilons, line.errors, strict=True))
            twin = "" if line.twin_error is None else f"{line.twin} {line.twin_error:.4f}"
            print(f"  {recipe:15s} {words}  {twin}  {'; '.join(line.wrong)}  ({line.seconds:.0f} s)", flush=True)
    if options.page:
        text = page([line for line in read(options.results) if np.isfinite(line.constant)])
        (HERE.parents[1] / "docs" / "papers_defaults.md").write_text(text)


if __name__ == "__main__":
    main()
