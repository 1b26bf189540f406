"""Losses of a margin and a target. The public address of `dpsparse.queries.losses`."""

from .queries.losses import *  # noqa: F403
from .queries.losses import __all__  # noqa: F401
