"""Label-LDP-IHT: iterative hard thresholding on labels that people randomise themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ..algorithms import IHT
from ..algorithms.label import OnLabels
from ..algorithms.proximal import AcceleratedProximal
from ..algorithms.steps import FixedSteps, SecantSteps
from ..core.budget import Budget
from ..core.facts import Clip, Facts, Penalty
from ..core.plan import Noise
from .base import PrivateRecipe, check_positive, check_whole
from .defaults.reports import LABELS, check_mechanism, label_deviation, label_threshold
from .defaults.theory import prescribed


@dataclass(frozen=True, kw_only=True)
class LabelLDPIHT(PrivateRecipe):
    r"""Hard thresholding on randomised labels (Label-LDP-IHT [WX19]_): non-interactive.

    **features are treated as public**.

    .. math:: \tilde y_i = R_\epsilon(y_i), \qquad
              w_{t+1} = \Pi\,H_s\Bigl(w_t + \tfrac\eta n X^\top(\tilde y - f(Xw_t))\Bigr)

    Everybody randomises their own label once; the rest is ordinary computation. f is the identity
    for squared loss and the mean of the loss for logistic, Poisson and known links. Error grows
    with :math:`\log p` only.

    Parameters
    ----------
    steps : int or None
        T; steps cost no privacy here. None: 100.
    step_size : float or None
        :math:`\eta`. None: 1 over the curvature that successive gradients show, and coefficients and intercept are at
        last shrunk by what the known noise of the labels gives by chance (`algorithms.label.without_chance`). [WX19]_
        has 0.2 and 0.1, and does not shrink.
    sparsity : int or None
        s. None: the estimator's, or :math:`n (B/\sigma)^2/(2\ln p)` with B the typical label and
        :math:`\sigma` the deviation of a randomised one, at least 1: features that labels can tell
        from noise. Of these as many are kept as a lasso on the same randomised labels finds with
        the penalty :math:`\sigma (K_2/\sqrt p)\sqrt{2\ln p/n}`, which pure noise seldom passes.
    radius : float or None
        Project onto the l2 ball of this radius. None: no projection for squared loss, and
        :math:`4\sqrt p/K_2` for other losses, which lets margins of dense rows be 4 on average:
        their estimate may run away on few randomised labels; [WX19]_ has 1.
    mechanism : {"auto", "two-point", "piecewise", "gaussian"}
        Randomiser of numbers; ``auto``: the one of the smaller worst variance. Classes always get
        randomised response, unless ``gaussian``, which is for (epsilon, delta) and never better.

    Guarantee
    ---------
    Each label is epsilon-LDP (``gaussian``: :math:`(\epsilon,\delta)`) for any two labels within
    the bounds, to which labels are clipped on the device. Features get **no protection**. With
    several classes every model distinguishes one class from the rest, and a change of class moves two
    labels: each is randomised at epsilon/2.

    Deviations
    ----------
    Algorithm 2 of [WX19]_ takes 4C for the sensitivity of a label, C being the bound on the *noise*
    in it; labels differ by up to :math:`2(\|\theta\|_1 + C)`, so a claimed epsilon of 1 is 62 under
    the paper's model and 130 in its experiment. Its update has the wrong sign: it runs to
    :math:`-\theta^*`. Here labels are clipped to a declared bound and randomised by a pure
    mechanism, which beats Gaussian noise at every epsilon (variance 4.7 instead of 71 at epsilon =
    1, delta = 1e-6). Losses must have a slope that is linear in the target: squared, logistic,
    Poisson, known links; not Huber.

    References
    ----------
    .. [WX19] Wang and Xu, ICML 2019, Algorithm 2, Theorems 5 and 6.
    """

    name: ClassVar[str] = "label_ldp_iht"
    local: ClassVar[bool] = True
    penalties: ClassVar[tuple[str, ...]] = ("l2",)

    steps: int | None = None
    step_size: float | None = None
    sparsity: int | None = None
    radius: float | None = None
    mechanism: str = "auto"

    def __post_init__(self) -> None:
        check_whole(self.steps, "steps")
        check_whole(self.sparsity, "sparsity")
        check_positive(self.step_size, "step_size")
        check_positive(self.radius, "radius")
        check_mechanism(self.mechanism, LABELS)

    @classmethod
    def from_theory(
        cls,
        *,
        n_rows: int,
        n_features: int,
        epsilon: float,
        true_sparsity: int,
        noise_bound: float,
        step_size: float = 0.2,
        radius: float = 1.0,
        steps_constant: float = 1.0,
    ) -> LabelLDPIHT:
        r"""The choices of Theorem 5 of [WX19]_ for features of size 1.

        :math:`s = 8s^*`, :math:`T = C'\ln(\sqrt n\,\epsilon/(C\sqrt{s^*\ln p}))` rounded up,
        projection onto the ball of `radius`, and the step of the paper's experiments. `noise_bound`
        is C, the bound on the noise in a label.
        """
        ratio = math.sqrt(n_rows) * epsilon / (noise_bound * math.sqrt(true_sparsity * math.log(max(n_features, 2))))
        return cls(
            steps=prescribed(steps_constant * math.log(ratio), "T"),
            step_size=step_size,
            sparsity=prescribed(8 * true_sparsity, "s", most=n_features),
            radius=radius,
        )

    def solver(self, facts: Facts, budget: Budget) -> OnLabels:
        """One ask, and the loop of IGHT on what it gives."""
        noise, randomiser = LABELS[self.mechanism]
        asked = self.sparsity or facts.sparsity
        s = min(asked or clear_features(facts, budget, self.mechanism), facts.cap)
        safe = 1.0 / (facts.curvature * facts.norm_bound**2 + facts.penalty.l2)
        loop = IHT(
            sparsity=s,
            step_sizes=(self.step_size or safe,) * (self.steps or 100),
            clip=Clip(1.0),
            step_rule=SecantSteps() if self.step_size is None else FixedSteps(),
            intercept_cap=False,
            ridge=facts.penalty.l2,
            radius=self.radius or largest_norm(facts),
            noise=Noise.NONE,
        )
        scout = None
        if asked is None:
            penalty = Penalty(kind="l1", alpha=label_threshold(facts, budget, self.mechanism))
            scout = AcceleratedProximal(steps=self.steps or 100, sparsity=facts.cap, penalty=penalty)
        # with a given step the loop is the paper's
        variance = 0.0 if self.step_size else label_deviation(facts, budget, self.mechanism) ** 2
        return OnLabels(loop=loop, noise=noise, randomiser=randomiser, scout=scout, noise_variance=variance)


def clear_features(facts: Facts, budget: Budget, mechanism: str) -> int:
    """Features that randomised labels can tell from noise."""
    ratio = facts.target.spread / label_deviation(facts, budget, mechanism)
    return max(1, min(int(facts.n_rows * ratio**2 / (2 * math.log(max(facts.n_features, 2)))), facts.n_features))


def largest_norm(facts: Facts) -> float | None:
    """A ball for losses whose minimum may run away on few randomised labels."""
    return None if facts.quadratic else 4 * math.sqrt(facts.dimension) / facts.norm_bound
