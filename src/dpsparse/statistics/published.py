r"""The teacher of DPSL-KT as printed. **Its stability theorem is false**; kept so that the claim can be tested.

.. math:: \hat\theta = \text{IGHT}\Bigl(\tfrac1n\textstyle\sum_i \ell_i + \tfrac\lambda2\|\cdot\|^2\Bigr), \qquad
          q(D) = \tilde X\hat\theta, \qquad \text{claimed: } \|q(D) - q(D')\| \le 2\sqrt{m s\tilde\beta}\,\gamma/(n\lambda)

No guarantee
------------
Theorem 4.3 of [WG20]_ uses the first-order condition of a convex set for the s-sparse vectors. Counter-example: n odd,
records :math:`(e_1, 1)` or :math:`(e_2, 1)`, s = 1. With one more of :math:`e_1` than of :math:`e_2` the minimiser is on
coordinate 1; replace one record and it is on coordinate 2: a jump of :math:`\sqrt2/(1+2\lambda)`, whatever n. At n = 1001 and
:math:`\lambda = 0.1` a claimed epsilon of 1 is really 120 (delta 1e-5). Corollary 4.7 (:math:`\lambda = 0`) has the same
gap, and takes the curvature :math:`\mu` of the private data for a public number.

References
----------
.. [WG20] Wang and Gu, AAAI 2020, Algorithms 1 and 2, Theorem 4.3, Corollary 4.7.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..data.shard import Shard
from ..data.slopes import exact_gradient
from ..facts import Vector
from ..losses import Loss
from ..ops import hard_threshold
from ..oracle import PublishedLabels
from .estimate import Estimate


def published_labels(shards: Sequence[Shard], loss: Loss, question: PublishedLabels) -> Estimate:
    """Labels of the public rows by an iterative-hard-thresholding teacher, with the sensitivity that the paper claims.

    The intercept, if there is one, is neither thresholded nor penalised.
    """
    with np.errstate(all="ignore"):
        return Estimate(question.design @ _teacher(shards, loss, question), question.claimed)


def _teacher(shards: Sequence[Shard], loss: Loss, question: PublishedLabels) -> Vector:
    facts = shards[0].facts
    w = np.zeros(facts.dimension)
    curvature, before = 0.0, None
    for _ in range(question.steps):
        penalty = question.ridge * w
        penalty[facts.n_features :] = 0.0
        g = exact_gradient(w, shards, loss) / facts.n_rows + penalty
        step = question.step_size
        if (
            step is None
        ):  # half of 1 over the curvature that successive gradients show: a full step would not settle in a tie
            if before is not None:
                moved = w - before[0]
                if float(moved @ moved) <= 1e-24 * float(w @ w):
                    break  # settled; differences would show rounding only
                curvature = max(float((g - before[1]) @ moved) / float(moved @ moved), 0.9 * curvature)
            step = 0.5 / (curvature or facts.curvature * facts.norm_bound**2 + question.ridge)
        before = (w, g)
        w = hard_threshold(w - step * g, question.sparsity, facts.free)
    return w
