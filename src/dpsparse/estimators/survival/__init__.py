"""Proportional hazards: a private life table, and then one row for each person."""

from .survival import SparseSurvival

__all__ = ["SparseSurvival"]
