"""Locks: every extra has one, with a hash for each file, at the versions that the constraints choose."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: Locks with the constraints that chose their versions.
LOCKS = {
    "requirements.lock": "constraints.txt",
    "requirements-extras.lock": "constraints.txt",
    "requirements-engines.lock": "constraints-engines.txt",
}


def name_of(requirement):
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement)[0]).lower()


def versions(file):
    found = re.finditer(r"(?m)^([\w.-]+)==([^\s;\\]+)", (ROOT / file).read_text())
    return {name_of(match[1]): match[2] for match in found}


@pytest.mark.parametrize(("lock", "constraints"), LOCKS.items())
def test_a_lock_has_the_chosen_versions_and_a_hash_for_each(lock, constraints):
    chosen = versions(constraints)
    assert {name: version for name, version in versions(lock).items() if chosen.get(name, version) != version} == {}
    packages = [line for line in (ROOT / lock).read_text().splitlines() if re.match(r"[\w.-]+==", line)]
    assert len(packages) >= 90
    assert all(line.endswith("\\") for line in packages), "a package without hashes"


def test_every_extra_and_group_is_in_a_lock():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"] | project["dependency-groups"]
    locked = set().union(*map(versions, LOCKS))
    missing = {extra: [r for r in needs if name_of(r) not in locked | {"dpsparse"}] for extra, needs in extras.items()}
    assert {extra: needs for extra, needs in missing.items() if needs} == {}
