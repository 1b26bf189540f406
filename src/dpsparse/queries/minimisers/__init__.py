"""Private answers that are not noisy sums: minimisers, each with its stability proof beside the code."""

from .estimate import Estimate
from .minimise import RECORDS, Public, refuse_condition
from .objective_perturbation import output_sensitivity, perturbed_minimum, proven_offset, split, tilted_side
from .teacher import exact_minimum, public_side, ridge_minimum

__all__ = [
    "RECORDS",
    "Estimate",
    "Public",
    "exact_minimum",
    "output_sensitivity",
    "perturbed_minimum",
    "proven_offset",
    "public_side",
    "refuse_condition",
    "ridge_minimum",
    "split",
    "tilted_side",
]
