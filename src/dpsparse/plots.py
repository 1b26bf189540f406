"""Figures: privacy against error, coefficients against epsilon, supports, objectives by pass, histograms.

Needs the extra `plots`. The public address of `dpsparse.report.figures`.
"""

from .report.figures import *  # noqa: F403
from .report.figures import __all__  # noqa: F401
