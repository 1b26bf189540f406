"""Many writers on one ledger, some of them killed at random: run as a script, which prints what was acknowledged.

Arguments: address, dataset, workers, attempts of each worker, most kills, seed, outages. A worker reserves, starts and confirms, and
appends a line to its own file after each reservation that was acknowledged to it. The herder kills workers by SIGKILL, wherever they
are, and starts them again; each life of a worker labels its entries. It stops a PostgreSQL server at once, as a crash does, and starts
it again within two seconds.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from dpsparse.accounting import PlanCost, price
from dpsparse.core import Ask, Budget, BudgetExceededError, Noise, Plan
from dpsparse.ledger import Ledger

from . import postgres

#: Each reservation costs so much; a test chooses the total.
MU = 0.01


def small_bill() -> PlanCost:
    """A Gaussian fit with mu = `MU`."""
    return PlanCost.of(price(Plan(asks=(Ask(name="gradient", noise=Noise.GAUSSIAN),)), Budget.gdp(MU)))


def work(address: str, dataset: str, attempts: int, name: int, life: str, folder: Path) -> None:
    """Pay until all attempts are used; those of earlier lives count."""
    ledger, bill = Ledger(address), small_bill()
    tried, acknowledged = folder / f"{name}.tried", folder / f"{name}.done"
    used = tried.stat().st_size if tried.exists() else 0
    for _ in range(used, attempts):
        _append(tried, "x")
        try:
            reservation = ledger.reserve(dataset, bill, label=life)
            _append(acknowledged, f"{reservation.entry}\n")
            reservation.start()
            reservation.confirm()
        except BudgetExceededError:
            _append(acknowledged, "refused\n")


def _append(path: Path, text: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, text.encode())
    os.close(handle)


def herd(
    address: str, dataset: str, workers: int, attempts: int, kills: int, seed: int, outages: int = 0
) -> dict[str, object]:
    """Run the workers to their end; says which entries were acknowledged, which lives were killed, and who was refused."""
    chance = random.Random(seed)
    folder = Path(tempfile.mkdtemp())
    killed: list[str] = []

    def start(name: int) -> tuple[int, str]:
        life = f"worker {name}, after {len(killed)} kills"
        child = os.fork()
        if child == 0:
            try:
                work(address, dataset, attempts, name, life, folder)
                os._exit(0)
            except BaseException as error:
                _append(folder / f"{name}.error", f"{type(error).__name__}: {error}\n")
                os._exit(1)
        return child, life

    def tried() -> int:
        return sum(path.stat().st_size for path in folder.glob("*.tried"))

    stopped = 0
    alive = {name: start(name) for name in range(workers)}
    with ExitStack() as stack:
        stop_for = stack.enter_context(postgres.paused(address)) if outages else None
        while alive:
            for name, (child, _) in list(alive.items()):
                if os.waitpid(child, os.WNOHANG)[0]:
                    del alive[name]
            share = tried() / (workers * attempts)
            # one kill at least, however fast they are; and over the whole run where there are outages
            due = not killed or (chance.random() < 0.5 and (not outages or len(killed) < kills * share))
            if alive and len(killed) < kills and due:
                name = chance.choice(sorted(alive))
                child, life = alive[name]
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                killed.append(life)
                alive[name] = start(name)
            if stop_for is not None and stopped < outages and share > (stopped + 1) / (outages + 1):
                stop_for(chance.uniform(0.0, 2.0))
                stopped += 1
            time.sleep(chance.uniform(0.0, 0.05))
    lines = [line for path in folder.glob("*.done") for line in path.read_text().splitlines()]
    return {
        "entries": sorted(int(line) for line in lines if line != "refused"),
        "refused": lines.count("refused"),
        "killed": killed,
        "outages": stopped,
        "tried": tried(),
        "errors": [path.read_text() for path in folder.glob("*.error")],
    }


if __name__ == "__main__":
    address, dataset, *numbers = sys.argv[1:]
    print(json.dumps(herd(address, dataset, *map(int, numbers))))
