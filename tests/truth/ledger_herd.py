"""Many writers on one ledger, some of them killed at random: run as a script, which prints what was acknowledged.

Arguments: address, dataset, workers, attempts of each worker, most kills, seed. A worker appends a line to its own file after
each reservation that was acknowledged to it. The herder kills workers by SIGKILL, wherever they are, and starts them again.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

from dpsparse.accounting import PlanCost, price
from dpsparse.core import Ask, Budget, BudgetExceededError, Noise, Plan
from dpsparse.ledger import Ledger

#: Each reservation costs so much; a test chooses the total.
MU = 0.01


def small_bill() -> PlanCost:
    """A Gaussian fit with mu = `MU`."""
    return PlanCost.of(price(Plan(asks=(Ask(name="gradient", noise=Noise.GAUSSIAN),)), Budget.gdp(MU)))


def work(address: str, dataset: str, attempts: int, name: int, folder: Path) -> None:
    """Reserve until all attempts are used; those of earlier lives count."""
    ledger, bill = Ledger(address), small_bill()
    tried, acknowledged = folder / f"{name}.tried", folder / f"{name}.done"
    used = tried.stat().st_size if tried.exists() else 0
    for _ in range(used, attempts):
        _append(tried, "x")
        try:
            reservation = ledger.reserve(dataset, bill, label=f"worker {name}")
            _append(acknowledged, f"{reservation.entry}\n")
        except BudgetExceededError:
            _append(acknowledged, "refused\n")


def _append(path: Path, text: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, text.encode())
    os.close(handle)


def herd(address: str, dataset: str, workers: int, attempts: int, kills: int, seed: int) -> dict[str, object]:
    """Run the workers to their end; says which entries were acknowledged, and how often one was killed or refused."""
    chance = random.Random(seed)
    folder = Path(tempfile.mkdtemp())

    def start(name: int) -> int:
        child = os.fork()
        if child == 0:
            try:
                work(address, dataset, attempts, name, folder)
                os._exit(0)
            except BaseException as error:
                _append(folder / f"{name}.error", f"{type(error).__name__}: {error}\n")
                os._exit(1)
        return child

    alive = {name: start(name) for name in range(workers)}
    killed = 0
    while alive:
        for name, child in list(alive.items()):
            if os.waitpid(child, os.WNOHANG)[0]:
                del alive[name]
        if alive and killed < kills and (not killed or chance.random() < 0.5):  # one at least, however fast they are
            name = chance.choice(sorted(alive))
            os.kill(alive[name], signal.SIGKILL)
            os.waitpid(alive[name], 0)
            killed += 1
            alive[name] = start(name)
        time.sleep(chance.uniform(0.0, 0.05))
    lines = [line for path in folder.glob("*.done") for line in path.read_text().splitlines()]
    return {
        "entries": sorted(int(line) for line in lines if line != "refused"),
        "refused": lines.count("refused"),
        "killed": killed,
        "tried": sum(path.stat().st_size for path in folder.glob("*.tried")),
        "errors": [path.read_text() for path in folder.glob("*.error")],
    }


if __name__ == "__main__":
    address, dataset, *numbers = sys.argv[1:]
    print(json.dumps(herd(address, dataset, *map(int, numbers))))
