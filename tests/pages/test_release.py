"""What a release holds: every file of the package that is not Python, and tools with versions. The release itself is `make dist`."""

from __future__ import annotations

import tomllib
from fnmatch import fnmatch

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
