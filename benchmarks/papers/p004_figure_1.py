"""004, Figure 1: the objective on all rows of RCV1, by passes and by hard-thresholding operations."""

from .stochastic import curves

STUDY = curves(1, "news20 all rows (for RCV1)", "20 Newsgroups stands in for RCV1.", own="RCV1 all rows")
