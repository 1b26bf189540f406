"""``make mutants``: apply a sample of the mutants of trusted files, each alone to a copy, and see which test fails.

    cd tests && python -m mutants.run --sample 500 --seed 1 [--tier kernel] [--only rows/] [--minutes 60] [--page]

Files come from tools/tiers.json. Before the first mutant the tests of `TESTS` run once, unchanged:
they must pass, and it is noted which functions each test enters (kept in out/, until a file changes).
A mutant then meets the tests that enter its function, the quickest first, up to `--budget` seconds of
them; a test that kills must pass alone without the mutant. Mutants are taken in an order that the
seed gives, which does not change where the code does not: a run can be stopped and continued, and a
larger sample contains a smaller one. Verdicts go to docs/mutation.json one by one, and
docs/mutation.md is made from them. Survivors are explained in reasons.toml, beside this file.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from .judging import Judge, Recorder, ended, fork
from .operators import Mutant, digest, mutants
from .page import page_of, read_reasons

ROOT = Path(__file__).resolve().parents[2]
SRC, DOCS = ROOT / "src" / "dpsparse", ROOT / "docs"
TIERS: dict[str, list[str]] = json.loads((ROOT / "tools" / "tiers.json").read_text())
#: Tests that mutants meet: folders, and files.
TESTS = (
    *("core", "accounting", "queries", "oracles", "rows", "ledger", "test_facts.py", "test_checks.py", "test_plain.py"),
    *("federated/test_site_privacy.py", "laws/test_mechanism_laws.py"),
    *("laws/test_neighbours.py", "laws/test_one_gate.py", "laws/test_one_record.py", "laws/test_pricing_laws.py"),
    *("laws/test_row_laws.py", "laws/test_loss_laws.py", "laws/test_statement_laws.py"),
    *("laws/test_drawn_is_paid.py", "laws/test_hostile_pairs.py"),
)
#: What a copy of the tree holds.
PARTS = ("src", "tests", "benchmarks", "docs", "tools", "examples", "pyproject.toml", "conftest.py", "README.md")
#: Seconds beyond three times the recorded ones after which tests are stopped: the start, and loops without an end.
PATIENCE = 60.0


def tier_of(file: str) -> str | None:
    """The first tier whose patterns name a file; those that begin with ! take it out."""
    for tier, patterns in TIERS.items():
        left_out = any(fnmatch(file, pattern[1:]) for pattern in patterns if pattern.startswith("!"))
        if any(fnmatch(file, pattern) for pattern in patterns) and not left_out:
            return tier
    return None


def population() -> list[Mutant]:
    """All mutants of all trusted files."""
    names = sorted(path.relative_to(SRC).as_posix() for path in SRC.rglob("*.py"))
    return [m for name in names if tier_of(name) for m in mutants(name, (SRC / name).read_text())]


def drawn(found: list[Mutant], sample: int, seed: int) -> list[Mutant]:
    """The first of them in the order of a seed, which no change of other mutants affects."""
    return sorted(found, key=lambda m: digest(f"{seed} {m.name}"))[:sample]


# ------------------------------------------------------------------------------------------------ tests


def copied(folder: Path) -> Path:
    """A copy of the tree."""
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "*.part", "_build")
    for part in PARTS:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy2
        copy(ROOT / part, folder / part, **({"ignore": ignored} if (ROOT / part).is_dir() else {}))
    return folder


def recorded(folder: Path, names: list[str]) -> dict[str, dict[str, Any]]:
    """Seconds and entered functions of all tests of some folders or files.

    They are recorded again when a file of theirs or of the package has changed.
    """
    content: dict[str, dict[str, Any]] = {}
    for name in names:
        own = ROOT / "tests" / name
        files = sorted([*SRC.rglob("*.py"), *([own] if own.is_file() else own.rglob("*.py"))])
        state = digest("".join(file.read_text() for file in files))
        kept = ROOT / "out" / "mutants" / f"{name.replace('/', '-')}-{state}.json"
        if not kept.exists():
            print(f"recording tests/{name}", flush=True)
            kept.parent.mkdir(parents=True, exist_ok=True)
            start, code = time.monotonic(), None
            child = fork(folder, [f"tests/{name}"], Recorder(folder / "src" / "dpsparse"), kept)
            while code is None:
                time.sleep(0.1)
                code = ended(child, start, 3600.0)
            if code != 0:
                kept.unlink(missing_ok=True)
                raise SystemExit(
                    f"tests/{name} does not pass without a mutant:\n{(folder / 'log.txt').read_text()[-3000:]}"
                )
            print(f"tests/{name}: {time.monotonic() - start:.0f} s", flush=True)
        content |= json.loads(kept.read_text())
    return content


def chosen(mutant: Mutant, tests: dict[str, dict[str, Any]], budget: float) -> tuple[list[str], int, float]:
    """Tests that enter the function of a mutant, how many enter it in all, and seconds of those that are chosen.

    Where none enters it (a class, a constant of a module), these are the tests that enter its file. The
    quickest come first, until the time is used up.
    """
    here = f"{mutant.file}:{mutant.function}"
    found = [test for test, of in tests.items() if here in of["enters"]]
    if not found:
        found = [test for test, of in tests.items() if any(e.startswith(f"{mutant.file}:") for e in of["enters"])]
    order = sorted(found, key=lambda test: (tests[test]["seconds"], test))
    kept, total = [], 0.0
    for test in order:
        if total + tests[test]["seconds"] <= budget:
            kept.append(test)
            total += tests[test]["seconds"]
    return kept, len(order), total


class Worker:
    """A copy of the tree in which one mutant at a time is applied."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.child, self.passing = copied(folder), 0, set[str]()

    def start(self, mutant: Mutant, text: str, tests: list[str], limit: float) -> None:
        """Apply a mutant and start its tests."""
        compile(mutant.applied(text), mutant.file, "exec")
        self.mutant, self.text, self.limit, self.since = mutant, text, limit, time.monotonic()
        self.path = self.folder / "src" / "dpsparse" / mutant.file
        self.stat = self.path.stat()
        self.path.write_text(mutant.applied(text))
        self._begin(tests)

    def _begin(self, tests: list[str]) -> None:
        self.verdict = self.folder / "verdict.txt"
        self.verdict.unlink(missing_ok=True)
        files = list(dict.fromkeys(test.split("::")[0] for test in tests))
        self.begun = time.monotonic()
        self.child = fork(self.folder, ["-x", *files], Judge(tests, self.verdict)) if tests else 0

    def verdict_now(self) -> tuple[str, str] | None:
        """Verdict and the test that fails; None while tests run. A kill is checked without the mutant."""
        code = 0 if not self.child else ended(self.child, self.begun, self.limit)
        if code is None:
            return None
        self.path.write_text(self.text)
        os.utime(self.path, ns=(self.stat.st_atime_ns, self.stat.st_mtime_ns))  # compiled files stay valid
        if code <= 0:
            return ("survived" if code == 0 else "too long"), ""
        test = self.verdict.read_text() if self.verdict.exists() else ""
        if test and test not in self.passing:
            self._begin([test])
            while (alone := ended(self.child, self.begun, self.limit)) is None:
                time.sleep(0.05)
            if alone != 0:
                raise SystemExit(
                    f"{test} does not pass without a mutant:\n{(self.folder / 'log.txt').read_text()[-3000:]}"
                )
            self.passing.add(test)
        return "killed", test or "import"


