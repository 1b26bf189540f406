"""Where results go: standard output for results, standard error for progress, files that appear whole or not at all."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import click

from .exits import NO_SPACE, NotWritten, Refusal, note_json

#: What an SQLite file begins with.
SQLITE = b"SQLite format 3\0"


def echo(text: object = "", err: bool = False, nl: bool = True) -> None:
    """Print text; characters of names that could steer a terminal are escaped."""
    from ..core.printable import printable

    click.echo(printable(str(text)), err=err, nl=nl)


def print_json(content: Mapping[str, object]) -> None:
    """Print one JSON object; numbers that are not finite become null."""
    from ..core.plain import to_json

    note_json()
    click.echo(json.dumps(to_json(content), indent=2, allow_nan=False))


def check_file(path: Path, option: str = "--out", inputs: Iterable[Path] = ()) -> None:
    """Refuse an output file that could not be written, before there is anything to write.

    Also one that is an input, or a ledger.
    """
    from ..core.regular_files import same_file

    try:
        there = os.path.lexists(path)
        ordinary = path.is_file()
    except (OSError, ValueError):
        raise Refusal(f"{str(path)!r} is no name for a file. Choose another {option}.") from None
    if there and not ordinary:
        raise Refusal(f"{path} is not an ordinary file. Choose another {option}.")
    if any(same_file(path, given) for given in inputs):
        raise Refusal(f"{path} is read by this command, so it is not replaced. Choose another {option}.")
    if ordinary and _starts_with(path, SQLITE):
        raise Refusal(f"{path} is a database, perhaps a ledger, so it is not replaced. Choose another {option}.")
    check_folder(path.parent, option)


def check_model_file(path: Path, inputs: Iterable[Path] = ()) -> None:
    """The same for a model, which replaces nothing but a model."""
    from ..core.errors import DataError
    from ..estimators.model_file import check_replaceable

    check_file(path, inputs=inputs)
    try:
        check_replaceable(path)
    except DataError as refusal:
        raise Refusal(str(refusal)) from None


def _starts_with(path: Path, head: bytes) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(head)) == head
    except OSError:
        return False


def check_folder(folder: Path, option: str = "--out") -> None:
    """Refuse a folder where no file can be made.

    Trying is the only sure way: rights, quotas and full disks all count.
    """
    if not folder.is_dir():
        raise Refusal(f"the folder {folder} does not exist. Create it, or choose another {option}.")
    with writing(folder, option), tempfile.TemporaryFile(dir=folder) as file:
        file.write(b"\0")
        file.flush()


@contextmanager
def writing(path: Path, option: str = "--out") -> Iterator[None]:
    """Turn a failed write into a refusal; only a lack of space passes by itself."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        if error.errno in NO_SPACE:
            raise NotWritten(
                f"{path} could not be written: {reason}. Free some space, or choose another {option}."
            ) from None
        raise Refusal(f"{path} could not be written: {reason}. Choose another {option}.") from None


def write_text(path: Path, text: str) -> None:
    """Write a file that appears whole or not at all."""
    from ..core.regular_files import write_whole

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


def waiting(what: str, visible: bool) -> AbstractContextManager[object]:
    """A spinner for work whose length is not known."""
    import rich

    return rich.get_console().status(what) if visible else nullcontext()


@contextmanager
def telling(what: str, visible: bool) -> Iterator[Callable[[float], None] | None]:
    """A bar with the time left, for work that reports which part of it is done."""
    if not visible:
        yield None
        return
    from rich.progress import Progress

    with Progress() as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda done: bar.update(task, completed=done)
