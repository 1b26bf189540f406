"""Structured messages of the package: one event with public facts, for the standard `logging`. The public address of `dpsparse.core.log`."""

from .core.log import *  # noqa: F403