# ------------------------------------------------------------------------------------------------ results


def content_of(rows: dict[str, dict[str, Any]], found: list[Mutant], seed: int) -> dict[str, Any]:
    """What docs/mutation.json holds: files with their mutants, and verdicts of mutants that are still there."""
    counts: dict[str, int] = defaultdict(int)
    for mutant in found:
        counts[mutant.file] += 1
    files = {
        name: {"tier": tier, "digest": digest((SRC / name).read_text()), "mutants": count}
        for tier in TIERS
        for name, count in counts.items()
        if tier_of(name) == tier
    }
    reasons, now = read_reasons(), {m.name for m in found}
    kept = [row | {"why": reasons.get(name, "")} for name, row in sorted(rows.items()) if name in now]
    return {"seed": seed, "files": files, "results": kept}


def write(content: dict[str, Any], out: Path) -> None:
    """docs/mutation.json and docs/mutation.md."""
    (out / "mutation.json").write_text(json.dumps(content, indent=1) + "\n")
    (out / "mutation.md").write_text(page_of(content))


def read(out: Path) -> dict[str, dict[str, Any]]:
    """Verdicts of earlier runs by name."""
    file = out / "mutation.json"
    return {row["mutant"]: row for row in json.loads(file.read_text())["results"]} if file.exists() else {}


