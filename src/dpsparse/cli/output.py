"""Where results go: standard output for results, standard error for progress, files that appear whole or not at all."""

from __future__ import annotations

import json
import math
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import click

from ..whole_file import write_whole
from .exits import NotWritten


def as_json(content: Mapping[str, Any]) -> None:
    """Print one JSON object; numbers that are not finite become null."""
    click.echo(json.dumps(_plain(content), indent=2, allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return str(value) if isinstance(value, Path) else value


def check_file(path: Path, option: str = "--out") -> None:
    """Refuse an output file that could not be written, before there is anything to write."""
    if path.exists() and not path.is_file():
        raise NotWritten(f"{path} is not an ordinary file. Choose another {option}.")
    check_folder(path.parent, option)


def check_folder(folder: Path, option: str = "--out") -> None:
    """Refuse a folder where no file can be made. Trying is the only sure way: rights, quotas and full disks all count."""
    if not folder.is_dir():
        raise NotWritten(f"the folder {folder} does not exist. Create it, or choose another {option}.")
    with writing(folder, option), tempfile.TemporaryFile(dir=folder) as file:
        file.write(b"\0")
        file.flush()


@contextmanager
def writing(path: Path, option: str = "--out") -> Iterator[None]:
    """Turn a failed write into a refusal."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise NotWritten(
            f"{path} could not be written: {reason}. Free some space, or choose another {option}."
        ) from None


def write_text(path: Path, text: str) -> None:
    """Write a file that appears whole or not at all."""
    with writing(path):
        write_whole(path, text)


@contextmanager
def progress(quiet: bool) -> Iterator[bool]:
    """Send the progress bars of rich to standard error; yields whether to show any (not to a file or a pipe)."""
    if quiet or not sys.stderr.isatty():
        yield False
        return
    import rich

    console = rich.get_console()
    before, console.stderr = console.stderr, True
    try:
        yield True
    finally:
        console.stderr = before


def waiting(what: str, visible: bool) -> AbstractContextManager[Any]:
    """A spinner for work whose length is not known."""
    import rich

    return rich.get_console().status(what) if visible else nullcontext()
