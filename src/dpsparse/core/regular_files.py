"""Ordinary files: opened only if they are that, read within a limit, and written whole or not at all."""

from __future__ import annotations

import errno
import json
import math
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NoReturn

from .errors import DataError
from .private_files import PLAIN, known

#: Bytes read at once.
CHUNK = 2**20
#: Failures that another way of writing would meet again.
_FULL = (errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EROFS)


def open_regular(path: str | os.PathLike[str], most: int, what: str) -> IO[bytes]:
    """Open a file for reading if it is an ordinary one of at most `most` bytes; a link is what it points to.

    A pipe is not waited for, and a device is not opened.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    DataError
        If it is something else, too large, or may not be read.
    """
    path = Path(path)
    try:
        _refuse_others(os.stat(path), path, what)
        handle = os.open(path, os.O_RDONLY | PLAIN | known("O_NONBLOCK"))
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} was expected to be {what}, but it does not exist. Check the path.") from None
    except PermissionError:
        raise DataError(f"{path} may not be read by this user. Ask for permission, or copy the file.") from None
    except DataError:
        raise
    except (OSError, ValueError):  # a loop of links, a name that is too long or holds a NUL
        raise DataError(f"{str(path)!r} cannot be opened. Check the path.") from None
    try:
        found = os.fstat(handle)
        _refuse_others(found, path, what)
        if found.st_size > most:
            raise DataError(
                f"{path} has {found.st_size:,} bytes, and at most {most:,} are read. Use a smaller "
                "file, or raise the limit."
            )
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def _refuse_others(found: os.stat_result, path: Path, what: str) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise DataError(f"{path} was expected to be {what}, but it is not an ordinary file. Choose another one.")


def read_bytes(path: str | os.PathLike[str], most: int, what: str) -> bytes:
    """What an ordinary file holds, never more than `most` bytes, even while it grows."""
    with open_regular(path, most, what) as file:
        try:
            content = file.read(most + 1)
        except OSError:
            raise DataError(
                f"{path} was opened and could not be read. Choose another file, or check the disk."
            ) from None
    if len(content) > most:
        raise DataError(f"{path} has more than {most:,} bytes. Use a smaller file, or raise the limit.")
    return content


def parse_json(text: bytes | str) -> Any:
    """JSON as its standard has it: no NaN, no name twice.

    A `ValueError` for everything else, also for nesting without end.
    """
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=_refuse_twins)
    except RecursionError:
        raise ValueError("nested too deep") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError("a number that is not finite")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):  # 1e999
        raise ValueError("a number that is not finite")
    return number


def _refuse_twins(pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
    pairs = list(pairs)
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name that comes twice")
    return found


def write_whole(
    path: str | os.PathLike[str], text: str, check: Callable[[Path], None] | None = None, rights: int = 0o666
) -> None:
    """Write a file that appears whole or not at all, and is on the disk when this returns.

    The rights are at most those that the process gives every new file. `check` looks at the path a
    last time before what is there is replaced.
    """
    with open_whole(path, rights, check) as file:
        file.write(text.encode("utf-8"))


@contextmanager
def open_whole(
    path: str | os.PathLike[str],
    rights: int,
    check: Callable[[Path], None] | None = None,
    *,
    replace: bool = True,
) -> Iterator[IO[bytes]]:
    """The same for bytes that are written piece by piece; where an error comes, nothing is there.

    Where the system can, the file has no name while it is written, so that nothing is left of it if
    the process is killed. Without `replace`, a file that another process made at this path in the
    meantime stays, and what was written here is gone.
    """
    target = Path(path)
    part = target.parent / f".{target.name[:100]}-{secrets.token_hex(8)}.part"
    handle = _unnamed(target.parent, rights)
    named = handle is None
    try:
        with os.fdopen(_new(part, rights) if handle is None else handle, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if check is not None:
                check(target)
            if not named:
                named = _give_name(file, part if replace else target, part, rights)
        if named and replace:
            os.replace(part, target)
        elif named:
            _claim(part, target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def _new(path: Path, rights: int) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | PLAIN, rights)


def _give_name(file: IO[bytes], wanted: Path, part: Path, rights: int) -> bool:
    """Name a file that has no name yet; returns whether it is at `part` now, and not where it belongs already."""
    try:  # an absolute path, so that the folder descriptor that linkat needs does not matter
        os.link(f"/proc/self/fd/{file.fileno()}", wanted.absolute(), src_dir_fd=file.fileno())
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno in _FULL:
            raise
        file.seek(0)  # a file system that makes files without names, and gives them none
        with os.fdopen(_new(part, rights), "wb") as copy:
            shutil.copyfileobj(file, copy)
            copy.flush()
            os.fsync(copy.fileno())
        return True
    return wanted == part


def _claim(part: Path, target: Path) -> None:
    """Move a complete file to a free path; where another process was first, its file stays."""
    try:
        os.link(part, target)
    except FileExistsError:
        pass
    except OSError:  # a file system without links: claim the name, then fill it
        with suppress(FileExistsError):
            os.close(_new(target, 0o600))
            os.replace(part, target)
    part.unlink(missing_ok=True)


def _unnamed(folder: Path, rights: int) -> int | None:
    """A file without a name in a folder; None where the system or the folder has none."""
    if not hasattr(os, "O_TMPFILE") or not os.path.isdir("/proc/self/fd"):
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_RDWR | PLAIN, rights)
    except OSError as error:
        if error.errno in (errno.EISDIR, errno.EOPNOTSUPP, errno.ENOENT, errno.EINVAL):
            return None
        raise


def sync_folder(folder: Path) -> None:
    """Put the names in a folder on the disk, where the system can."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # systems where a folder cannot be opened
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)


def same_file(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Whether two paths lead to one file, through links of any kind."""
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):
        return False
