"""The fit itself, without scikit-learn: a request, what is prepared from it, how it is run, and what is stated about it."""

from .foreign import holdings, refuse_rows_brought
from .oracle import Matrix, Opened, Rows, Watcher, open_oracle, shown
from .paid import fit
from .parts import Inference, Inferred
from .prepare import Prepared, per_model, prepare, refuse_doubtful, refuse_unaccepted, refuse_unguarded, resolve
from .progress import ProgressBar
from .rehearse import rehearse
from .request import (
    FitRequest,
    Seed,
    Shape,
    check_noise,
    default_delta,
    models_of,
    public_rows,
    read_loss,
    stated_budget,
)
from .run import Fitted, OpenOracle, coefficients_of, run, substitute_oracles, substituted
from .seed import warn_if_seeded
from .targets import Targets, read_targets
from .units import in_half_widths

__all__ = [
    "FitRequest",
    "Fitted",
    "Inference",
    "Inferred",
    "Matrix",
    "OpenOracle",
    "Opened",
    "Prepared",
    "ProgressBar",
    "Rows",
    "Seed",
    "Shape",
    "Targets",
    "Watcher",
    "check_noise",
    "coefficients_of",
    "default_delta",
    "fit",
    "holdings",
    "in_half_widths",
    "models_of",
    "open_oracle",
    "per_model",
    "prepare",
    "public_rows",
    "read_loss",
    "read_targets",
    "refuse_doubtful",
    "refuse_rows_brought",
    "refuse_unaccepted",
    "refuse_unguarded",
    "rehearse",
    "resolve",
    "run",
    "shown",
    "stated_budget",
    "substitute_oracles",
    "substituted",
    "warn_if_seeded",
]
