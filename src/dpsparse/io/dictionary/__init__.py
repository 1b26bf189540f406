"""Ordinary tables: a public data dictionary, and an encoding by its constants alone."""

from .carrier import BoundedArray
from .column import Column
from .dictionary import Dictionary
from .encoder import TableEncoder
from .formats import DictionaryError
from .target import Target
from .units import UnitEffect

__all__ = ["BoundedArray", "Column", "Dictionary", "DictionaryError", "TableEncoder", "Target", "UnitEffect"]
