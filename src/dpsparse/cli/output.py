"""Where results go: standard output for results, standard error for progress, files that appear whole or not at all."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import click

from .exits import NotWritten


def as_json(content: Mapping[str, object]) -> None:
    """Print one JSON object; numbers that are not finite become null."""
    from ..plain import plain

    click.echo(json.dumps(plain(content), indent=2, allow_nan=False))


def check_file(path: Path, option: str = "--out") -> None:
    """Refuse an output file that could not be written, before there is anything to write."""
    if path.exists() and not path.is_file():
        raise NotWritten(f"{path} is not an ordinary file. Choose another {option}.")
    check_folder(path.parent, option)


def check_model_file(path: Path, inputs: Sequence[Path], option: str = "--out") -> None:
    """Refuse an output that could not be written, that is one of the inputs, or that would replace something else than a model.

    Called before anything is read or paid.
    """
    check_file(path, option)
    if not path.exists():
        return
    if any(other.exists() and path.samefile(other) for other in inputs):
        raise NotWritten(
            f"{path} is read by this command and would be replaced by its result. Choose another {option}."
        )
    with path.open("rb") as file:
        start = file.read(200)
    if start.strip() and b'"dpsparse-model"' not in start:
        raise NotWritten(f"{path} exists and is not a dpsparse model; it is not replaced. Choose another {option}.")


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
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
            os.chmod(name, 0o666 & ~_umask())
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


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
