"""``python -m benchmarks.tables``: run what is missing, print the comparison, write the page of the documentation."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.tables import page, report, sources, synthetic
from benchmarks.tables.cells import half_of, read, run
from benchmarks.tables.methods import METHODS


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__)
    parser.add_argument("--half", choices=["choose", "confirm", "synthetic", "both"], default="choose")
    parser.add_argument("--methods", default="auto,reference,dpgd,adassp", help="of: " + ", ".join(METHODS))
    parser.add_argument("--tables", default="", help="only these, by name, with commas")
    parser.add_argument("--epsilons", default=".25,1,4")
    parser.add_argument("--seeds", default="0,1", help="of split and noise")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--cells", type=Path, default=Path("out/tables.jsonl"), help="where results are kept")
    parser.add_argument("--again", action="store_true", help="measure cells that are already there once more")
    parser.add_argument("--show", action="store_true", help="print what is there, run nothing")
    parser.add_argument(
        "--page",
        nargs="?",
        const="whole",
        choices=["whole", "probabilities"],
        help="write docs/tables_benchmark.md from the results, or its section about probabilities",
    )
    return parser.parse_args()


def main() -> None:
    """Run, print, write."""
    asked = arguments()
    if asked.half == "synthetic":
        names = list(synthetic.DESIGNS)
    else:
        names = sources.names(None if asked.half == "both" else asked.half)
    if asked.tables:
        names = [name for name in asked.tables.split(",") if name in names]
    methods = asked.methods.split(",")
    epsilons = [float(e) for e in asked.epsilons.split(",")]
    seeds = [int(s) for s in asked.seeds.split(",")]
    if not asked.show:
        everything = ["constant", "nonprivate", *(m for m in methods if METHODS[m].private)]
        run(asked.cells, names, everything, epsilons, seeds, asked.jobs, asked.again)
    kept = [c for c in read(asked.cells).values() if c["seed"] in seeds and c["epsilon"] in (0.0, *epsilons)]
    wanted = {"constant", "nonprivate", *methods}
    found = report.results(c for c in kept if c["table"] in names and c["method"] in wanted)
    sections = [report.lines(found, methods)]
    if asked.half == "synthetic":
        sections.append(report.targets(found, methods))
    else:
        sections += [report.summary(found, methods), report.probabilities(found, methods[0])]
        sections.append(report.worst(found, methods[0]))
    failed = [f"{c['table']} {c['method']}: {c['failure']}" for c in kept if "failure" in c and c["table"] in names]
    print("\n\n".join("\n".join(lines) for lines in [*sections, failed] if lines))
    measured = [c for c in kept if half_of(c["table"]) != "synthetic" and "failure" not in c]
    if asked.page == "whole":
        page.write(Path("docs/tables_benchmark.md"), measured, methods)
    elif asked.page == "probabilities":
        page.write_probabilities(Path("docs/tables_benchmark.md"), measured, methods[0])


if __name__ == "__main__":
    main()
