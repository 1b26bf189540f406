"""004, Figure 2: the objective on all rows of Chest X-ray, by passes and by hard-thresholding operations."""

from .stochastic import curves

STUDY = curves(2, "chest x-ray all rows", "The paper's own data.")
