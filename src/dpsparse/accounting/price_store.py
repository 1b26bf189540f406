"""Prices on disk: what a calibration found, so that the next process need not search again.

A price is a number for a plan's costs and a budget, all of them public; names of files are digests
of those. A file holds the number and how it was found.

Guarantee
---------
A stored price is a suggestion. `read` gives what a file claims, and `pricing.price` takes it only
after it has evaluated the plan's loss at that very noise, by the same accountants with which a
search ends, in this process. So a file that was forged, torn, written by another release or for
another plan costs time and never privacy: a price that does not hold is ignored, and so is one of
much more noise than is needed. Nothing about rows is ever written.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .. import __version__
from ..core.errors import DataError
from ..core.regular_files import parse_json, read_bytes, write_whole

#: Names a folder for prices, or says that none are stored: `OFF`.
VARIABLE = "DPSPARSE_PRICES"
OFF = "off"

#: Format of the files. A file of another one, or of another release, is not read.
FORMAT = f"dpsparse price 1, release {__version__}"

#: A file has some 300 bytes; larger ones are not ours.
LARGEST_BYTES = 4096
#: Files in a folder; when it is full nothing is added.
MOST_FILES = 4096


@dataclass(frozen=True)
class PriceStore:
    """A folder of prices.

    Parameters
    ----------
    folder : Path
        Made when the first price is written.

    Examples
    --------
    >>> import tempfile
    >>> store = PriceStore(Path(tempfile.mkdtemp()))
    >>> store.write("a plan and a budget", 0.25, "zCDP sum")
    >>> store.read("a plan and a budget"), store.read("another")
    ((0.25, 'zCDP sum'), None)
    """

    folder: Path

    @classmethod
    def default(cls) -> PriceStore | None:
        """The folder that the environment names, or that of caches on this system; None where prices are not kept."""
        named = os.environ.get(VARIABLE, "")
        if named.strip().lower() == OFF:
            return None
        try:
            return cls(Path(named) if named else caches() / "dpsparse" / "prices")
        except RuntimeError:  # nobody's home
            return None

    def read(self, key: str) -> tuple[float, str] | None:
        """The scale and the accountant that a file claims for a key; None if no file can be read."""
        try:
            content = parse_json(read_bytes(self._path(key), LARGEST_BYTES, "a stored price"))
            if not isinstance(content, dict) or set(content) != {"format", "key", "rho_scale", "accountant"}:
                return None
            scale, accountant = content["rho_scale"], content["accountant"]
            ours = content["format"] == FORMAT and content["key"] == key
            if not (ours and isinstance(scale, float) and 0 < scale < math.inf and isinstance(accountant, str)):
                return None
            return scale, accountant
        except (OSError, DataError, ValueError):
            return None

    def write(self, key: str, rho_scale: float, accountant: str) -> None:
        """Keep a price. Where that is not possible nothing happens."""
        content = {"format": FORMAT, "key": key, "rho_scale": rho_scale, "accountant": accountant}
        with suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if len(os.listdir(self.folder)) < MOST_FILES:
                write_whole(self._path(key), json.dumps(content))

    def _path(self, key: str) -> Path:
        return self.folder / f"{hashlib.sha256(key.encode()).hexdigest()}.json"


def caches() -> Path:
    """Where this system keeps what can be made again."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
