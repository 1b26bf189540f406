"""``make mutants``: apply every mutant to a copy of the tree, and see which test notices.

    cd tests && python -m mutants.run [--only WORD ...] [--workers 2] [--timeout 600] [--out ../docs]

First every test file of the catalogue must pass unchanged. Then each mutant is applied alone, and the tests that watch over its file run
until one fails: first the test that noticed last time, by docs/mutation.json, then all of them. The working tree is never touched but for the
two files of results, in which `--only` renews what it ran.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from .catalogue import EXPLAINED, MUTANTS
from .mutant import Mutant

ROOT = Path(__file__).resolve().parents[2]
#: What a copy holds.
PARTS = ("src", "tests", "benchmarks", "pyproject.toml")


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant; `killed_by` is a test, or empty if it survived."""

    mutant: Mutant
    killed_by: str
    seconds: float

    @property
    def survived(self) -> bool:
        """Whether no test noticed."""
        return not self.killed_by


class Copy:
    """A copy of the tree in which files may be changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
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
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=line", "-p", "no:cacheprovider", "-m", "not slow"]
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
        try:
            found = killer(*self.tests([known], timeout)) if known else ""
            found = found or killer(*self.tests(mutant.tests, timeout))
        finally:
            file.write_text(text)
        return Outcome(mutant, found, time.perf_counter() - start)


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
    checked: bool,
    known: dict[str, str],
    note: Callable[[Outcome], None],
) -> list[Outcome]:
    """All outcomes, in the order of the catalogue; `known` are the tests that noticed last time, `note` is told each outcome."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(workers) as pool:
        copies: queue.Queue[Copy] = queue.Queue()
        told = threading.Lock()
        for number in range(workers):
            copies.put(Copy(Path(folder) / str(number)))
        imports_the_copy(copies.queue[0])

        def passes(file: str) -> None:
            copy = copies.get()
            try:
                code, output = copy.tests([file], timeout)
            finally:
                copies.put(copy)
            if code != 0:
                raise RuntimeError(f"{file} does not pass without any mutant (exit {code}).\n{output[-3000:]}")
            print(f"unchanged  {file}", flush=True)

        def one(mutant: Mutant) -> Outcome:
            copy = copies.get()
            try:
                found = copy.judged(mutant, timeout, known.get(mutant.name, ""))
            finally:
                copies.put(copy)
            with told:
                note(found)
            return found

        if checked:
            list(pool.map(passes, dict.fromkeys(f for m in mutants for f in m.tests)))
        return list(pool.map(one, mutants))


def last_killers(out: Path) -> dict[str, str]:
    """Which test noticed each mutant last time; empty for survivors."""
    file = out / "mutation.json"
    if not file.exists():
        return {}
    return {row["mutant"]: row["killed by"] or "" for row in json.loads(file.read_text())["mutants"]}


def write(killers: dict[str, str], out: Path) -> None:
    """docs/mutation.json and docs/mutation.md, for all mutants of the catalogue that were ever run."""
    judged = [m for m in MUTANTS if m.name in killers]
    rows: list[dict[str, str | None]] = []
    for m in judged:
        survives = {} if killers[m.name] else {"why it survives": EXPLAINED.get(m.name, "not explained")}
        rows.append({"mutant": m.name, "file": m.file, "killed by": killers[m.name] or None, **survives})
    killed = sum(row["killed by"] is not None for row in rows)
    content = {"killed": killed, "of": len(rows), "mutants": rows}
    (out / "mutation.json").write_text(json.dumps(content, indent=1) + "\n")
    lines = [
        "# Mutants",
        "",
        "Wrong changes to the trusted rooms (a constant halved, a clip skipped, a count forgotten, a charge after the look), each applied alone to a",
        "copy of the tree. A mutant is killed when a test or a law fails; the table names one that does. `make mutants` makes this page, and",
        "`tests/mutants/` holds the changes.",
        "",
        f"**{killed} of {len(rows)} killed.**",
        "",
        "| mutant | file | killed by |",
        "|---|---|---|",
    ]
    for row in rows:
        test = f"`{_short(row['killed by'])}`" if row["killed by"] else f"survives: {row['why it survives']}"
        lines.append(f"| {row['mutant']} | `{row['file']}` | {test} |")
    (out / "mutation.md").write_text("\n".join(lines) + "\n")


def _short(test: str) -> str:
    """Without the values of parameters, which tables cannot hold."""
    return test.split("[", 1)[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", nargs="*", default=[], metavar="WORD", help="mutants whose name or file holds one of these"
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for the tests of one mutant")
    parser.add_argument("--unchecked", action="store_true", help="do not run the tests without a mutant first")
    parser.add_argument("--out", type=Path, default=ROOT / "docs")
    options = parser.parse_args()
    mutants = [m for m in MUTANTS if not options.only or any(w in m.name or w in m.file for w in options.only)]
    if not mutants:
        parser.error(f"no mutant is named like {options.only}.")
    start = time.perf_counter()
    killers = last_killers(options.out)
    known = dict(killers)

    def note(outcome: Outcome) -> None:
        verdict = "SURVIVED" if outcome.survived else "killed  "
        print(f"{verdict} {outcome.seconds:5.0f} s  {outcome.mutant.name}  {outcome.killed_by}", flush=True)
        killers[outcome.mutant.name] = outcome.killed_by
        write(killers, options.out)

    outcomes = run(mutants, options.workers, options.timeout, not options.unchecked, known, note)
    survivors = [o for o in outcomes if o.survived]
    print(
        f"{len(outcomes) - len(survivors)} of {len(outcomes)} killed in {(time.perf_counter() - start) / 60:.1f} minutes"
    )
    unexplained = [o.mutant.name for o in survivors if o.mutant.name not in EXPLAINED]
    print(*(f"survived: {name}" for name in unexplained), sep="\n")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
