"""Contracts between the rooms."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "dpsparse"


def test_import_contracts_hold():
    run = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout


def test_importing_the_package_does_not_import_heavy_libraries():
    code = "import sys, dpsparse; print([m for m in ('sklearn', 'scipy.stats', 'dp_accounting', 'opendp', 'numba', 'pandas') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize("path", sorted(p for p in SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE)))
def test_no_module_draws_from_the_global_generator(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and node.value.attr == "random":
            assert node.attr in ("Generator", "PCG64", "SeedSequence", "RandomState", "default_rng"), (
                f"np.random.{node.attr}"
            )


#: Public generators: a random order, a random length, public auxiliary rows, a start of a power iteration.
PUBLIC_DRAWS = {"cd.py", "scsg.py", "transfer.py", "proximal.py"}


@pytest.mark.parametrize("room", ["solvers", "recipes"])
def test_public_rooms_draw_nothing_but_their_listed_public_choices(room):
    found = {path.name for path in (SOURCE / room).rglob("*.py") if "default_rng" in path.read_text()}
    assert found <= PUBLIC_DRAWS
