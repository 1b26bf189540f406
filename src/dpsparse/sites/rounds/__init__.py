"""Rounds between a server and participants, whatever they train: who is asked, who has answered, and what is remembered of it."""

from .stores import AnswerClaim, CallbackStore, FileStore, MemoryStore, Store, device_store

__all__ = ["AnswerClaim", "CallbackStore", "FileStore", "MemoryStore", "Store", "device_store"]
