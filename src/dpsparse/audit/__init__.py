"""Audits: what would catch us."""

from .laws import LawBroken, check_estimator_privacy, check_loss, check_solver
from .second_opinion import recomputed_epsilon

__all__ = ["LawBroken", "check_estimator_privacy", "check_loss", "check_solver", "recomputed_epsilon"]
