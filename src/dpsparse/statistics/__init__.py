"""Private answers that are not noisy sums: minimisers, each with its stability proof beside the code."""

from .estimate import Estimate
from .minimise import tolerance
from .objective_perturbation import output_sensitivity, perturbed_minimum, proven_offset, split
from .teacher import exact_minimum, ridge_minimum

__all__ = [
    "Estimate",
    "exact_minimum",
    "output_sensitivity",
    "perturbed_minimum",
    "proven_offset",
    "ridge_minimum",
    "split",
    "tolerance",
]
