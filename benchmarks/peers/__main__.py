"""``python -m benchmarks.peers``: run the comparison, or make its page."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from benchmarks.speed.peers import install
from dpsparse.report.bench import Results, Scale, run_study
from dpsparse.report.bench.results import Journal

from . import page
from .methods import ENVIRONMENTS, FOLDER
from .study import STUDY


class Limit:
    """Told of every run; ends the study when its time is over."""

    def __init__(self, minutes: float) -> None:
        self.start, self.minutes = time.monotonic(), minutes

    def __call__(self, done: int, of: int) -> None:
        """Told how many runs are there."""
        if done % 100 == 0 or done == of:
            print(f"{done} of {of} runs, {(time.monotonic() - self.start) / 60:.0f} min", file=sys.stderr, flush=True)
        if time.monotonic() - self.start > 60 * self.minutes:
            raise TimeoutError


def so_far(journal: Path, scale: Scale) -> Results:
    """Results of the cells that were run."""
    done, cells = Journal(journal, STUDY.runs).read(), STUDY.cells()
    errors = {cell: done[cell] for cell in cells if cell in done}
    whole = scale if len(errors) >= len(STUDY.at_scale(scale).cells()) else f"{len(errors)} of {len(cells)} runs"
    return Results(STUDY.name, errors, scale=whole)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--install", action="store_true", help="make the peers' environments, and stop")
    parser.add_argument("--page", action="store_true", help="make the page of the results that are kept, and stop")
    parser.add_argument("--so-far", action="store_true", help="run nothing; keep what was run, and make its page")
    parser.add_argument("--scale", choices=("quick", "full"), default="full")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so long; a later run resumes")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("out/peers"), help="folder of the journal")
    parser.add_argument(
        "--keep", type=Path, help="file for results; no page. Default: benchmarks/results, and the page"
    )
    options = parser.parse_args()
    if options.install:
        install(FOLDER, ENVIRONMENTS)
        return 0
    journal = options.out / "peers.jsonl"
    if not (options.page or options.so_far):
        options.out.mkdir(parents=True, exist_ok=True)
        study = STUDY.at_scale(options.scale)
        try:
            run_study(study, journal, processes=options.processes, tell=Limit(options.minutes))
        except TimeoutError:
            print("stopped; the same command resumes", file=sys.stderr)
    if not options.page:
        so_far(journal, options.scale).write(options.keep or page.RESULTS)
    if options.keep is None:
        page.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
