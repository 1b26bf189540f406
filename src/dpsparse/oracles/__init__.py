"""Who answers: the only package where rows, noise and prices meet."""

from .central import CentralOracle, ExactOracle, make_oracle
from .gate import Gate, PaymentLike, ProgressCallback, needs_all_rows
from .guarded import GuardedOracle, refuse_violations
from .local import LocalOracle
from .replay import RecordingOracle, ReplayOracle
from .shares import NoiseShare, SharedNoiseOracle
from .tape import Tape
from .tape_resume import Resume
from .tape_search import RunTapes

__all__ = [
    "CentralOracle",
    "ExactOracle",
    "Gate",
    "GuardedOracle",
    "LocalOracle",
    "NoiseShare",
    "PaymentLike",
    "ProgressCallback",
    "RecordingOracle",
    "ReplayOracle",
    "Resume",
    "RunTapes",
    "SharedNoiseOracle",
    "Tape",
    "make_oracle",
    "needs_all_rows",
    "refuse_violations",
]
