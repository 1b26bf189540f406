"""``make mutants``: apply every mutant that has no result yet to a copy of the tree, and see which test notices.

    cd tests && python -m mutants.run [--only WORD ...] [--again] [--minutes M] [--page] [--workers 2] [--timeout 600] [--out ../docs]

Each mutant is applied alone, and the tests that watch over its file run until one fails: first the test that noticed last time, by
docs/mutation.json, then all of them. A test that fails without the mutant as well notices nothing. Results are written one by one, so a run
can be stopped and taken up again; trusted packages come first. A result belongs to the text of its mutant, by checksum: where
that changed, it lapses. ``--again`` runs also those that have a result, ``--page`` only writes the page for the catalogue as it is now.
The working tree is never touched but for the two files of results.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .catalogue import EXPLAINED, MUTANTS
from .mutant import Mutant

ROOT = Path(__file__).resolve().parents[2]
#: What a copy holds.
PARTS = ("src", "tests", "benchmarks", "pyproject.toml")
#: Packages whose mutants are run first, in this order: what noise, prices and sums rest on.
FIRST = ("core", "accounting", "queries", "oracles", "rows", "ledger")


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant; `killed_by` is a test, or empty if it survived. Where tests ran too long, nothing is known."""

    mutant: Mutant
    killed_by: str
    seconds: float
    too_long: bool = False

    @property
    def survived(self) -> bool:
        """Whether all tests ran, and none noticed."""
        return not self.killed_by and not self.too_long


class Copy:
    """A copy of the tree in which files may be changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.passing: set[str] = set()  # tests that were seen to pass unchanged
        for part in PARTS:
            source = ROOT / part
            if source.is_dir():
                shutil.copytree(
                    source, folder / part, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "*.part")
                )
            else:
                shutil.copy(source, folder / part)

    def tests(self, files: Sequence[str], timeout: float) -> tuple[int, str]:
        """Run test files until one fails: exit code, or -1 after too long, and output."""
        path = os.pathsep.join(str(self.folder / part) for part in ("src", "."))
        quiet = {
            "PYTHONPATH": path,
            "PYTHONDONTWRITEBYTECODE": "1",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "-n",
            "0",
            "--tb=line",
            "-p",
            "no:cacheprovider",
            "-m",
            "not slow",
        ]
        try:
            run = subprocess.run(
                [*command, *(f"tests/{f}" for f in files)],
                cwd=self.folder,
                env=os.environ | quiet,
                capture_output=True,
                text=True,
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return -1, ""
        return run.returncode, run.stdout + run.stderr

    def judged(self, mutant: Mutant, timeout: float, known: str = "") -> Outcome:
        """Apply a mutant, run its tests, undo it; the test `known` first."""
        file = self.folder / "src" / "dpsparse" / mutant.file
        text = file.read_text()
        if text.count(mutant.old) != 1:
            raise RuntimeError(f"{mutant.name}: its text does not occur exactly once in {mutant.file}.")
        start = time.perf_counter()
        file.write_text(text.replace(mutant.old, mutant.new))
        code = 0
        try:
            found = killer(*self.tests([known], timeout)) if known else ""
            if not found:
                code, output = self.tests(mutant.tests, timeout)
                found = killer(code, output)
        finally:
            file.write_text(text)
        if found and found not in self.passing:
            if self.tests([found], timeout)[0] != 0:
                raise RuntimeError(f"{found} does not pass without any mutant: mend it first.")
            self.passing.add(found)
        return Outcome(mutant, found, time.perf_counter() - start, too_long=code == -1)


def killer(code: int, output: str) -> str:
    """The first test that failed. Nothing if none did: tests that ran too long or could not be collected notice nothing."""
    found = re.search(r"^FAILED tests/(\S+?::\S.*?)(?: - .*)?$", output, flags=re.MULTILINE)
    if code == 1 and found is None:  # 4: a test that was known is gone
        print(f"no test failed, yet pytest ended with {code}:\n{output[-2000:]}", flush=True)
    return found.group(1) if code > 0 and found else ""


def imports_the_copy(copy: Copy) -> None:
    """The copy must be what is tested, not an installed package."""
    code = "import dpsparse; print(dpsparse.__file__)"
    environment = os.environ | {"PYTHONPATH": str(copy.folder / "src")}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    if not run.stdout.startswith(str(copy.folder)):
        raise RuntimeError(f"dpsparse is imported from {run.stdout.strip()} and not from the copy.")


def run(
    mutants: Sequence[Mutant],
    workers: int,
    timeout: float,
    seconds: float,
    known: Mapping[str, str],
    note: Callable[[Outcome], None],
) -> list[Outcome]:
    """Outcomes of as many mutants as are begun within `seconds`; `known` are tests that noticed last time, `note` is told each outcome."""
    end = time.perf_counter() + seconds
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(workers) as pool:
        copies: queue.Queue[Copy] = queue.Queue()
        told = threading.Lock()
        for number in range(workers):
            copies.put(Copy(Path(folder) / str(number)))
        imports_the_copy(copies.queue[0])

        def one(mutant: Mutant) -> Outcome | None:
            copy = copies.get()
            try:
                if time.perf_counter() > end:
                    return None
                found = copy.judged(mutant, timeout, known.get(mutant.name, ""))
            finally:
                copies.put(copy)
            with told:
                note(found)
            return found

        return [found for found in pool.map(one, mutants) if found is not None]


# ------------------------------------------------------------------------------------------------ results


def read(out: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Of docs/mutation.json: the test that killed each mutant whose text is still the same (empty: it survived), and the tests
    that noticed the others before they changed, which are worth a try.
    """
    file = out / "mutation.json"
    if not file.exists():
        return {}, {}
    content = json.loads(file.read_text())
    now = {m.name: m.checksum for m in MUTANTS}
    kept = [row for row in content["results"] if now.get(row["mutant"]) == row["checksum"]]
    lapsed = {row["mutant"]: row["killed by"] for row in content["results"] if row not in kept and row["killed by"]}
    hints = {name: test for name, test in (content["noticed before"] | lapsed).items() if name in now}
    return {row["mutant"]: row["killed by"] or "" for row in kept}, hints


