"""Figures: privacy against error, coefficients against epsilon, supports, objectives by pass, histograms.

Needs the extra `plots`.

What is drawn is what is given: results of a study on public data, or coefficients that were
released. Nothing here reads rows.
"""

from .curves import (
    Line,
    Panel,
    coefficient_paths,
    errors_by_epsilon,
    figure,
    histograms,
    objective_curves,
    save,
    support_recovery,
)

__all__ = [
    "Line",
    "Panel",
    "coefficient_paths",
    "errors_by_epsilon",
    "figure",
    "histograms",
    "objective_curves",
    "save",
    "support_recovery",
]
