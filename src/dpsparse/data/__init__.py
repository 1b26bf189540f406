"""Rows: what a user brings, the public lattice, and the private parts that hold what must not leak."""

from .bounds import read_bounds
from .draws import Deal, Draw
from .lattice import Lattice
from .missing import refuse_missing
from .shard import Shard
from .source import Source

__all__ = ["Deal", "Draw", "Lattice", "Shard", "Source", "read_bounds", "refuse_missing"]
