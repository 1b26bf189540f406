r"""The teacher of knowledge transfer: an exact ridge minimiser on a public support, stable by strong convexity.

.. math:: \theta_D = \arg\min_{\theta\in\mathbb R^S} \sum_i \Psi_i(\langle x_i, \theta\rangle)
          + \tfrac\lambda2\|\theta\|^2

with the :math:`\Psi_i` of `minimise`: convex, :math:`\|\nabla\Psi_i\| \le G`. (In the units of a
mean over :math:`n_0` rows the regulariser is :math:`\lambda/n_0`.)

Guarantee
---------
For neighbours under either adjacency :math:`\|\theta_D - \theta_{D'}\|_2 \le 2G/\lambda`; an answer
whose gradient is at most :math:`\tau` instead of zero adds :math:`2\tau/\lambda`. The labels
:math:`\tilde X\theta_D` of public rows move by at most the operator norm :math:`\|\tilde X\|_2`
times that.

**Proof.** :math:`F_D` is :math:`\lambda`-strongly convex and differentiable, and
:math:`\mathbb R^S` has no boundary, so
:math:`\nabla F_D(\theta_D) = 0 = \nabla F_{D'}(\theta_{D'})`. With
:math:`v = \theta_D - \theta_{D'}`,

.. math:: \lambda\|v\|^2 \le \langle \nabla F_D(\theta_D) - \nabla F_D(\theta_{D'}), v\rangle
          = \langle \nabla F_{D'}(\theta_{D'}) - \nabla F_D(\theta_{D'}), v\rangle \le 2G \|v\|,

since the two gradients at the same point differ by that of one record, or of two: under add-remove,
too, a record that enters may take the place of another (`minimise`). An approximate minimiser is
within :math:`\tau/\lambda` of the exact one, on both sides. QED.

The support is public and the same on both sides: this is what [WG20]_, Theorem 4.3, lacks. There
the minimum is over the s-sparse vectors, which are not a convex set: one record can exchange the
support, and the minimiser jumps by :math:`\sqrt2/(1+2\lambda)` for any number of rows.

Noise on :math:`\theta` is never worse than noise on labels:
:math:`\tilde X(\theta + N(0, \sigma^2 I))` with more noise of covariance
:math:`\sigma^2(\|\tilde X\|^2 I - \tilde X\tilde X^\top) \succeq 0` is the label release exactly.

References
----------
.. [WG20] Wang and Gu, AAAI 2020: a knowledge transfer framework for differentially private sparse learning.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...core.errors import PrivacyError
from ...core.facts import LARGEST_SIZE, SMALLEST_SIZE, Vector, in_range
from ...rows.shard import Shard
from ...rows.support_rows import restricted
from ..charge import Charge, use
from ..kinds import MinimiserQuery, RidgeMinimum
from ..losses import Loss
from .minimise import RECORDS, MinimiserSpec, Problem, Public, convex, minimiser


def ridge_spec(question: RidgeMinimum, loss: Loss, n_rows: int, strength: float) -> tuple[float, float, MinimiserSpec]:
    """How the teacher, or its labels of the public rows `question.design`, gets its noise.

    The same under both adjacencies.
    """
    public = public_side(question, loss, n_rows)
    public.check()
    tau = public.tolerance()
    sensitivity, size = (RECORDS * question.clip.norm + 2 * tau) / question.ridge, question.support.size
    if question.design is not None:
        gram = question.design.T @ question.design
        sensitivity *= math.sqrt(max(float(np.linalg.eigvalsh(gram)[-1]), 0.0)) * (1 + 1e-9)
        size = question.design.shape[0]
    spec = MinimiserSpec(tau, sensitivity, size, strength)
    return spec.rounded_sensitivity, strength, spec


def ridge_minimum(charge: Charge, shards: Sequence[Shard], loss: Loss, tau: float) -> Vector:
    """The teacher, or its labels of the public rows: **private** until it has its noise.

    It is computed to the public tolerance `tau`, and uses the charge.
    """
    use(charge)
    question: RidgeMinimum = charge.query
    rows = [restricted(shards, question.support, question.row_norm, shards[0].facts.n_rows)]
    problem = Problem.of(rows, convex(loss), question.clip, question.ridge, np.zeros(question.support.size))
    theta = minimiser(problem, tau)
    return theta if question.design is None else np.asarray(question.design @ theta)


def public_side(question: MinimiserQuery, loss: Loss, n_rows: int, tilt: float = 0.0) -> Public:
    """What is public about the problem; refuses public rows whose products floats do not hold."""
    design = question.design if isinstance(question, RidgeMinimum) else None
    if design is not None and not in_range(float(np.abs(design).max(initial=0.0))):
        raise PrivacyError(
            f"the largest entry of public rows to label must be between {SMALLEST_SIZE:g} and {LARGEST_SIZE:g}."
        )
    curvature = convex(loss).curvature
    return Public(question.clip, question.row_norm, question.ridge, curvature, question.support.size, n_rows, tilt)


def exact_minimum(charge: Charge, shards: Sequence[Shard], loss: Loss) -> Vector:
    """The minimiser without clips or protection: for the exact oracle. Uses the charge."""
    use(charge)
    question: MinimiserQuery = charge.query
    rows = [restricted(shards, question.support, math.inf)]
    problem = Problem.of(rows, convex(loss), None, question.ridge, np.zeros(question.support.size))
    return minimiser(problem, 1e-9 * (1 + float(np.linalg.norm(problem.gradient(problem.tilt)))))
