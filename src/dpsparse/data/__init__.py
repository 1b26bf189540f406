"""Rows, bounds and files: the room that holds what must not leak."""

from .bounds import read_bounds
from .rows import PrivateRows

__all__ = ["PrivateRows", "read_bounds"]
