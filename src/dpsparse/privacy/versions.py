"""Versions of the software that a statement rests on."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("dpsparse", "numpy", "scipy", "scikit-learn", "randomgen")


def versions() -> dict[str, str]:
    """Version of each package, by name; "unknown" for one that was not installed as a package, such as a folder of sources."""
    return {package: _version(package) for package in PACKAGES}


@cache  # each look reads a file
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
