"""Who answers: the only room where rows, noise and prices meet."""

from .base import needs_all_rows
from .central import CentralOracle
from .doors import Doors, refuse_peeks
from .exact import ExactOracle
from .local import LocalOracle
from .make import make_oracle
from .replay import RecordingOracle, ReplayOracle
from .sites import SiteShare, SitesOracle
from .till import Payment, Till, Watcher

__all__ = [
    "CentralOracle",
    "Doors",
    "ExactOracle",
    "LocalOracle",
    "Payment",
    "RecordingOracle",
    "ReplayOracle",
    "SiteShare",
    "SitesOracle",
    "Till",
    "Watcher",
    "make_oracle",
    "needs_all_rows",
    "refuse_peeks",
]
