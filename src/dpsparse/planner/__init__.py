"""What a fit would take, before any data is touched."""

from .summary import PlanSummary

__all__ = ["PlanSummary"]
