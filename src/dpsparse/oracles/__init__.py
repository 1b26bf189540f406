"""Who answers: the only room where rows, noise and prices meet."""

from .base import needs_all_rows
from .central import CentralOracle
from .exact import ExactOracle
from .guarded import GuardedOracle, refuse_violations
from .local import LocalOracle
from .make import make_oracle
from .replay import RecordingOracle, ReplayOracle
from .shares import NoiseShare, SharedNoiseOracle
from .till import PaymentLike, ProgressCallback, Till

__all__ = [
    "CentralOracle",
    "ExactOracle",
    "GuardedOracle",
    "LocalOracle",
    "NoiseShare",
    "PaymentLike",
    "ProgressCallback",
    "RecordingOracle",
    "ReplayOracle",
    "SharedNoiseOracle",
    "Till",
    "make_oracle",
    "needs_all_rows",
    "refuse_violations",
]
