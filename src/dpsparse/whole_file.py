"""Files that appear whole or not at all. Imports nothing of ours."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Write a text to a file beside its place, sync it, and put it there.

    The system itself applies the mask of the process to the rights of the new file: to read the mask one would have to set it, for every thread.
    """
    name = path.parent / f"{path.name[:100]}.{secrets.token_hex(8)}.part"
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise
