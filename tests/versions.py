"""Try other Pythons and the oldest allowed libraries: ``make test-versions``.

Each gets an environment of its own below ``.venvs`` and runs the folders where other versions have made a difference. What
cannot be had on this machine is skipped, with the reason.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: Folders whose tests meet other libraries: scikit-learn, pandas, click, file formats.
FOLDERS = ("tests/estimators", "tests/cli", "tests/io", "tests/rows", "tests/usability", "tests/core")
#: Name of the environment, interpreter, constraints, extras.
ENVIRONMENTS = (
    ("lowest", "python3.11", "constraints-lowest.txt", "data"),
    ("python3.12", "python3.12", "constraints.txt", "dev"),
    ("python3.13", "python3.13", "constraints.txt", "dev"),
)


def interpreter(name: str) -> str | None:
    """A Python of that version that runs, if there is one."""
    installed = sorted(Path.home().glob(f".pyenv/versions/{name.removeprefix('python')}.*/bin/python"), reverse=True)
    for found in (shutil.which(name), *map(str, installed)):
        if found and subprocess.run([found, "--version"], capture_output=True, check=False).returncode == 0:
            return found
    return None


def run(name: str, python: str, constraints: str, extras: str) -> bool:
    """Set up one environment and run the tests in it."""
    home = ROOT / ".venvs" / name
    if not (home / "bin" / "python").exists():
        subprocess.run([python, "-m", "venv", str(home)], check=True)
    packages = [f"{ROOT}[{extras}]", "pytest", "hypothesis"]
    subprocess.run(
        [str(home / "bin" / "pip"), "install", "-q", "-c", str(ROOT / constraints), *packages], check=True, cwd=ROOT
    )
    folders = [folder for folder in FOLDERS if (ROOT / folder).is_dir()]
    command = [str(home / "bin" / "python"), "-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider", *folders]
    return subprocess.run(command, check=False, cwd=ROOT).returncode == 0


def main() -> None:
    """Run every environment that can be had."""
    failed = []
    for name, wanted, constraints, extras in ENVIRONMENTS:
        python = interpreter(wanted)
        if python is None:
            print(f"{name}: skipped, there is no working {wanted} on this machine", flush=True)
            continue
        print(f"{name}: {python} with {constraints}", flush=True)
        if not run(name, python, constraints, extras):
            failed.append(name)
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
