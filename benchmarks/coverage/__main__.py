"""How often intervals after private selection contain their target: `python -m benchmarks.coverage --fits 400 [--only WORD ...]`.

Every cell is a law of data and a budget; each fit has data, coins and noise of its own, by a seed. Results are kept in benchmarks/results/coverage.parquet and added to: seeds that a cell has
are left alone, so that a run may be stopped and taken up again. Cells get 100 fits each, then 200, and so on. `--page` writes docs/intervals_benchmark.md and runs nothing.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

from benchmarks.coverage.cells import Cell, cells
from benchmarks.coverage.fits import one
from benchmarks.coverage.page import write
from benchmarks.coverage.store import FILE, Store

#: Fits after which the file is written, and fits of a cell before the next one has its turn.
PIECE, ROUND = 25, 100
#: The first seed: nothing was chosen on it or on later ones.
FIRST = 1_000_000


def run(wanted: list[Cell], fits: int, store: Store, first: int = FIRST) -> None:
    """Add fits until every cell has those of `fits` seeds from the first one on."""
    for until in range(min(ROUND, fits), fits + ROUND, ROUND):
        for cell in wanted:
            left = [s for s in range(first, first + min(until, fits)) if s not in store.seeds(cell.name)]
            start = time.process_time()
            for at in range(0, len(left), PIECE):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    store.add(cell.name, {seed: one(cell, seed) for seed in left[at : at + PIECE]})
            if left:
                spent = (time.process_time() - start) / len(left)
                print(f"{cell.name}: {len(store.seeds(cell.name))} fits, {spent:.3f} s each", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=400, help="fits of each cell")
    parser.add_argument("--first", type=int, default=FIRST, help="the first seed")
    parser.add_argument("--only", nargs="*", default=[], help="cells whose name holds one of these words")
    parser.add_argument("--out", type=Path, default=FILE)
    parser.add_argument("--page", action="store_true", help="write the page and run nothing")
    given = parser.parse_args()
    store = Store(given.out)
    if not given.page:
        chosen = [c for c in cells() if not given.only or any(word in c.name for word in given.only)]
        run(chosen, given.fits, store, given.first)
    write(store)


if __name__ == "__main__":
    main()
