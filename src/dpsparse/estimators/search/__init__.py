"""Private search for hyper-parameters."""

from .plan import SearchPlan
from .search import PrivateSearch

__all__ = ["PrivateSearch", "SearchPlan"]
