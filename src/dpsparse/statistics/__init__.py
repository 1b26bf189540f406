"""Private answers that are not noisy sums: minimisers and votes, each with its stability proof beside the code."""

from .estimate import Estimate
from .minimise import tolerance
from .objective_perturbation import output_sensitivity, perturbed_minimum, proven_offset, split
from .support import VOTE_RANGE, votes
from .teacher import exact_minimum, ridge_minimum

__all__ = [
    "VOTE_RANGE",
    "Estimate",
    "exact_minimum",
    "output_sensitivity",
    "perturbed_minimum",
    "proven_offset",
    "ridge_minimum",
    "split",
    "tolerance",
    "votes",
]
