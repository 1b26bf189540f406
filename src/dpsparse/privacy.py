"""What is promised: adjacency, budget, plan, participation, statement, errors. The public address of `dpsparse.core`."""

from .core import *  # noqa: F403
from .core import __all__  # noqa: F401
