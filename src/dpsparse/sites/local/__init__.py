"""The local model for real: devices that hold one row each, and a server that holds none.

The same randomisers and the same loops as the simulated recipes (``recipe="ldp_iht"`` and its
relatives); messages are bytes, and how they travel is left to the caller.
"""

from ..rounds import AnswerClaim, FileStore, MemoryStore, MessageError
from ..rounds.messages import DeviceReport as Report
from ..rounds.messages import DeviceTask as Task
from .device import Device
from .protocol import Protocol
from .server import Server

__all__ = ["AnswerClaim", "Device", "FileStore", "MemoryStore", "MessageError", "Protocol", "Report", "Server", "Task"]
