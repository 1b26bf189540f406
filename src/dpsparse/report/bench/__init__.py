"""Comparisons of methods on public or synthetic data, with seeds: NOT private, and marked so.

A study names cells (data, method, epsilon, seed) and runs one of them at a time. `run_study` runs
those that are missing, in processes, and keeps each result as soon as it is there, so that a run
that was stopped goes on where it was.
"""

from .results import Results, run_study
from .study import Cell, Scale, ScaledStudy, Study, StudyClaim

__all__ = ["Cell", "Results", "Scale", "ScaledStudy", "Study", "StudyClaim", "run_study"]
