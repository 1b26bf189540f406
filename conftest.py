"""Files that need the engine of an extra are collected where it is installed."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["src/dpsparse/sites/neural/*", "tests/truth/networks.py"]
