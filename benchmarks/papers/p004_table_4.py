"""004, Table 4: RCV1, log-loss, five folds."""

from .stochastic import table

STUDY = table(
    4,
    "news20 folds (for RCV1)",
    "log-loss",
    1000,
    "20 Newsgroups in two classes (15,935 rows, 62,061 features) stands in for RCV1.",
    own="RCV1 folds",
)
