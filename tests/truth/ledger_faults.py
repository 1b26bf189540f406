"""A ledger under faults at every call of the system that changes a file: run as a script with the library of ``faults.c`` preloaded.

Arguments: the library, a folder, what is done (``fit``, ``refund``, ``create``), and the distance of points. One child per mode of
``faults.c`` and point: it does the work with the fault at that point, and says how it ended. Prints one JSON record for each.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

from dpsparse import Ledger
from truth.ledgers import bill

#: More points than any work has.
MOST = 400


class Stop(Exception):
    """What goes wrong in a fit."""


def fit(ledger: Ledger) -> None:
    """A fit that ends well."""
    with ledger.reserve("trial", bill(0.1)) as reservation:
        reservation.start()


def refund(ledger: Ledger) -> None:
    """A fit that fails before its first answer."""
    try:
        with ledger.reserve("trial", bill(0.1)):
            raise Stop
    except Stop as stop:
        if hasattr(stop, "__notes__"):
            raise ValueError(stop.__notes__[0]) from None


def create(ledger: Ledger) -> None:
    """A new dataset, in a new file."""
    ledger.create("trial", 3.0, 1e-6)


WORKS: dict[str, Callable[[Ledger], None]] = {"fit": fit, "refund": refund, "create": create}


def child(library: ctypes.CDLL, work: Callable[[Ledger], None], path: Path, mode: int, point: int) -> None:
    """Do the work with a fault; the last line of the outcome's file says how it ended."""

    def dial(name: str, value: int) -> None:
        ctypes.c_int.in_dll(library, name).value = value

    said: list[str] = []
    kind = "done"
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        dial("fault_mode", mode)
        dial("fault_count", 0)
        dial("fault_at", point)
        try:
            work(Ledger(f"sqlite:///{path}"))
        except ValueError as error:
            kind, said = "refused", [str(error)]
        except BaseException as error:
            kind, said = "raw", [f"{type(error).__name__}: {error}"]
        finally:
            reached = ctypes.c_int.in_dll(library, "fault_count").value >= point
            dial("fault_at", 0)
    said += [str(w.message) for w in warned]
    Path(f"{path}.outcome").write_text(json.dumps({"kind": kind, "said": " ".join(said), "reached": reached}))


def point_of(library: ctypes.CDLL, folder: Path, base: Path, name: str, mode: int, point: int) -> dict[str, object]:
    """One child, and what it left."""
    path = folder / "ledger.db"
    for left in folder.iterdir():
        if left != base:
            left.unlink()
    if name != "create":
        shutil.copy(base, path)
    pid = os.fork()
    if pid == 0:
        try:
            child(library, WORKS[name], path, mode, point)
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    outcome = Path(f"{path}.outcome")
    killed = os.WIFSIGNALED(status)
    found = {"kind": "killed", "said": "", "reached": True} if killed else json.loads(outcome.read_text())
    side = {base.name, path.name, outcome.name, f"{path.name}-journal"}
    return {"point": point, **found, **state_of(path, name), "left": sorted({p.name for p in folder.iterdir()} - side)}


def state_of(path: Path, name: str) -> dict[str, object]:
    """What the ledger says afterwards, and whether it can still be used."""
    ledger = Ledger(f"sqlite:///{path}")
    try:
        if name == "create":
            opened = path.exists() and "trial" in ledger.datasets()
            if not opened:
                ledger.create("trial", 3.0, 1e-6)
            ledger.verify()
            return {"entries": [], "opened": opened, "usable": True}
        ledger.verify()
        entries = [(e.number, e.status) for e in ledger.entries("trial")]
        ledger.reserve("trial", bill(0.1)).refund()
        ledger.verify()
        return {"entries": entries, "opened": True, "usable": True}
    except Exception as error:
        return {"entries": [], "opened": False, "usable": False, "why": f"{type(error).__name__}: {error}"}


def main() -> None:
    library, folder, name, stride = sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    loaded = ctypes.CDLL(library)
    base = folder / "base.db"
    made = Ledger(f"sqlite:///{base}")
    made.create("trial", 3.0, 1e-6)
    made.reserve("trial", bill(0.1)).refund()
    for mode in range(4):
        for point in range(1, MOST, stride):
            record = point_of(loaded, folder, base, name, mode, point)
            if not record["reached"]:
                break
            print(json.dumps({"mode": mode, **record}), flush=True)
        else:
            raise RuntimeError("the work has more points than were looked at")


if __name__ == "__main__":
    main()