def content_of(killers: Mapping[str, str], hints: Mapping[str, str]) -> dict[str, object]:
    """What docs/mutation.json holds: results of mutants of the catalogue, and the names of those without one."""
    rows: list[dict[str, str | None]] = []
    for m in MUTANTS:
        if m.name in killers:
            survives = {} if killers[m.name] else {"why it survives": EXPLAINED.get(m.name, "not explained")}
            row = {"mutant": m.name, "file": m.file, "checksum": m.checksum, "killed by": killers[m.name] or None}
            rows.append(row | survives)
    return {
        "mutants": len(MUTANTS),
        "with a result": len(rows),
        "killed": sum(row["killed by"] is not None for row in rows),
        "results": rows,
        "without a result": [m.name for m in MUTANTS if m.name not in killers],
        "noticed before": {name: test for name, test in hints.items() if name not in killers},
    }


def page_of(content: Mapping[str, Any]) -> str:
    """docs/mutation.md."""
    missing = Counter(m.file for m in MUTANTS if m.name in content["without a result"])
    lines = [
        "# Mutants",
        "",
        "Wrong changes to the trusted packages and their neighbours (a constant halved, a clip skipped, a count forgotten, a charge after the look),",
        "each applied alone to a copy of the tree. A mutant is killed when a test or a law fails; the table names one that does. `tests/mutants/` holds",
        "the changes. A result belongs to the text of its mutant and lapses when that changes. `make mutants` runs those without a result.",
        "",
        f"**{content['with a result']} of {content['mutants']} mutants have a result, {content['killed']} of them were killed.**",
        "",
        "| mutant | file | killed by |",
        "|---|---|---|",
    ]
    for row in content["results"]:
        test = f"`{_short(row['killed by'])}`" if row["killed by"] else f"survives: {row['why it survives']}"
        lines.append(f"| {row['mutant']} | `{row['file']}` | {test} |")
    if missing:
        lines += [
            "",
            "## Without a result",
            "",
            "Not run since they were written or changed: nothing is known of them.",
            "",
        ]
        lines += ["| file | mutants |", "|---|---|", *(f"| `{file}` | {count} |" for file, count in missing.items())]
    return "\n".join(lines) + "\n"


def write(killers: Mapping[str, str], hints: Mapping[str, str], out: Path) -> None:
    """docs/mutation.json and docs/mutation.md."""
    content = content_of(killers, hints)
    (out / "mutation.json").write_text(json.dumps(content, indent=1) + "\n")
    (out / "mutation.md").write_text(page_of(content))


def _short(test: str) -> str:
    """Without the values of parameters, which tables cannot hold."""
    return test.split("[", 1)[0]


def _rank(mutant: Mutant) -> int:
    room = mutant.file.split("/")[0]
    return FIRST.index(room) if room in FIRST else len(FIRST)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", nargs="*", default=[], metavar="WORD", help="mutants whose name or file holds one of these"
    )
    parser.add_argument("--again", action="store_true", help="also mutants that have a result")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no mutant after so long")
    parser.add_argument("--page", action="store_true", help="run nothing; write the page for the catalogue as it is")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for the tests of one mutant")
    parser.add_argument("--out", type=Path, default=ROOT / "docs")
    options = parser.parse_args()
    killers, hints = read(options.out)
    write(killers, hints, options.out)
    if options.page:
        return 0
    named = [m for m in MUTANTS if not options.only or any(w in m.name or w in m.file for w in options.only)]
    if not named:
        parser.error(f"no mutant is named like {options.only}.")
    mutants = sorted((m for m in named if options.again or m.name not in killers), key=_rank)
    start, known = time.perf_counter(), hints | killers

    def note(outcome: Outcome) -> None:
        verdict = "TOO LONG" if outcome.too_long else "SURVIVED" if outcome.survived else "killed  "
        print(f"{verdict} {outcome.seconds:5.0f} s  {outcome.mutant.name}  {outcome.killed_by}", flush=True)
        if not outcome.too_long:
            killers[outcome.mutant.name] = outcome.killed_by
            write(killers, hints, options.out)

    outcomes = run(mutants, options.workers, options.timeout, 60 * options.minutes, known, note)
    survivors = [o for o in outcomes if o.survived]
    killed = sum(bool(o.killed_by) for o in outcomes)
    print(
        f"{killed} of {len(outcomes)} killed in {(time.perf_counter() - start) / 60:.1f} minutes; "
        f"{len(mutants) - len(outcomes)} were not begun."
    )
    unexplained = [o.mutant.name for o in survivors if o.mutant.name not in EXPLAINED]
    print(*(f"survived: {name}" for name in unexplained), sep="\n")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
