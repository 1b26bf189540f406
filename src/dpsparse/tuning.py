"""Private search for hyper-parameters. The public address of `dpsparse.estimators.search`."""

from .estimators.search import *  # noqa: F403
from .estimators.search import __all__  # noqa: F401
