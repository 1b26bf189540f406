"""The fit itself, without scikit-learn.

A request, what is prepared from it, how it is run, and what is stated about it.
"""

from .fit import fit
from .prepare import FitPlan, plan_fit
from .request import FitRequest, Seed, Shape, default_delta, models_of, noise_of_sums, public_rows, stated_budget
from .run import FitResult
from .session import Matrix, Rows, Session, open_oracle, rescaled_rows, warn_if_seeded, with_oracles, wrapped
from .targets import Targets, read_targets
from .trial import trial_run
from .user_recipes import refuse_rows_brought

__all__ = [
    "FitPlan",
    "FitRequest",
    "FitResult",
    "Matrix",
    "Rows",
    "Seed",
    "Session",
    "Shape",
    "Targets",
    "default_delta",
    "fit",
    "models_of",
    "noise_of_sums",
    "open_oracle",
    "plan_fit",
    "public_rows",
    "read_targets",
    "refuse_rows_brought",
    "rescaled_rows",
    "stated_budget",
    "trial_run",
    "warn_if_seeded",
    "with_oracles",
    "wrapped",
]
