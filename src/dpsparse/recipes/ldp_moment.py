"""The non-interactive moment estimator of the local model, for a known design."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..algorithms import IHT
from ..core.budget import Budget
from ..core.facts import Clip, Facts
from .base import PrivateRecipe, check_positive, check_whole
from .defaults.reports import VECTORS, check_mechanism, vectors
from .ldp_iht import LDPIHT


@dataclass(frozen=True, kw_only=True)
class LDPMoment(PrivateRecipe):
    r"""One randomised moment from everybody [WX19]_: non-interactive, for features uniform on :math:`\{-b, b\}^p`.

    .. math:: w = \Pi\,H_s\Bigl(\tfrac1{n b^2}\textstyle\sum_i R_\epsilon\bigl(\mathrm{clip}_r\,(x_i y_i)\bigr)\Bigr)

    For such features :math:`E\,xy = b^2\theta`, so the mean of the reports estimates :math:`\theta`
    without a further look at the data. For classes the moment of :math:`y - \frac12` is taken,
    times 4: one Newton step of logistic loss from zero.

    Parameters
    ----------
    clip : float or None
        r. None: :math:`K_2` times half the target bound, or 1/2 for classes, which cuts nothing
        there.
    sparsity : int or None
        s. None: as in ``ldp_iht``.
    radius : float or None
        Project onto the l2 ball of this radius. None: no projection; [WX19]_ has 1.
    mechanism : {"privunit", "duchi", "gaussian"}
        As in ``ldp_iht``.

    Guarantee
    ---------
    Each report is epsilon-LDP for the whole record, for any data: the guarantee does not depend on the
    design. That the *estimate* means something does, which is why ``accept=("known-design",)`` is
    asked for.

    Deviations
    ----------
    Theorem 1 of [WX19]_ states (epsilon, delta) with Gaussian noise; PrivUnit gives pure epsilon
    with less error.

    References
    ----------
    .. [WX19] Wang and Xu, ICML 2019, Theorem 1.
    """

    name: ClassVar[str] = "ldp_moment"
    local: ClassVar[bool] = True
    penalties: ClassVar[tuple[str, ...]] = ()
    needs: ClassVar[tuple[str, ...]] = ("known-design",)

    clip: float | None = None
    sparsity: int | None = None
    radius: float | None = None
    mechanism: str = "privunit"

    def __post_init__(self) -> None:
        check_whole(self.sparsity, "sparsity")
        check_positive(self.clip, "clip")
        check_positive(self.radius, "radius")
        check_mechanism(self.mechanism, VECTORS)

    def view(self, facts: Facts) -> Facts:
        """Columns as they are, which a known design has centred; the intercept column as high as a feature."""
        return facts.with_(intercept=facts.feature_bound) if facts.intercept > 0 else facts

    def solver(self, facts: Facts, budget: Budget) -> IHT:
        """One step from zero, as long as the known second moment says."""
        if not (facts.target.classes or facts.quadratic):
            raise ValueError(f"ldp_moment is for squared and logistic loss, got {facts.loss!r}. Use recipe='ldp_iht'.")
        if facts.start is not None:
            raise ValueError("ldp_moment takes one step from zero and no start vector. Use recipe='ldp_iht'.")
        clip = self.clip or facts.norm_bound * (0.5 if facts.target.classes else facts.target_bound / 2)
        noise, rows = vectors(self.mechanism, seed=0)
        rule = LDPIHT(mechanism=self.mechanism)
        step = 1 / (facts.curvature * facts.feature_bound**2)
        return IHT(
            sparsity=min(self.sparsity or facts.sparsity or rule.clear_features(facts, budget, clip, 1), facts.cap),
            step_sizes=(step,),
            clip=Clip(clip),
            radius=self.radius,
            rows=rows,
            noise=noise,
        )

    def assumptions(self, facts: Facts) -> tuple[str, ...]:
        """What makes the estimate one; the guarantee holds without it."""
        return (
            f"the features are independent and uniform on -{facts.feature_bound:g}, "
            f"{facts.feature_bound:g} (known-design): "
            "otherwise the estimate is off, and as private",
        )
