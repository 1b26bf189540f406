"""Data that may not move: sites with rows and ledgers of their own, and a server that has neither.

The public address of `dpsparse.sites.federated`.
"""

from pathlib import Path

from .sites.federated import *  # noqa: F403
from .sites.federated import __all__  # noqa: F401

#: `dpsparse.federated.flower` and `.devices`, which need an extra, are found here.
__path__ = [str(Path(__file__).with_name("sites") / "addresses")]
