"""Scores of a model on private rows."""

from .card import CurvePoint, Score, ScoreCard
from .score import private_score

__all__ = ["CurvePoint", "Score", "ScoreCard", "private_score"]