def judge(todo: list[Mutant], options: argparse.Namespace) -> Any:
    """Yield a row of results for every mutant that is begun in time."""
    for name in ("numpy", "scipy.stats", "scipy.sparse.linalg", "sklearn.linear_model"):
        __import__(name)  # once, for all forks; no plugin of pytest
    end = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        idle = [Worker(Path(folder) / str(number)) for number in range(options.workers)]
        tests, busy, queue = recorded(idle[0].folder, options.tests), dict[Worker, tuple[int, int]](), todo[::-1]
        while busy or (queue and time.monotonic() < end):
            if idle and queue and time.monotonic() < end:
                mutant, worker = queue.pop(), idle.pop()
                run, all_of_them, seconds = chosen(mutant, tests, options.budget)
                worker.start(mutant, (SRC / mutant.file).read_text(), run, 3 * seconds + PATIENCE)
                busy[worker] = (len(run), all_of_them)
                continue
            time.sleep(0.05)
            for worker in list(busy):
                if (verdict := worker.verdict_now()) is not None:
                    yield row_of(worker, *verdict, *busy.pop(worker))
                    idle.append(worker)


def row_of(worker: Worker, verdict: str, test: str, run: int, of: int) -> dict[str, Any]:
    """One verdict, as it is kept."""
    mutant = worker.mutant
    row = {"mutant": mutant.name, "file": mutant.file, "file_digest": digest(worker.text), "verdict": verdict}
    if verdict == "killed":
        return row | {"by": test}
    lines = {"line": mutant.line, "before": mutant.before, "after": mutant.after}
    return row | {"by": "", "tests": run, "tests_of_function": of} | lines


def killed_late(row: dict[str, Any], earlier: dict[str, Any] | None) -> bool:
    """Whether a mutant that is killed now had survived at first."""
    return row["verdict"] == "killed" and earlier is not None and (earlier["verdict"] != "killed" or earlier["late"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=500, help="mutants that should have a verdict")
    parser.add_argument("--seed", type=int, default=1, help="gives the order in which mutants are taken")
    parser.add_argument("--tier", choices=TIERS, help="only files of this tier")
    parser.add_argument(
        "--only", nargs="+", default=[""], metavar="TEXT", help="only mutants whose name contains one of these"
    )
    parser.add_argument("--again", action="store_true", help="also mutants that have a verdict")
    parser.add_argument(
        "--tests", nargs="+", default=list(TESTS), metavar="PATH", help="folders or files of tests to run"
    )
    parser.add_argument("--budget", type=float, default=60.0, help="seconds of tests for a mutant")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no mutant after this time")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--page", action="store_true", help="run nothing; drop verdicts of lines that changed")
    options = parser.parse_args()
    found, rows = population(), read(DOCS)
    write(content_of(rows, found, options.seed), DOCS)
    named = [m for m in found if any(text in m.name for text in options.only)]
    here = [m for m in named if options.tier in (None, tier_of(m.file))]
    if not here:
        parser.error("no mutant has such a name.")
    texts = {name: digest((SRC / name).read_text()) for name in {m.file for m in found}}
    current = {name for name, row in rows.items() if row["file_digest"] == texts.get(row["file"])}
    todo = [m for m in drawn(here, options.sample, options.seed) if options.again or m.name not in current]
    survivors = []
    for number, row in enumerate([] if options.page else judge(todo, options), start=1):
        rows[row["mutant"]] = row | {"late": killed_late(row, rows.get(row["mutant"]))}
        content = content_of(rows, found, options.seed)
        write(content, DOCS)
        survivors += [
            r["mutant"] for r in content["results"] if r["mutant"] == row["mutant"] and not (r["by"] or r["why"])
        ]
        print(f"{number}/{len(todo)} {row['verdict']:9} {row['mutant']}  {row['by']}", flush=True)
    print(*(f"open: {name}" for name in survivors), sep="\n")
    return 1 if survivors else 0


if __name__ == "__main__":
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    sys.exit(main())
