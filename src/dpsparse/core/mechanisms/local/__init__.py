"""Local randomisers: what a person's device does to one answer before it leaves.

Every one has `reports` (whole numbers on a public lattice), `unit` (what one of them stands for),
`variance`, `largest` and `valid`. A report times its unit, plus `centre` where there is one, is an
unbiased estimate of what was asked.
"""

from .ball import PrivUnit
from .gaussian import LocalGaussian
from .scalar import Piecewise, RandomisedResponse, TwoPoint, best_scalar

__all__ = ["LocalGaussian", "Piecewise", "PrivUnit", "RandomisedResponse", "TwoPoint", "best_scalar"]
