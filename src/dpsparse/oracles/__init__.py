"""Who answers: the only room where rows, noise and prices meet."""

from .central import CentralOracle
from .exact import ExactOracle
from .local import LocalOracle, answering
from .replay import RecordingOracle, ReplayOracle

__all__ = ["CentralOracle", "ExactOracle", "LocalOracle", "RecordingOracle", "ReplayOracle", "answering"]
