"""Files for one owner on Unix, and the same calls where the system has only what Windows has."""

from __future__ import annotations

import errno
import os
import sys
import threading
import types

import numpy as np
import pytest

from dpsparse import Ledger, SparseRegressor
from dpsparse.core.private_files import FAR, lock, open_private, read_at, write_at
from dpsparse.core.regular_files import open_whole, read_bytes, write_whole
from dpsparse.sites.rounds.stores import FileStore

#: What `os` lacks on Windows, of all that the package uses for files.
UNIX = ("O_TMPFILE", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_DIRECTORY", "fchmod", "pread", "pwrite", "geteuid")


def byte_locks(fcntl):
    """`msvcrt` with locks of bytes that belong to an open file, as those of Windows do."""
    found = types.ModuleType("msvcrt")
    found.LK_NBLCK = 2
    found.places = []

    def locking(handle, mode, count):
        assert (mode, count) == (found.LK_NBLCK, 1)
        found.places.append(os.lseek(handle, 0, os.SEEK_CUR))
        import struct

        asked = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_CUR, 0, count, 0)
        try:
            fcntl.fcntl(handle, fcntl.F_OFD_SETLK, asked)
        except BlockingIOError:
            raise PermissionError(errno.EACCES, "Permission denied") from None

    found.locking = locking
    return found


@pytest.fixture(params=["unix", "windows"])
def system(request, monkeypatch):
    fcntl = pytest.importorskip("fcntl", reason="Windows itself runs these tests with its own locks")
    if request.param == "windows":
        if not hasattr(fcntl, "F_OFD_SETLK"):
            pytest.skip("this system has no locks that belong to an open file")
        for name in UNIX:
            monkeypatch.delattr(os, name, raising=False)
        monkeypatch.setitem(sys.modules, "msvcrt", byte_locks(fcntl))
        monkeypatch.setitem(sys.modules, "fcntl", None)
    return request.param


def test_one_handle_at_a_time_holds_a_file(system, tmp_path):
    first, second = open_private(tmp_path / "a"), open_private(tmp_path / "a")
    lock(first, wait=False)
    with pytest.raises(BlockingIOError):
        lock(second, wait=False)
    os.close(first)
    lock(second, wait=False)
    os.close(second)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


def test_a_lock_is_waited_for(system, tmp_path):
    first, second = open_private(tmp_path / "a"), open_private(tmp_path / "a")
    lock(first, wait=True)
    waiting = threading.Thread(target=lock, args=(second,), kwargs={"wait": True})
    waiting.start()
    waiting.join(0.1)
    assert waiting.is_alive()
    os.close(first)
    waiting.join(30)
    assert not waiting.is_alive()
    os.close(second)


def test_bytes_go_where_they_belong(system, tmp_path):
    handle = open_private(tmp_path / "a")
    lock(handle, wait=False)
    write_at(handle, b"abcdef", 0)
    write_at(handle, b"XY", 2)
    assert read_at(handle, 100, 0) == b"abXYef"
    assert read_at(handle, 3, 1) == b"bXY"
    assert read_at(handle, 3, 6) == b""
    os.close(handle)


def test_the_locked_byte_is_behind_every_record(system, tmp_path):
    handle = open_private(tmp_path / "a")
    lock(handle, wait=False)
    if system == "windows":
        assert sys.modules["msvcrt"].places == [FAR]
    assert os.lseek(handle, 0, os.SEEK_CUR) == 0
    os.close(handle)


def test_a_system_without_locks_says_so(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", None)
    handle = open_private(tmp_path / "a")
    with pytest.raises(OSError, match="no locks for files"):
        lock(handle, wait=True)
    os.close(handle)


def test_other_faults_of_a_lock_are_raised(tmp_path, monkeypatch):
    def broken(*_):
        raise OSError(errno.EBADF, "Bad file descriptor")

    found = types.ModuleType("msvcrt")
    found.LK_NBLCK, found.locking = 2, broken
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", found)
    handle = open_private(tmp_path / "a")
    with pytest.raises(OSError, match="Bad file"):
        lock(handle, wait=True)
    os.close(handle)


def test_files_are_written_whole(system, tmp_path):
    write_whole(tmp_path / "a", "first")
    write_whole(tmp_path / "a", "second")
    assert read_bytes(tmp_path / "a", 100, "a text") == b"second"
    with pytest.raises(ZeroDivisionError), open_whole(tmp_path / "a", 0o600) as file:
        file.write(b"third" * (1 // 0))
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_bytes() == b"second"


def test_who_comes_second_leaves_the_file_of_the_first(system, tmp_path):
    with open_whole(tmp_path / "a", 0o600, replace=False) as file:
        file.write(b"late")
        (tmp_path / "a").write_bytes(b"early")
    assert (tmp_path / "a").read_bytes() == b"early"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_a_new_file_appears_without_links_too(system, tmp_path, monkeypatch):
    def unknown(*_, **__):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", unknown)
    for replace in (False, True):
        with open_whole(tmp_path / f"a {replace}", 0o600, replace=replace) as file:
            file.write(b"whole")
        assert (tmp_path / f"a {replace}").read_bytes() == b"whole"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a False", "a True"]


def test_a_full_disk_is_not_tried_in_another_way(tmp_path, monkeypatch):
    if not hasattr(os, "O_TMPFILE"):
        pytest.skip("files of this system have a name while they are written")

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "link", full)
    with pytest.raises(OSError, match="No space"), open_whole(tmp_path / "a", 0o600) as file:
        file.write(b"whole")
    assert list(tmp_path.iterdir()) == []


def test_ledgers_runs_and_devices_work(system, tmp_path):
    """Paid, resumed by its tape, saved and loaded: all files of a fit."""
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.create("trial", 1.0, 1e-6)
    X = np.random.default_rng(0).uniform(-1, 1, (60, 3))
    for _ in range(2):
        model = SparseRegressor(
            feature_bound=1.0, target_bound=1.0, recipe="dp_ight", epsilon=0.5, delta=1e-6, ledger=ledger,
            dataset="trial", run_id="night", resume=tmp_path / "runs",
        ).fit(X, X[:, 0])  # fmt: skip
        model.save(tmp_path / "model.json")
    assert ledger.spent("trial").epsilon <= 0.5
    store = FileStore(tmp_path / "device")
    assert store.marks() == []
