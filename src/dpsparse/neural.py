"""Sparse networks of PyTorch under differential privacy, in one place or across sites (extra ``torch``).

The public address of `dpsparse.sites.neural`.
"""

from .sites.neural import *  # noqa: F403
from .sites.neural import __all__  # noqa: F401
