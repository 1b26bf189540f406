"""What a release holds: every file of the package that is not Python, and tools with versions. The release itself is `make dist`."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
import tomllib
import zipfile
from fnmatch import fnmatch

import yaml

from pages.block import ROOT

PACKAGE = ROOT / "src" / "dpsparse"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_files_that_are_not_python_are_in_the_wheel():
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["dpsparse"]
    files = [
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]
    others = [name for name in files if not name.endswith((".py", ".nbi", ".nbc"))]
    assert "py.typed" in others
    assert [name for name in others if not any(fnmatch(name, pattern) for pattern in patterns)] == []
    assert [pattern for pattern in patterns if not any(fnmatch(name, pattern) for name in others)] == []


def test_folders_of_the_package_are_packages():
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert [folder.name for folder in folders if not (folder / "__init__.py").exists()] == []


def test_what_a_release_is_built_with_has_versions():
    pinned = {line.partition("==")[0].lower() for line in (ROOT / "constraints.txt").read_text().splitlines()}
    assert {"build", "twine", "setuptools", "latex2mathml", "sphinx"} <= pinned


def test_the_changelog_and_the_policy_speak_of_this_version():
    import dpsparse

    assert f"## {dpsparse.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    major, minor, _ = dpsparse.__version__.split(".")
    assert f"| {major}.{minor}.x | yes |" in (ROOT / "SECURITY.md").read_text()
    assert "### Privacy" in (ROOT / "CHANGELOG.md").read_text()


def test_a_wheel_gets_a_bill_of_materials_and_its_record_holds(tmp_path):
    wheel = tmp_path / "dpsparse-0.1.0-py3-none-any.whl"
    folder = "dpsparse-0.1.0.dist-info"
    metadata = (
        "Metadata-Version: 2.4\nName: dpsparse\nVersion: 0.1.0\nLicense-Expression: Apache-2.0\n"
        "Requires-Dist: numpy<3,>=1.26\nRequires-Dist: pyarrow>=15; extra == 'data'\n"
        "Requires-Dist: torch<3,>=2.13; extra == 'torch'\nRequires-Dist: dpsparse[data]; extra == 'bench'\n\nREADME"
    )
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("dpsparse/__init__.py", "")
        archive.writestr(f"{folder}/METADATA", metadata)
        archive.writestr(f"{folder}/RECORD", f"{folder}/RECORD,,\n")
    tool = [sys.executable, str(ROOT / "tools" / "sbom.py"), str(wheel)]
    subprocess.run(tool, check=True, capture_output=True)
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(f"{folder}/sboms/dpsparse.cdx.json")
        name, digest, size = archive.read(f"{folder}/RECORD").decode().splitlines()[0].split(",")
        assert archive.testzip() is None
    assert (name, int(size)) == (f"{folder}/sboms/dpsparse.cdx.json", len(text))
    assert base64.urlsafe_b64decode(digest.removeprefix("sha256=") + "=") == hashlib.sha256(text).digest()
    found = json.loads(text)
    assert [(c["name"], c["scope"]) for c in found["components"]] == [
        ("numpy", "required"), ("pyarrow", "optional"), ("torch", "optional"),
    ]  # fmt: skip
    assert all(c["version"] and c["purl"].endswith(c["version"]) for c in found["components"])
    again = subprocess.run(tool, check=False, capture_output=True, text=True)
    assert again.returncode != 0
    assert "Build it again" in again.stderr


def test_workflows_run_what_the_project_runs():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text())
    assert workflow["jobs"]["everything"]["steps"][-1]["run"] == ".ci/run"
    matrix = workflow["jobs"]["systems"]["strategy"]["matrix"]
    supported = {one.rpartition(" ")[2] for one in PROJECT["project"]["classifiers"] if "Python :: 3." in one}
    assert set(matrix["python"]) == supported
    tests = workflow["jobs"]["systems"]["steps"][-1]["run"].split()
    assert [folder for folder in tests if folder.startswith("tests/") and not (ROOT / folder).is_dir()] == []
    assert re.search(r"(?m)^dist:", (ROOT / "Makefile").read_text())
