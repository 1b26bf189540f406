"""Rounds between a server and participants, whatever they train.

Who is asked, who has answered, and what is remembered of it.
"""

from .coordinator import Coordinator, ServerState, fitted_model, without_ledger
from .participant import Participant
from .protocol import NONCE, MessageError, RunPausedError, RunProtocol, SiteProtocol, SiteSummary, read_facts
from .stores import AnswerClaim, AnswerStore, CallbackStore, FileStore, MemoryStore, device_store

__all__ = [
    "NONCE",
    "AnswerClaim",
    "CallbackStore",
    "Coordinator",
    "FileStore",
    "MemoryStore",
    "MessageError",
    "Participant",
    "RunPausedError",
    "RunProtocol",
    "ServerState",
    "SiteProtocol",
    "SiteSummary",
    "AnswerStore",
    "device_store",
    "fitted_model",
    "read_facts",
    "without_ledger",
]
