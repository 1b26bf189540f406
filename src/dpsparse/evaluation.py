"""Scores of a model on private rows. The public address of `dpsparse.estimators.score`."""

from .estimators.score import *  # noqa: F403
from .estimators.score import __all__  # noqa: F401
