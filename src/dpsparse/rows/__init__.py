"""Rows: what a user brings, the public lattice, and the private parts that hold what must not leak."""

from .bounds import read_bounds
from .lattice import Lattice
from .missing import refuse_missing
from .records import Records
from .sampling import PoissonSample, RandomPartition
from .shard import Shard

__all__ = ["Lattice", "PoissonSample", "RandomPartition", "Records", "Shard", "read_bounds", "refuse_missing"]
