"""Rows: what a user brings, the public lattice, and the private parts that hold what must not leak."""

from .bounds import read_bounds
from .lattice import Lattice
from .records import Records, refuse_missing
from .sampling import PoissonSample, RandomPartition
from .shard import Shard

__all__ = ["Lattice", "PoissonSample", "RandomPartition", "Records", "Shard", "read_bounds", "refuse_missing"]
