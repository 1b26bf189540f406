"""What a fit would take, and what to expect of it, before any data is touched."""

from .asks import PlannedAsk, planned_asks
from .assumed import Assumed
from .intervals import IntervalForecast, forecast
from .outlook import Band, ExpectedError, Outlook
from .plotting import plot_error
from .reach import smallest_coefficient
from .summary import PlanSummary, summarise

__all__ = [
    "Assumed",
    "Band",
    "ExpectedError",
    "IntervalForecast",
    "Outlook",
    "PlanSummary",
    "PlannedAsk",
    "forecast",
    "planned_asks",
    "plot_error",
    "smallest_coefficient",
    "summarise",
]
