"""What a fit would take, and what to expect of it, before any data is touched. The public address of `dpsparse.report.planner`."""

from .report.planner import *  # noqa: F403
from .report.planner import __all__  # noqa: F401
