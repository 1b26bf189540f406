"""``python -m benchmarks.papers``: run all studies, or say how long they take; then results and pages are written.

python -m benchmarks.papers --scale quick             # the short set
python -m benchmarks.papers                           # everything; goes on where it was stopped
python -m benchmarks.papers --only 000-figure-1 --estimate
python -m benchmarks.papers --seeds 4                 # the first seeds of every study, where time is short; more may follow
python -m benchmarks.papers --so-far                  # keep what a run that was stopped had of whole seeds, then the pages
python -m benchmarks.papers --recheck 10              # numbers drawn at random from the results that are kept, run again
python -m benchmarks.papers --add "DP-GCD, best of grid"  # keep the results there are, but those of these methods, and run what is missing
python -m benchmarks.papers --pages                   # pages and figures from the results that are kept
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from dpsparse.report.bench import Results, ScaledStudy, run_study
from dpsparse.report.bench.results import Journal
from dpsparse.report.bench.study import studies

from . import pages
from .recheck import recheck
from .study import FirstSeeds


def minutes(study: ScaledStudy, folder: Path) -> tuple[float, int, int]:
    """CPU minutes of the runs that are left, how many these are, and how many of them have no like to judge by.

    A run takes what runs of its method on its data took on average; where there is none, what runs of its method took anywhere in the study.
    """
    done = Journal(folder / f"{study.runs}.jsonl", study.runs).read()
    here: dict[tuple[str, str], list[float]] = defaultdict(list)
    anywhere: dict[str, list[float]] = defaultdict(list)
    for cell, errors in done.items():
        here[cell.data, cell.method].append(errors.get("cost", 0.0))
        anywhere[cell.method].append(errors.get("cost", 0.0))
    total, unknown = 0.0, 0
    left = [cell for cell in study.cells() if cell not in done]
    for cell in left:
        known = here.get((cell.data, cell.method)) or anywhere.get(cell.method)
        unknown += not known
        total += float(np.mean(known)) if known else 0.0
    return total / 60, len(left), unknown


def so_far(study: ScaledStudy, folder: Path) -> Results | None:
    """Results of the seeds at which every run is there, if these are at least two more than at the quick scale."""
    done = Journal(folder / f"{study.runs}.jsonl", study.runs).read()
    cells = study.cells()
    count = max(cell.seed for cell in cells) + 1
    whole = min((cell.seed for cell in cells if cell not in done), default=count)
    quick = max((cell.seed for cell in study.at_scale("quick").cells()), default=0) + 1
    if whole < min(quick + 2, count):
        return None
    few = {cell: done[cell] for cell in cells if cell.seed < whole}
    return Results(study.name, few, scale="full" if whole == count else f"the first {whole} of {count} seeds")


def take_over(study: ScaledStudy, folder: Path, again: Sequence[str]) -> Results | None:
    """Put the kept runs of a study into its journal, but those of the methods that are run again; what was kept."""
    before = pages.kept(study.name)
    if before is None:
        return None
    journal = Journal(folder / f"{study.runs}.jsonl", study.runs)
    done = journal.read()
    journal.add_all(
        {
            cell: before.errors[cell]
            for cell in study.cells()
            if cell in before.errors and cell not in done and cell.method not in again
        }
    )
    return before


def with_earlier(results: Results, before: Results | None) -> Results:
    """The results, with a word on how many of the runs are those of an earlier state of the library."""
    if before is None:
        return results
    same = sum(before.errors.get(cell) == errors for cell, errors in results.errors.items())
    return replace(results, machine={**results.machine, "runs kept from an earlier state": str(same)})


class Progress:
    """A line to standard error every twentieth of a study, with the time that is left."""

    def __init__(self, name: str) -> None:
        self.name, self.start, self.first, self.told = name, time.perf_counter(), -1, -1

    def __call__(self, done: int, of: int) -> None:
        """Told how many runs are there."""
        self.first = done - 1 if self.first < 0 else self.first
        if 20 * done // of > self.told:
            self.told = 20 * done // of
            left = (time.perf_counter() - self.start) / (done - self.first) * (of - done)
            print(f"{self.name}: {done} of {of} runs, about {left / 60:.0f} min left", file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", choices=("quick", "full"), default="full")
    parser.add_argument("--only", nargs="+", metavar="STUDY")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, default=Path("out/papers"), help="folder of the journals")
    parser.add_argument(
        "--keep", type=Path, help="folder for results; no pages. Default: benchmarks/results, and pages"
    )
    parser.add_argument("--seeds", type=int, metavar="N", help="run the first N seeds alone, then as --so-far")
    parser.add_argument("--estimate", action="store_true", help="print CPU minutes of what is left, and stop")
    parser.add_argument(
        "--so-far", action="store_true", help="keep the whole seeds of runs that were stopped; do not run"
    )
    parser.add_argument("--recheck", type=int, metavar="N", help="run N kept numbers again, and stop")
    parser.add_argument(
        "--add", nargs="*", metavar="METHOD", help="keep results, but those of these methods; run what is missing"
    )
    parser.add_argument("--pages", action="store_true", help="make pages and figures of the kept results, and stop")
    options = parser.parse_args()
    known = studies()
    chosen = [known[name].at_scale(options.scale) for name in options.only or known]
    for study in chosen:
        for line in study.missing():
            print(f"{study.name}: left out, no {line}", file=sys.stderr)
    chosen = [study for study in chosen if study.cells()]
    for folder in (options.out, options.keep or pages.RESULTS):
        folder.mkdir(parents=True, exist_ok=True)
    if options.estimate:
        for study in chosen:
            took, left, unknown = minutes(study, options.out)
            print(
                f"{study.name:14s} {took:7.1f} CPU minutes for {left} runs; {unknown} of them unlike any that was run"
            )
        return 0
    if options.recheck:
        kept = {name: pages.kept(name) for name in options.only or known}
        there = {
            name: (known[name], known[name].metric, results) for name, results in kept.items() if results is not None
        }
        return min(1, recheck(there, options.recheck))
    before = {study.name: take_over(study, options.out, options.add) for study in chosen if options.add is not None}
    for study in chosen if options.seeds else ():
        few = FirstSeeds(study, options.seeds)
        run_study(few, options.out / f"{study.runs}.jsonl", processes=options.processes, tell=Progress(study.name))
    if options.so_far or options.seeds:
        for study in chosen:
            partly = so_far(study, options.out)
            if partly is not None:
                partly = with_earlier(partly, before.get(study.name))
                partly.write((options.keep or pages.RESULTS) / f"{study.name}.parquet")
                print(f"{study.name:14s} {partly.scale}", flush=True)
    elif not options.pages:
        for study in chosen:
            start = time.perf_counter()
            results = run_study(
                study, options.out / f"{study.runs}.jsonl", processes=options.processes, tell=Progress(study.name)
            )
            results = with_earlier(results, before.get(study.name))
            results.write((options.keep or pages.RESULTS) / f"{study.name}.parquet")
            print(f"{study.name:14s} {len(results.errors)} runs, {time.perf_counter() - start:.0f} s", flush=True)
    if options.keep is None:
        pages.write(known)
    return 0


if __name__ == "__main__":
    sys.exit(main())
