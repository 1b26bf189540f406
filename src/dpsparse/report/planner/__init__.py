"""What a fit would take, and what to expect of it, before any data is touched."""

from .asks import PlannedAsk, planned_asks
from .assumptions import Assumptions
from .forecast import ErrorBand, ExpectedError, Forecast
from .intervals import IntervalForecast, forecast
from .smallest_coefficient import smallest_coefficient
from .summary import PlanSummary, summarise

__all__ = [
    "Assumptions",
    "ErrorBand",
    "ExpectedError",
    "Forecast",
    "IntervalForecast",
    "PlanSummary",
    "PlannedAsk",
    "forecast",
    "planned_asks",
    "smallest_coefficient",
    "summarise",
]
