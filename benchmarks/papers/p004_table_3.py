"""004, Table 3: E2006-tfidf, mean squared error without the 1/2, five folds."""

from .stochastic import table

STUDY = table(
    3,
    "imdb rating folds (for E2006)",
    "MSE",
    200,
    "Film reviews with their rating stand in for E2006-tfidf: 3,308 rows, as in the file that the paper uses, and 74,851 features. A model of zeros is shown beside.",
    own="E2006 folds",
)
