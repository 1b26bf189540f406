"""The fit itself, without scikit-learn.

A request, what is prepared from it, how it is run, and what is stated about it.
"""

from .fit import fit
from .parts import Inference, InferenceResult
from .prepare import FitPlan, per_model, plan_fit, refuse_doubtful, refuse_unaccepted, refuse_unguarded, resolve
from .progress import progress_bar
from .request import (
    FitRequest,
    Seed,
    Shape,
    check_noise_kind,
    default_delta,
    models_of,
    noise_of_sums,
    public_rows,
    read_loss,
    stated_budget,
)
from .run import FitResult, coefficients_of, run
from .session import (
    Matrix,
    OpenOracle,
    Rows,
    Session,
    open_oracle,
    rescaled_rows,
    substituted,
    warn_if_seeded,
    with_oracles,
    wrapped,
)
from .targets import Targets, read_targets
from .trial import trial_run
from .units import in_half_widths
from .user_recipes import holdings, refuse_rows_brought

__all__ = [
    "FitPlan",
    "FitRequest",
    "FitResult",
    "Inference",
    "InferenceResult",
    "Matrix",
    "OpenOracle",
    "Rows",
    "Seed",
    "Session",
    "Shape",
    "Targets",
    "check_noise_kind",
    "coefficients_of",
    "default_delta",
    "fit",
    "holdings",
    "in_half_widths",
    "models_of",
    "noise_of_sums",
    "open_oracle",
    "per_model",
    "plan_fit",
    "progress_bar",
    "public_rows",
    "read_loss",
    "read_targets",
    "refuse_doubtful",
    "refuse_rows_brought",
    "refuse_unaccepted",
    "refuse_unguarded",
    "rescaled_rows",
    "resolve",
    "run",
    "stated_budget",
    "substituted",
    "trial_run",
    "warn_if_seeded",
    "with_oracles",
    "wrapped",
]
