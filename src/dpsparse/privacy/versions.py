"""Versions of the software that a statement rests on."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version

PACKAGES = ("dpsparse", "numpy", "scipy", "scikit-learn", "randomgen")


def versions() -> dict[str, str]:
    """Version of each package, by name."""
    return {package: _version(package) for package in PACKAGES}


_version = cache(version)  # each look reads a file
