"""One wrong change."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """A change that must be noticed.

    Attributes
    ----------
    name : str
        What is wrong, in words; unique.
    file : str
        Within ``src/dpsparse``.
    old, new : str
        Text that occurs exactly once in the file, and what replaces it.
    tests : tuple of str
        Test files within ``tests``, the likeliest to notice first.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def checksum(self) -> str:
        """Of file, old and new text: a result belongs to this very change, and lapses with it."""
        return hashlib.sha256("\0".join((self.file, self.old, self.new)).encode()).hexdigest()[:16]


def changed(file: str, tests: str, *changes: tuple[str, str, str]) -> Iterator[Mutant]:
    """Mutants of one file that the same tests watch over."""
    for name, old, new in changes:
        yield Mutant(name, file, old, new, tuple(tests.split()))
