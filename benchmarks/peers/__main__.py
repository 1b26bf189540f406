"""``python -m benchmarks.peers``: run the comparison, or make its page."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.speed.peers import install
from dpsparse.report.bench import run_study

from . import page
from .methods import ENVIRONMENTS, FOLDER
from .study import STUDY


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--install", action="store_true", help="make the peers' environments, and stop")
    parser.add_argument("--page", action="store_true", help="make the page of the results that are kept, and stop")
    parser.add_argument("--scale", choices=("quick", "full"), default="full")
    parser.add_argument("--out", type=Path, default=Path("out/peers"), help="folder of the journal")
    parser.add_argument(
        "--keep", type=Path, help="file for results; no page. Default: benchmarks/results, and the page"
    )
    options = parser.parse_args()
    if options.install:
        install(FOLDER, ENVIRONMENTS)
        return 0
    if not options.page:
        options.out.mkdir(parents=True, exist_ok=True)
        study = STUDY.at_scale(options.scale)
        results = run_study(study, options.out / "peers.jsonl", tell=lambda k, of: print(k, of, file=sys.stderr))
        results.write(options.keep or page.RESULTS)
    if options.keep is None:
        page.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
