"""The local model for real: devices that hold one row each, and a server that holds none.

The public address of `dpsparse.sites.local`.
"""

from .sites.local import *  # noqa: F403
from .sites.local import __all__  # noqa: F401
