"""Noise. Every draw that protects a person is made here."""

from .exact import discrete_gaussian
from .gaussian import gaussian_tilt, lattice_gaussian
from .laplace import lattice_laplace
from .randomness import Randomness, keyed_generator
from .selection import gumbel_top_k, permute_and_flip
from .shares import gaussian_share

__all__ = [
    "Randomness",
    "discrete_gaussian",
    "gaussian_share",
    "gaussian_tilt",
    "gumbel_top_k",
    "keyed_generator",
    "lattice_gaussian",
    "lattice_laplace",
    "permute_and_flip",
]
