"""Run the parts, write results, the page and the plot."""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from pathlib import Path

from .clock import read_bandwidth
from .fits import dense, shapes, text
from .goals import Part, Settings
from .growth import CURVES, growth
from .memory import memory
from .met import met
from .page import page, plot
from .small import fixed, noise
from .sums import sums

PARTS: dict[str, Part] = {
    "noise": noise,
    "fixed": fixed,
    "sums": sums,
    "dense": dense,
    "text": text,
    "shapes": shapes,
    "memory": memory,
    "growth": growth,
    "met": met,
}
RESULTS = Path(__file__).parent / "results.json"


def processor() -> str:
    """The name of this machine's processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def main() -> None:
    """Parse arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--peers", help="folder of the peers' environments; made by `python -m benchmarks.speed.peers FOLDER`"
    )
    parser.add_argument("--quick", action="store_true", help="smaller sizes, to see that everything runs")
    parser.add_argument("--docs", type=Path, help="write speed.md and speed_growth.svg into this folder")
    given = parser.parse_args()
    settings = Settings(given.repeats, given.peers, given.quick)
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"lines": [], "curves": {}}
    machine = {"processor": processor(), "cores": os.cpu_count(), "load": os.getloadavg()[0], "read": read_bandwidth()}
    for name in given.only:
        lines = [line.to_dict() | {"part": name} for line in PARTS[name](settings)]
        known["lines"] = [line for line in known["lines"] if line["part"] != name] + lines
        for line in lines:
            print(
                f"{line['goal']}  {line['what']:55s} {line['value']:9.3g} {line['unit']:3s} {line['reached']} {line['note']}",
                flush=True,
            )
        known.setdefault("runs", {})[name] = {
            "repeats": given.repeats,
            "quick": given.quick,
            "load": round(os.getloadavg()[0], 1),
            "date": time.strftime("%Y-%m-%d", time.gmtime()),
        }
        if name == "growth":
            known["curves"] = json.loads(CURVES.read_text())
        RESULTS.write_text(json.dumps(known | {"machine": machine}, indent=1) + "\n")
    if given.docs:
        result = json.loads(RESULTS.read_text())
        (given.docs / "speed.md").write_text(page(result))
        if result["curves"]:
            (given.docs / "speed_growth.svg").write_text(plot(result["curves"]))


if __name__ == "__main__":
    main()
