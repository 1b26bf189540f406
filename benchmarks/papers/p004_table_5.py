"""004, Table 5: Chest X-ray, log-loss, five folds."""

from .stochastic import table

STUDY = table(
    5,
    "chest x-ray folds",
    "log-loss",
    200,
    "The paper's own data. Its models, without privacy too, hardly learn (0.6931 is a coin toss); honest noise leaves far more.",
)
