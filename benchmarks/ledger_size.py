"""What one reservation costs where a ledger holds many entries.

``python -m benchmarks.ledger_size ADDRESS`` fills an empty ledger with 100,000 entries of three events each, then measures the
processor time of every call in processes of their own: the first one counts all events, the others go on from its checkpoint.
``--server PID`` also measures the processor time of a PostgreSQL server on this machine, by its first process.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dpsparse import Ledger
from dpsparse.accounting import PlanCost, price
from dpsparse.accounting.costs.base import write_cost
from dpsparse.core import Ask, Budget, Noise, Plan
from dpsparse.ledger.chain import COLUMNS, EVENTS, HEAD, Chain, Event
from dpsparse.ledger.charging import present
from dpsparse.ledger.checkpoint import VARIABLE
from dpsparse.ledger.state import latest

DATASET = "many"


def small_bill() -> PlanCost:
    """A Gaussian fit with mu = 1e-4, so that there is space for many."""
    return PlanCost.of(price(Plan(asks=(Ask(name="gradient", noise=Noise.GAUSSIAN),)), Budget.gdp(1e-4)))


def fill(chain: Chain, entries: int) -> None:
    """The events that so many fits leave, written to the tables as their owner may, without a look at each."""
    bill = small_bill()
    state, head, content, moment = latest(chain, DATASET), chain.head(), write_cost(bill), present()
    cost = state.charge(bill)
    body: dict[str, Any] = {"time": moment, "bill": content, "costs": dict(cost.costs), "slack": cost.slack}
    mark = chain._mark
    marks = ", ".join([mark] * 7)
    for k in range(entries):
        state = state.taken(cost)
        stated, entry = state.to_dict(), head.number + 1
        bodies = (
            ("reserve", {**body, "label": "nightly", "run_id": f"run {k}"}),
            ("start", {"time": moment}),
            ("confirm", {}),
        )
        for what, said in bodies:
            event = Event.after(
                head.number + 1, head.hash, DATASET, entry, what, {**said, "state": stated, "mark": f"{k}"}
            )
            row = (event.number, event.dataset, event.entry, event.what, event.body, event.previous, event.hash)
            chain._execute(f"INSERT INTO {EVENTS} ({COLUMNS}) VALUES ({marks})", row)
            head = head.after(event)
    chain._execute(f"UPDATE {HEAD} SET number = {mark}, hash = {mark}, ends = {mark}, seal = {mark}", head.row()[2:])
    chain.appended = event


def server_seconds(process: int) -> float:
    """Processor seconds of a process and of its children that have ended."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def measure(address: str, server: int | None) -> dict[str, list[float]]:
    """Processor seconds of each call, here and at the server."""
    ledger, found = Ledger(address), {}

    def take(name: str, call: Callable[[], Any]) -> Any:
        there, here = server_seconds(server) if server else 0.0, time.process_time()
        value = call()
        here = time.process_time() - here
        time.sleep(0.2 if server else 0.0)  # until the process at the server has ended, and counts
        found[name] = [here, server_seconds(server) - there if server else 0.0]
        return value

    bill = small_bill()
    take("reserve with a new run-id", lambda: ledger.reserve(DATASET, bill, run_id=f"new {time.time()}")).refund()
    take("reserve with a known run-id", lambda: _refused(ledger, bill))
    reservation = take("reserve", lambda: ledger.reserve(DATASET, bill))
    take("start", reservation.start)
    take("confirm", reservation.confirm)
    for name in ("remaining", "spent", "odometer", "fits_left"):
        take(name, lambda name=name: getattr(ledger, name)(DATASET))  # type: ignore[misc]
    return found


def _refused(ledger: Ledger, bill: PlanCost) -> None:
    from dpsparse.core import RunRepeatedError

    try:
        ledger.reserve(DATASET, bill, run_id="run 7")
    except RunRepeatedError:
        return
    raise AssertionError("a run that is done was paid for again")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address")
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=5, help="processes that go on from the checkpoint")
    parser.add_argument("--server", type=int, default=None, metavar="PID")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measure(given.address, given.server)))
        return
    ledger = Ledger(given.address)
    ledger.create(DATASET, epsilon=8.0, delta=1e-6, kind="gaussian")
    ledger._store().write(lambda chain: fill(chain, given.entries))
    with tempfile.TemporaryDirectory() as counts:
        again = [sys.executable, "-m", "benchmarks.ledger_size", given.address, "--measure"]
        again += ["--server", str(given.server)] if given.server else []
        runs = []
        for _ in range(1 + given.times):
            said = subprocess.run(
                again, env={**os.environ, VARIABLE: counts}, capture_output=True, text=True, check=True
            )
            runs.append(json.loads(said.stdout))
    print(f"{given.entries:,} entries; processor seconds here, and at the server\n")
    print("| call | first process | median of later ones |\n|---|---|---|")
    for name, first in runs[0].items():
        later = [sorted(run[name][k] for run in runs[1:])[given.times // 2] for k in range(2)]
        print(f"| {name} | {first[0]:.3f}, {first[1]:.3f} | {later[0]:.3f}, {later[1]:.3f} |")


if __name__ == "__main__":
    main()
