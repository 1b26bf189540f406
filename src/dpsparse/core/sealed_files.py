"""JSON files of our own with a digest.

What was edited or damaged is refused, and only files of the same kind are replaced.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from .codec import canonical_json, read, write_record
from .errors import DataError
from .regular_files import open_regular, parse_json, read_bytes, write_whole

T = TypeVar("T")


@dataclass(frozen=True)
class SealedKind:
    """One kind of files. The digest finds accidents and edits by hand, not a forger.

    Parameters
    ----------
    format : str
    version : int
    largest : int
        Files of more bytes are not read.
    what : str
        For messages: "a saved server".
    rights : int
        Of new files, less what the process withholds.
    """

    format: str
    version: int
    largest: int
    what: str
    rights: int = 0o666

    def write(self, path: str | PathLike[str], record: object) -> None:
        """Write a record to a file that appears whole or not at all."""
        whole = {"format": self.format, "version": self.version, **write_record(record)}
        text = json.dumps({"content": whole, "digest": content_digest(whole)}, allow_nan=False)
        write_whole(path, text, self._check_replaceable, self.rights)

    def read(self, path: str | PathLike[str], kind: type[T]) -> T:
        """The record in a file of this kind and version that is as it was written; refuses others with `DataError`."""
        text = read_bytes(path, self.largest, self.what)
        try:
            outer = parse_json(text.decode("utf-8"))
            content: dict[str, Any] = outer["content"]
            if content["format"] != self.format or outer["digest"] != content_digest(content):
                raise ValueError
            version = int(content["version"])
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
            raise self.damaged(path) from None
        if version != self.version:
            raise DataError(
                f"{path} is {self.what} of format {version}, and this release reads format "
                f"{self.version}. Go on with the release that saved it."
            )
        held = {name: value for name, value in content.items() if name not in ("format", "version")}
        try:
            return read(kind, held, "it")
        except ValueError:
            raise self.damaged(path) from None

    def damaged(self, path: str | PathLike[str]) -> DataError:
        """What to raise for a file whose content makes no sense."""
        return DataError(
            f"{path} is not {self.what}, or was edited or damaged after it was saved. Resume from the original."
        )

    def _check_replaceable(self, path: Path) -> None:
        """Refuse to replace anything but a file of this kind."""
        if not path.exists():
            return
        start = f'{{"content": {{"format": "{self.format}"'.encode()
        with open_regular(path, 2**62, f"{self.what} that may be replaced") as file:
            head = file.read(len(start))
        if head and head != start:
            raise DataError(f"{path} exists and is not {self.what}, so it is not replaced. Choose another name.")


def content_digest(content: Mapping[str, object]) -> str:
    """What the file of a content ends with."""
    return hashlib.sha256(canonical_json(content).encode()).hexdigest()
