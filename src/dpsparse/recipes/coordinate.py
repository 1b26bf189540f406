"""What the coordinate recipes take from public facts."""

from __future__ import annotations

import numpy as np

from ..facts import Facts
from ..privacy.plan import Noise
from ..solvers.coordinates import ColumnSquares


def column_squares(facts: Facts, curvature: str, share: float = 0.02, noise: Noise = Noise.GAUSSIAN) -> ColumnSquares:
    bounds = np.r_[facts.half_widths**2, [facts.intercept**2] * facts.free]
    total = float(np.sum(facts.half_widths**2))
    guess = bounds.copy()
    if curvature != "bounds":
        guess[: facts.n_features] *= min(1.0, facts.row_bound**2 / total)
    return ColumnSquares(bounds=bounds, guess=guess, share=share if curvature == "private" else 0.0, noise=noise)
