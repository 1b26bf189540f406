"""Data that may not move: sites with rows and ledgers of their own, and a server that has neither.

The core knows no engine: messages are bytes, and how they travel is left to the caller. `Grid`
carries them within one process, ``dpsparse.sites.federated.flower`` by Flower (extra ``flower``).
``dpsparse.neural`` has the same for networks of PyTorch (extra ``torch``).
"""

from ..rounds import FileStore, MemoryStore, MessageError, RunPausedError
from ..rounds.messages import Report, Task
from .certificate import Certificate, Federation
from .grid import Grid
from .protocol import Protocol
from .server import Server, SitePrivacy
from .shared import SiteData, fit_shared
from .site import Site

__all__ = [
    "Certificate",
    "Federation",
    "FileStore",
    "Grid",
    "MemoryStore",
    "MessageError",
    "Protocol",
    "Report",
    "RunPausedError",
    "Server",
    "Site",
    "SiteData",
    "SitePrivacy",
    "Task",
    "fit_shared",
]
