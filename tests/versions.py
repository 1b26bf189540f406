"""Try other Pythons, the newest libraries and the oldest allowed ones: ``make test-versions``.

Each gets an environment of its own below ``.venvs`` and runs the folders where other versions have made a difference. What
cannot be had on this machine is skipped, with the reason. The table of what was run, and when, is ``docs/versions.md``.
"""

from __future__ import annotations

import argparse
import datetime
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "versions.md"
#: Folders whose tests meet other libraries: scikit-learn, pandas, click, file formats.
FOLDERS = ("tests/estimators", "tests/cli", "tests/io", "tests/rows", "tests/usability", "tests/core")
DEVELOPMENT = ("-e", ".[all]", "--group", "dev")
#: Libraries that the page names.
NAMED = ("numpy", "scipy", "scikit-learn", "pandas", "pyarrow", "numba", "click", "randomgen")


@dataclass(frozen=True)
class Environment:
    """A Python with chosen libraries."""

    name: str
    python: str
    libraries: str
    constraints: str | None
    packages: tuple[str, ...] = DEVELOPMENT


ENVIRONMENTS = (
    Environment(
        "lowest",
        "python3.11",
        "oldest allowed",
        "constraints-lowest.txt",
        ("-e", ".[data]", "pytest", "hypothesis", "mpmath", "polars"),
    ),
    Environment("python3.12", "python3.12", "as developed", "constraints.txt"),
    Environment("python3.13", "python3.13", "as developed", "constraints.txt"),
    Environment("newest", "python3.13", "newest", None),
    Environment("python3.14", "python3.14", "newest", None),
)


def interpreter(name: str) -> str | None:
    """A Python of that version that runs, if there is one."""
    installed = sorted(Path.home().glob(f".pyenv/versions/{name.removeprefix('python')}.*/bin/python"), reverse=True)
    for found in (shutil.which(name), *map(str, installed)):
        if found and subprocess.run([found, "--version"], capture_output=True, check=False).returncode == 0:
            return found
    return None


def run(environment: Environment, python: str, folders: list[str]) -> tuple[str, str, str]:
    """Set up one environment and run the tests in it: its Python, its libraries, and how the tests ended."""
    own = ROOT / ".venvs" / environment.name / "bin" / "python"
    if not own.exists():
        subprocess.run([python, "-m", "venv", str(own.parents[1])], check=True)
        subprocess.run([str(own), "-m", "pip", "install", "-q", "--upgrade", "pip>=25.1"], check=True)
    chosen = () if environment.constraints is None else ("-c", environment.constraints)
    subprocess.run([str(own), "-m", "pip", "install", "-q", *chosen, *environment.packages], check=True, cwd=ROOT)
    command = [str(own), "-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider", *folders]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as tests:
        assert tests.stdout is not None
        lines = []
        for line in tests.stdout:
            print(line, end="", flush=True)
            lines.append(line.strip())
    ended = next((line for line in reversed(lines) if line), "no output")
    version = subprocess.run([str(own), "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    return (
        version,
        libraries(own),
        "ended with an error" if tests.returncode > 1 else re.sub(r" in [\d.]+s.*", "", ended),
    )


def libraries(python: Path) -> str:
    """Versions of the named libraries that are installed."""
    listed = subprocess.run([str(python), "-m", "pip", "freeze"], capture_output=True, text=True, check=True).stdout
    found = dict(line.lower().split("==") for line in listed.splitlines() if line.count("==") == 1)
    return ", ".join(f"{name} {found[name]}" for name in NAMED if name in found)


def page(rows: list[tuple[str, ...]], folders: list[str]) -> str:
    """The page of what was run."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short=8", "HEAD"], check=True, capture_output=True, text=True, cwd=ROOT
    ).stdout
    table = [
        "| libraries | Python | versions | tests |",
        "|---|---|---|---|",
        *("| " + " | ".join(r) + " |" for r in rows),
    ]
    return "\n".join(
        (
            "# Versions of Python and of libraries",
            "",
            f"`make test-versions`, run on {datetime.date.today()} at commit {commit.strip()}, over "
            f"{', '.join(f'`{folder}`' for folder in folders)}. Tests whose libraries an environment does not have are "
            "skipped there. The program writes this page.",
            "",
            *table,
            "",
        )
    )


def main() -> None:
    """Run every environment that can be had, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=[e.name for e in ENVIRONMENTS], help="these environments")
    parser.add_argument("folders", nargs="*", default=[f for f in FOLDERS if (ROOT / f).is_dir()])
    options = parser.parse_args()
    rows = []
    for environment in ENVIRONMENTS:
        if options.only and environment.name not in options.only:
            continue
        python = interpreter(environment.python)
        if python is None:
            row = (environment.python.removeprefix("python"), "", "not run: this Python is not on the machine")
        else:
            print(f"{environment.name}: {python}, {environment.libraries} libraries", flush=True)
            row = run(environment, python, options.folders)
        rows.append((environment.libraries, *row))
    PAGE.write_text(page(rows, options.folders))
    failed = [row for row in rows if "failed" in row[-1] or "error" in row[-1]]
    sys.exit(f"failed: {failed}" if failed else 0)


if __name__ == "__main__":
    main()
