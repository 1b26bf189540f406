"""Audits: what would catch us."""

from .laws import LawBroken, check_estimator_privacy, check_loss, check_solver

__all__ = ["LawBroken", "check_estimator_privacy", "check_loss", "check_solver"]
