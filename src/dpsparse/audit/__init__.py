"""Audits: what would catch us."""

from .laws import LawBroken, check_estimator_privacy, check_loss, check_solver
from .second_opinion import recomputed_epsilon
from .trace import Trace, sensitivity_trace

__all__ = [
    "LawBroken",
    "Trace",
    "check_estimator_privacy",
    "check_loss",
    "check_solver",
    "recomputed_epsilon",
    "sensitivity_trace",
]
