"""What rooms offer: every listed name is there, lists are sorted, and other rooms take listed names only."""

import ast
import importlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

import dpsparse

SOURCE = Path(dpsparse.__file__).parent
#: Rooms that need an engine of an extra.
ENGINES = {"neural": "torch"}
ROOMS = sorted(
    path.parent.name
    for path in SOURCE.glob("*/__init__.py")
    if find_spec(ENGINES.get(path.parent.name, "dpsparse")) is not None
)


@pytest.mark.parametrize("room", ROOMS)
def test_every_listed_name_can_be_imported(room):
    module = importlib.import_module(f"dpsparse.{room}")
    listed = getattr(module, "__all__", [])
    assert [name for name in listed if not hasattr(module, name)] == []
    assert len(set(listed)) == len(listed)
    assert all(not name.startswith("_") for name in listed)


@pytest.mark.parametrize("room", ROOMS)
def test_lists_are_sorted(room):
    listed = getattr(importlib.import_module(f"dpsparse.{room}"), "__all__", [])
    by_kind = sorted(listed, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    assert list(listed) in (sorted(listed), by_kind)


@cache
def taken():
    """Names that files take from the faces of rooms: (room, name)."""
    found = set()
    for path in SOURCE.glob("*/**/*.py"):  # files at the top are addresses for users
        depth = len(path.relative_to(SOURCE).parts)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level == depth and node.module in ROOMS:
                found |= {(node.module, alias.name) for alias in node.names}
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_what_other_rooms_take_from_the_face_of_a_room_is_listed(room):
    listed = set(getattr(importlib.import_module(f"dpsparse.{room}"), "__all__", []))
    modules = {path.stem for path in (SOURCE / room).iterdir()}
    assert {name for found, name in taken() if found == room} - listed - modules == set()


def test_the_package_lists_what_it_offers():
    assert sorted(dpsparse.__all__) == list(dpsparse.__all__)
    assert all(hasattr(dpsparse, name) for name in dpsparse.__all__)
