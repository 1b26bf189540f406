r"""Objective perturbation: the minimiser of a randomly tilted objective.

.. math:: \hat\theta = \arg\min_{\theta\in\mathbb R^S} J(\theta), \qquad
          J(\theta) = F_D(\theta) + \langle b, \theta\rangle, \qquad
          F_D(\theta) = \sum_i \Psi_i(\langle x_i, \theta\rangle) + \tfrac\lambda2\|\theta\|^2,
          \qquad b \sim N(0, s^2 I)

on a support :math:`S` that is already public, for rows of norm at most :math:`K` on it; the
:math:`\Psi_i` are those of `minimise`: convex, with :math:`\|\nabla\Psi_i\| \le L` and
:math:`\Psi_i''\|x_i\|^2 \le \beta = \beta_0 K^2`.

Guarantee
---------
Let :math:`m = 2L/s` and :math:`c = \log(1 + \beta/\lambda)`. For neighbours under either adjacency,
in either direction, and every order :math:`\alpha > 1`,

.. math:: D_\alpha \le c + \frac{\alpha m^2}2 + \frac{\log 2\Phi((\alpha-1)m)}{\alpha - 1}.

**Proof.** *Density.* :math:`\nabla F_D` is Lipschitz and :math:`\lambda`-strongly monotone, so it
maps :math:`\mathbb R^S` one to one onto itself, and both directions are Lipschitz.
:math:`\hat\theta` solves :math:`\nabla F_D(\hat\theta) = -b`, so by the area formula it has the
density :math:`p_D(\theta) = \varphi_s(\nabla F_D(\theta))\,\det H_D(\theta)`,
:math:`H_D = \nabla^2 F_D \succeq \lambda I`, at almost every point (the Hessian fails to exist on
finitely many hyperplanes).

*One record more.* Let D' be D with one more record :math:`x`, whose gradient is :math:`g = \Psi' x`
and whose Hessian is :math:`h x x^\top`. By the matrix determinant lemma
:math:`\det H_{D'}/\det H_D = 1 + h\,x^\top H_D^{-1} x \in [1, 1 + \beta/\lambda]`: always with the
inverse of the smaller Hessian, so :math:`\lambda > \beta` is not needed. With
:math:`G = \nabla F_D(\theta)`,
:math:`\log(\varphi_s(G+g)/\varphi_s(G)) = -(2\langle G, g\rangle + \|g\|^2)/2s^2`. Under D,
:math:`G = -b`, and

.. math:: \log\frac{p_D}{p_{D'}} \le \frac{\langle G, g\rangle}{s^2} + \frac{\|g\|^2}{2s^2};

under D', :math:`G + g = -b`, and
:math:`\log(p_{D'}/p_D) \le c - \langle G + g, g\rangle/s^2 + \|g\|^2/2s^2`. The gradient depends on
:math:`\theta`, but only its length does:
:math:`|\langle b, g\rangle| \le L\,|\langle b, x\rangle|/\|x\|`. So either loss is at most
:math:`c + m_1^2/2 + m_1|Z|` with :math:`m_1 = L/s` and
:math:`Z = \langle b, x\rangle/(s\|x\|) \sim N(0,1)`, and
:math:`\log E\,e^{a|Z|} = a^2/2 + \log 2\Phi(a)` at :math:`a = (\alpha-1)m_1` gives the curve at
:math:`m_1`, which rises with it.

*One record in the place of another*: under replace-one, and under add-remove where a record that
enters makes the n-th leave (`minimise`). D = C + x, D' = C + x'. The ratio of determinants is
:math:`(1 + h x^\top H_C^{-1}x)/(1 + h' x'^\top H_C^{-1}x') \le 1 + \beta/\lambda`. Under D,
:math:`G = \nabla F_D = -b` and :math:`\nabla F_{D'} = G - g + g'`, so the loss is at most
:math:`c + \langle G, g' - g\rangle/s^2 + \|g'-g\|^2/2s^2 \le c + \tfrac{(2L)^2}{2s^2} + \tfrac Ls(|Z_1| + |Z_2|)`
with two standard normal variables, dependent in some way. By Cauchy-Schwarz
:math:`E\,e^{a(|Z_1|+|Z_2|)/2} \le E\,e^{a|Z|}`, which is the curve with :math:`m = 2L/s`. QED.

*Approximate minimum.* The solver returns :math:`\tilde\theta` with
:math:`\|\nabla J(\tilde\theta)\| \le \tau`, hence
:math:`\|\tilde\theta - \hat\theta\| \le \tau/\lambda`. Given :math:`\hat\theta` the tilt is known,
:math:`b = -\nabla F_D(\hat\theta)`, and the solver is deterministic:
:math:`e_D(\hat\theta) = \tilde\theta - \hat\theta` is a function of the data whose values for
neighbours differ by at most :math:`2\tau/\lambda`. Releasing :math:`\hat\theta` and then
:math:`e_D + N(0, s_{out}^2 I)` is an adaptive composition; what we publish is their sum. Rounding
to the lattice and the last bits of floating-point tilts and gradients are part of :math:`e_D`, so
no output shows them. `split` gives the tilt 99 % and this noise 1 % of :math:`m^2`: together they
stay on the curve above at :math:`m`, since :math:`\alpha(m_o^2 + \mu_{out}^2)/2 = \alpha m^2/2` and
:math:`\log 2\Phi` rises.

This is the argument of [RKW23]_ with :math:`\log(1+\beta/\lambda)` in place of
:math:`-\log(1-\beta/\lambda)`, for both adjacencies. [KST12]_ have 1.6 to 1.8 times the noise.

References
----------
.. [KST12] Kifer, Smith and Thakurta, COLT 2012: private convex ERM and high-dimensional regression.
.. [RKW23] Redberg, Koskela and Wang, NeurIPS 2023: improving the privacy and practicality of objective perturbation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...core.facts import Vector
from ...rows.shard import Shard
from ...rows.support_rows import restricted
from ..charge import Charge, use
from ..kinds import PerturbedMinimum
from ..losses import Loss
from .minimise import RECORDS, MinimiserSpec, Problem, Public, convex, minimiser
from .teacher import public_side

#: Part of m^2 that pays for the noise on the approximate minimum.
OUTPUT_PART = 0.01


def proven_offset(question: PerturbedMinimum, loss: Loss) -> float:
    r""":math:`c = \log(1 + \beta_0 K^2/\lambda)`: what the perturbed objective costs whatever the noise."""
    return math.log1p(convex(loss).curvature * question.row_norm**2 / question.ridge)


def split(m: float) -> tuple[float, float]:
    r""":math:`m_o = 2L/s` of the tilt and :math:`\mu_{out}` of the noise on the minimum, from what was priced."""
    return m * math.sqrt(1 - OUTPUT_PART), m * math.sqrt(OUTPUT_PART)


def finished_name(ask: str) -> str:
    """What the noise on the minimum is called in receipts."""
    return f"{ask}, its rounding"


def tilted_side(question: PerturbedMinimum, loss: Loss, n_rows: int, scale: float) -> Public:
    r"""What is public about the problem under a tilt of :math:`N(0, s^2 I)` on k coordinates.

    Its norm is beyond :math:`s(\sqrt k + 10)` with a chance below :math:`e^{-50}`, whatever the data.
    """
    return public_side(question, loss, n_rows, scale * (math.sqrt(question.support.size) + 10))


def perturbed_spec(
    question: PerturbedMinimum, loss: Loss, n_rows: int, strength: float
) -> tuple[float, float, MinimiserSpec]:
    r"""Sensitivity and strength of the tilt, and how the minimum gets its noise, for :math:`2\tau/\lambda`."""
    tilted, finished = split(strength)
    sensitivity = RECORDS * question.clip.norm
    public = tilted_side(question, loss, n_rows, sensitivity / tilted)
    public.check()
    tau = public.tolerance()
    return sensitivity, tilted, MinimiserSpec(tau, 2 * tau / public.ridge, question.support.size, finished, 2.0**12)


def perturbed_minimum(charge: Charge, shards: Sequence[Shard], loss: Loss, tilt: Vector, tau: float) -> Vector:
    """The approximate minimum under this tilt, to the public tolerance `tau`. **Private** until it has its noise.

    Uses the charge.
    """
    use(charge)
    question: PerturbedMinimum = charge.query
    rows = [restricted(shards, question.support, question.row_norm, shards[0].facts.n_rows)]
    return minimiser(Problem.of(rows, convex(loss), question.clip, question.ridge, tilt), tau)
