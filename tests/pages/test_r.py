"""The scripts of the page for R run as they stand, where R is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pages.block import ROOT

RSCRIPT = shutil.which("Rscript")
EXAMPLES = ROOT / "examples"
#: Fails where reticulate is missing, or is older than the binary interface of this numpy.
PROBE = "invisible(reticulate::import('numpy')$sum(matrix(c(1, 2), 1)))"


def r(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Rscript with this Python and this source tree."""
    here = {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": str(ROOT / "src"),
        "RETICULATE_PYTHON": sys.executable,
    }
    assert RSCRIPT is not None
    command = [RSCRIPT, "--vanilla", *arguments]
    return subprocess.run(
        command, cwd=folder, env={**os.environ, **here}, capture_output=True, text=True, check=False, timeout=600
    )


needs_r = pytest.mark.skipif(RSCRIPT is None, reason="R is not installed (Debian: r-base-core)")


@needs_r
def test_the_command_line_serves_r(tmp_path):
    found = r(tmp_path, str(EXAMPLES / "r_command_line.R"))
    assert found.returncode == 0, found.stderr
    assert "differential privacy" in found.stdout
    assert "probability_yes" in found.stdout


@needs_r
def test_reticulate_serves_r(tmp_path):
    if (probe := r(tmp_path, "-e", PROBE)).returncode != 0:
        pytest.skip(f"reticulate cannot pass arrays to this numpy: {probe.stderr.strip().splitlines()[-2:]}")
    found = r(tmp_path, str(EXAMPLES / "r_reticulate.R"))
    assert found.returncode == 0, found.stderr
    assert "columns found: 1 4" in found.stdout
    assert "differential privacy" in found.stdout
    assert (tmp_path / "model.json").exists()


def test_the_page_shows_the_scripts():
    page = (ROOT / "docs" / "r.md").read_text()
    scripts = {path.name for path in EXAMPLES.glob("*.R")}
    assert {name for name in scripts if f"../examples/{name}" in page} == scripts != set()
