"""Plans of selections by their shares, and the density behind the curve of one selection."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpsparse.accounting.selections import calibrate_stage
from dpsparse.accounting.stages import Counted, Stage
from dpsparse.core.curves import Curve


def calibrate(
    epsilon: float,
    delta: float,
    selection_shares: Counted,
    gaussian_share: float = 0.0,
    *,
    laplace_shares: Counted = (),
    branches: Sequence[Stage] = (),
) -> float:
    """`calibrate_stage`, for a plan given by its shares."""
    plan = Stage.from_shares(selection_shares, gaussian_share, laplace_shares, branches)
    return calibrate_stage(epsilon, delta, plan)


def one_selection_density(x: Curve, eta: float) -> Curve:
    r"""Density of the loss with the curve h of `one_selection`; there are no atoms.

    It is :math:`h'' - h' = e^{x/2}/(4\sinh(\eta/2))`, derivatives in x.
    """
    return np.where(np.abs(x) <= eta, np.exp(x / 2) / (4 * math.sinh(eta / 2)), 0.0)
