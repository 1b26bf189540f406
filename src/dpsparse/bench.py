"""Comparisons of methods on public or made-up data, with seeds: NOT private, and marked so. The public address of `dpsparse.report.bench`."""

from .report.bench import *  # noqa: F403
from .report.bench import __all__  # noqa: F401
