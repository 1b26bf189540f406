"""Private answers that are not noisy sums: minimisers, each with its stability proof beside the code."""

from .minimise import RECORDS, MinimiserSpec, refuse_condition
from .objective_perturbation import finished_name, perturbed_minimum, perturbed_spec, proven_offset, split, tilted_side
from .teacher import exact_minimum, public_side, ridge_minimum, ridge_spec

__all__ = [
    "RECORDS",
    "MinimiserSpec",
    "exact_minimum",
    "finished_name",
    "perturbed_minimum",
    "perturbed_spec",
    "proven_offset",
    "public_side",
    "refuse_condition",
    "ridge_minimum",
    "ridge_spec",
    "split",
    "tilted_side",
]
