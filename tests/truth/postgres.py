"""A PostgreSQL server for the tests: unprivileged, on a socket in a temporary folder, gone afterwards."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def _tool(name: str) -> str | None:
    places = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return shutil.which(name) or (str(places[-1]) if places else None)


def _user() -> str | None:
    """Who runs the server: root may not."""
    if os.geteuid() != 0:
        return None
    import pwd

    known = {entry.pw_name for entry in pwd.getpwall()}
    for name in ("postgres", "nobody"):
        if name in known:
            return name
    pytest.skip("PostgreSQL does not run as root, and there is no other user")


@contextmanager
def running() -> Iterator[str]:
    """Start a server; yields its address. Skips where there is none to start."""
    initdb, control = _tool("initdb"), _tool("pg_ctl")
    if initdb is None or control is None:
        pytest.skip("no PostgreSQL server is installed (Debian package: postgresql)")
    user = _user()
    folder = tempfile.mkdtemp(prefix="pg")
    if user is not None:
        shutil.chown(folder, user)
    data = f"{folder}/data"

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, user=user, cwd=folder, capture_output=True, text=True, check=False)

    try:
        made = run(initdb, "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-sync")
        if made.returncode:
            pytest.skip(f"initdb failed: {made.stderr.strip().splitlines()[-1:]}")
        options = f"-c listen_addresses='' -c unix_socket_directories='{folder}'"
        started = run(control, "-D", data, "-w", "-t", "60", "-l", f"{folder}/log", "-o", options, "start")
        if started.returncode:
            pytest.skip("the PostgreSQL server did not start")
        try:
            yield f"postgresql://tester@/postgres?host={folder}"
        finally:
            run(control, "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def paused(address: str) -> Iterator[Callable[[float], None]]:
    """A function that stops a running server at once, as a crash does, and starts it some seconds later."""
    folder, user, control = address.rpartition("host=")[2], _user(), _tool("pg_ctl")
    threads: list[threading.Thread] = []

    def run(*words: str) -> None:
        command = [str(control), "-D", f"{folder}/data", "-w", *words]
        subprocess.run(command, user=user, cwd=folder, stdout=subprocess.DEVNULL, check=True)

    def again(seconds: float) -> None:
        time.sleep(seconds)
        options = f"-c listen_addresses='' -c unix_socket_directories='{folder}'"
        run("-l", f"{folder}/log", "-o", options, "start")

    def stop_for(seconds: float) -> None:
        for thread in threads:
            thread.join()
        run("-m", "immediate", "stop")
        threads.append(threading.Thread(target=again, args=(seconds,)))
        threads[-1].start()

    try:
        yield stop_for
    finally:
        for thread in threads:
            thread.join()


@contextmanager
def fresh_database(address: str) -> Iterator[str]:
    """An empty database on a running server."""
    import psycopg

    name = f"ledger_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield address.replace("/postgres?", f"/{name}?")
