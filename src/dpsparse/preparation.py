"""Private and public preparation of rows, and pipelines that share one budget. The public address of `dpsparse.estimators.steps`."""

from .estimators.steps import *  # noqa: F403
from .estimators.steps import __all__  # noqa: F401
