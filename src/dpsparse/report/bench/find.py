"""Studies that come with the source tree."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import sys
from pathlib import Path

from ...core import DataError
from .study import ScaledStudy

#: Where the studies of the papers stand, one module each with an object `STUDY`.
PACKAGE = Path("benchmarks", "papers")


def studies() -> dict[str, ScaledStudy]:
    """Studies by name; none outside a source tree."""
    root = next((base for base in (Path.cwd(), Path(__file__).resolve().parents[4]) if (base / PACKAGE).is_dir()), None)
    if root is None:
        return {}
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    package = importlib.import_module(".".join(PACKAGE.parts))
    found: dict[str, ScaledStudy] = {}
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        study = getattr(importlib.import_module(module.name), "STUDY", None)
        if study is not None:
            found[study.name] = study
    return found


def find_study(name: str) -> ScaledStudy:
    """A study by its name."""
    known = studies()
    if name in known:
        return known[name]
    if not known:
        raise DataError(
            "the studies of the papers stand in benchmarks/papers of the source tree. Run this in "
            "a clone of it, or compare "
            "recipes on a file with --recipe and --data."
        )
    close = difflib.get_close_matches(name, known, n=1)
    raise DataError(
        f"there is no study {name!r}.{f' Did you mean {close[0]!r}?' if close else ''} See dpsparse bench --list."
    )
