"""Ordinary tables: a public data dictionary, and an encoding by its constants alone.

The public address of `dpsparse.io.dictionary`.
"""

from .io.dictionary import *  # noqa: F403
from .io.dictionary import __all__  # noqa: F401
