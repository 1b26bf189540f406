"""Loaders and simulators. Not trusted: nothing here is private. The public address of `dpsparse.io.datasets`."""

from .io.datasets import *  # noqa: F403
from .io.datasets import __all__  # noqa: F401
