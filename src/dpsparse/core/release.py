"""Which release of the package runs in a process: its version, its source and the numeric libraries under it.

Guarantee
---------
Sensitivities are proven for one source. Where several processes compute what records contribute
(workers of a cluster, sites of a federation, devices), each says its release beside what it
computed, and another one is refused by name. `release` is the same text for the same Python files
and constants (TOML) of the package (all of them, byte for byte), the same version of Python (major
and minor) and the same versions of `LIBRARIES`. Where the files or a version cannot be read, the
release is never equal to another.

It finds machines that were not updated, not a process that lies. It reads the files that are on the
disk when it is first asked in a process: files that were replaced after the process had imported
them are not noticed.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec

from .. import __version__

#: Libraries on whose last bits contributions, samples and noise depend.
LIBRARIES = ("numpy", "scipy", "randomgen", "numba")
#: Others that a statement names.
OTHERS = ("scikit-learn",)
#: What stands for a source whose files cannot be read, and for the version of a library that does not say one.
UNREADABLE = "unknown"
#: The release of whatever does not say one.
UNNAMED = "a release of dpsparse that does not say which it is"


def versions() -> dict[str, str]:
    """Version of each package by name, and the digest of the source of this package.

    The version is "none" for a package that is not installed.
    """
    own = {"dpsparse": __version__, "source": source_digest(), "python": _python()}
    return own | {name: _version(name) for name in (*LIBRARIES, *OTHERS)}


@cache
def release(*more: str) -> str:
    """The release of this process in one line, with the versions of further packages.

    Equal lines mean equal computations, unless `UNREADABLE` is part of them: compare them by `difference`.
    """
    libraries = ", ".join(f"{name} {_version(name)}" for name in (*LIBRARIES, *more))
    return f"dpsparse {__version__} (source {source_digest()}, Python {_python()}, {libraries})"


def difference(where: str, theirs: str, here: str, ours: str) -> str:
    """Why two places may not compute together, in one sentence that names both; empty if they may."""
    if theirs == ours and UNREADABLE not in ours:
        return ""
    unread = UNREADABLE in theirs or UNREADABLE in ours
    return (
        f"{where} runs {theirs}, and {here} runs {ours}. Records must be handled by one release "
        "with the same libraries "
        f"everywhere: install the same on both, and start again."
        f"{' What is unknown cannot be compared: install dpsparse and its libraries by pip.' if unread else ''}"
    )


@dataclass(frozen=True)
class Origin:
    """The process that computed something, and its release."""

    place: str
    release: str

    @classmethod
    def here(cls) -> Origin:
        """That of the process that asks."""
        return cls(f"process {os.getpid()} on {platform.node() or 'a machine without a name'}", release())

    def difference(self) -> str:
        """Why what came from there may not be used here; empty if it may."""
        here = Origin.here()
        return difference(self.place, self.release, here.place, here.release)


#: The origin of what does not say where it was made, as objects of earlier releases do not.
UNKNOWN = Origin("a worker", UNNAMED)


@cache
def source_digest() -> str:
    """A digest of all Python files and constants of the package, by their names; `UNREADABLE` without Python files."""
    digest, found = hashlib.sha256(), 0
    try:
        for name, content in sorted(_source_files(files("dpsparse"), "")):
            digest.update(f"{name} {hashlib.sha256(content).hexdigest()}\n".encode())
            found += name.endswith(".py")
    except (OSError, ValueError, TypeError, ModuleNotFoundError):
        return UNREADABLE
    return digest.hexdigest()[:16] if found else UNREADABLE


def _source_files(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    for item in folder.iterdir():
        if item.is_dir() and item.name != "__pycache__":
            yield from _source_files(item, f"{prefix}{item.name}/")
        elif item.name.endswith((".py", ".toml")):
            yield f"{prefix}{item.name}", item.read_bytes()


def _python() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


@cache  # each look reads a file
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return UNREADABLE if find_spec(package) is not None else "none"
