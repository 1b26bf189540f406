"""Files that need the engine of an extra are collected where it is installed."""

from importlib.util import find_spec

collect_ignore_glob = (
    [] if find_spec("torch") else ["src/dpsparse/sites/neural/*", "src/dpsparse/neural.py", "tests/truth/networks.py"]
)
