"""Data that may not move: sites with rows and ledgers of their own, and a server that has neither.

The core knows no engine: messages are bytes, and how they travel is left to the caller. `Grid` carries them within one process,
``dpsparse.federated.flower`` by Flower (extra ``flower``). ``dpsparse.neural`` has the same for networks of PyTorch (extra ``torch``).
"""

from .certificate import Certificate, Federation
from .grid import Grid
from .messages import MessageError, Report, Task
from .protocol import Protocol
from .rounds import InProcess, RoundFile
from .server import Server
from .shared import Holding, fit_shared
from .site import Site
from .site_privacy import SitePrivacy

__all__ = [
    "Certificate",
    "Federation",
    "Grid",
    "Holding",
    "InProcess",
    "MessageError",
    "Protocol",
    "Report",
    "RoundFile",
    "Server",
    "Site",
    "SitePrivacy",
    "Task",
    "fit_shared",
]
