"""``python -m benchmarks``: what can be run."""

import importlib
import pkgutil

import benchmarks

if __name__ == "__main__":
    print("Studies with results, pages and verdicts: dpsparse bench --list\n")
    print("Benchmarks (python -m benchmarks.NAME --help):")
    for module in sorted(m.name for m in pkgutil.iter_modules(benchmarks.__path__) if not m.name.startswith("_")):
        text = (importlib.import_module(f"benchmarks.{module}").__doc__ or "").strip().splitlines()[0]
        print(f"  {module:20s} {text}")
