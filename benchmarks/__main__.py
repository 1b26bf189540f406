"""``python -m benchmarks``: what can be run, and the quick comparison."""

import importlib
import pkgutil
import sys

import benchmarks

if __name__ == "__main__":
    print("Benchmarks (python -m benchmarks.NAME --help):")
    for module in sorted(m.name for m in pkgutil.iter_modules(benchmarks.__path__) if not m.name.startswith("_")):
        text = (importlib.import_module(f"benchmarks.{module}").__doc__ or "").strip().splitlines()[0]
        print(f"  {module:20s} {text}")
    print("\nThe quick comparison:")
    from benchmarks.compare import main

    sys.argv = ["compare", "--seeds", "3"]
    main()
    print("\nCoverage of the planner's bands:")
    from benchmarks.planner_coverage import main as coverage

    sys.argv = ["planner_coverage"]
    coverage()
