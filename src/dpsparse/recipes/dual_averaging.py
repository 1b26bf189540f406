"""Dual averaging with private column weights: the recipe for text, and for few dense features."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ..algorithms.column_weights import Weighting
from ..algorithms.constants import AVERAGING, ENGINE, constants
from ..algorithms.dual_averaging import Averaging
from ..algorithms.dual_averaging import DualAveraging as Loop
from ..algorithms.engine import first_share, scales
from ..algorithms.finish import Finish, slope_share
from ..core.adjacency import Adjacency
from ..core.budget import Budget
from ..core.facts import Facts
from .base import PrivateRecipe
from .defaults.averaging import averaging, check_loop, intercept_weight, low_intercept, typical_slope
from .defaults.views import centre


@dataclass(frozen=True, kw_only=True)
class DualAveraging(PrivateRecipe):
    r"""Calibrated dual averaging on privately weighted columns: whole noisy gradients, made for sparse rows.

    .. math:: Z_{t+1} = Z_t - \eta_t\,v_t, \quad v_t = \beta v_{t-1} + (1-\beta)\tilde g_t, \quad
              w_{t+1} = a\circ\mathrm{soft}\bigl(Z_{t+1}, \lambda\,\mathrm{sd}(Z_{t+1})\bigr)

    Three parts. (1) Mean absolute entries of the columns, noisy, give weights
    :math:`a_j \propto m_j^{-P}`, scaled so that rows are about as long as 1 (1.25 for classes).
    Frequent columns no longer use up the clip, and the coefficients are still those of a linear
    model in x. Dense rows have P = 1/2 and one noisy mean length. For documents (sparse rows that
    are long in few of many columns, by their bounds) P starts at 0.45 and follows the answers that
    the path was given (`dpsparse.algorithms.signal_test`): where signal grows with frequency,
    frequent columns are damped less. That takes the energies of at most 16 buckets of columns in
    place of the mean length, and no other query. Where a noisy count finds the rarer of two
    classes below 15 %, weights start at three times the mean, since columns that are frequent in a
    rare class are what finds it, and the path of documents is longer by 1.35. (2) The loop: steps
    fall linearly, every turn's budget is proportional to its step, so the noise in Z depends on the
    length of the path and not on the number of steps; the length is such that this noise moves the
    margin of a row of length 1 by `margin_noise`. (3) With `sparsity` below a quarter of the
    features the largest entries of Z, over their noise, are the support, and a fifth of the budget
    runs the loop once more on it, from where it stands: rows are shorter there, so weights are
    larger and noise is less.

    (4) For numbers, and for two classes with :math:`n\mu \ge 400` (sparse rows: up to 20,000
    columns), 3 to 10 % are spent on the slope of the target on the score, in two private
    dimensions, and .5 to 10 % on the size of the score and its mean. The score and the intercept
    are moved as far as the slope stands clear of its noise: so probabilities are calibrated, and a
    score of noise is drawn back. (5) Where the first answer about a scale would be too noisy
    (`dpsparse.algorithms.engine.constant_only`, :math:`n\mu` below 57 for classes and 66 for
    numbers) only the constant is released: class shares, or a median. A start vector, a loss with
    a link and a model without an intercept keep the loop.

    **More than two classes** are one multinomial model: Z is a matrix with a column for each class,
    one release is one gradient of the softmax loss, clipped by its Frobenius norm. Nothing is split
    among classes. `sparsity` counts features: rows of the matrix are ranked by their norm over the
    classes. The weights of documents have P = 1/4 there, fixed.

    Parameters
    ----------
    steps : int or None
        Steps T of each run. None: 100; more, up to 400, for paths that are so long that 100 steps
        could be unstable, :math:`T = \tau\beta_0/19` for a curvature :math:`\beta_0` of the loss.
        For two classes of documents a third of that: 34, up to 134, and :math:`\tau\beta_0/57`. For
        many classes 60 (sparse rows: 24) and :math:`\tau\beta_0/76` (:math:`\tau\beta_0/152`).
        Steps cost time and no privacy.
    clip : float or None
        l2 clip C of one row's gradient in weighted columns. None: for classes 0.42, and 0.35 where
        a refit follows (0.5 without weights and in the refit), for many classes 0.6 (0.9 in the
        refit); for regression a third of `target_bound`.
    momentum : float or None
        :math:`\beta`. None: 0.9; 0.7 for two classes of documents and 0.8 for many, whose steps are
        few.
    margin_noise : float or None
        :math:`\nu`: the path's length is :math:`\tau = \nu n\sqrt{2\rho}/(\kappa C)` (times C for
        squared loss, whose margins are measured in it). None: 1.1 for two classes, 1.2 for many (1
        for sparse rows), 0.9 for regression, 0.8 where a refit follows and in it.
    threshold : float or None
        :math:`\lambda`, in standard deviations. None: 0.7 from 300 features on, else 0; 0 in the
        refit, and for many classes of dense rows.
    weights : {"private", "none"}
        Whether columns are weighted; ``none`` gives all the inverse of the declared row norm.
        Sparse columns are not weighted either where twice the noise of their means would be above a
        twenty-fifth of the bound on a row: a public rule.
    refit : float
        Part of the budget of the loops for the second one; 0: none, and the largest coefficients
        are kept.

    Guarantee
    ---------
    Gaussian releases only, composed exactly (a median, where it is released alone, is one
    selection): the means have l2 sensitivity :math:`\sqrt2 K_2` (:math:`K_2` for add-remove; never
    more than the diagonal of the box), a mean length of rows held at `top` has `top`, energies of
    buckets :math:`\sqrt2 K_2^2`, the balance of classes :math:`\kappa/2`, and every weighted
    gradient :math:`\kappa C`, of one margin or of many; moments and slopes of the score have those
    of `queries.framed`.
    Weights, lengths and supports are built from released answers. Holds for any data.

    Deviations
    ----------
    No paper: regularised dual averaging [X10]_ with momentum, noise calibrated by path length, and
    private column weights are put together here. All constants were fixed on public text and
    tabular data, one rule for every budget.

    References
    ----------
    .. [X10] Xiao, Journal of Machine Learning Research 2010, Algorithm 1.
    """

    name: ClassVar[str] = "dual_averaging"
    penalties: ClassVar[tuple[str, ...]] = ("l2", "l1", "elasticnet", "box")
    zero_is_absence: ClassVar[bool] = True
    joint: ClassVar[bool] = True

    steps: int | None = None
    clip: float | None = None
    momentum: float | None = None
    margin_noise: float | None = None
    threshold: float | None = None
    weights: str = "private"
    refit: float = AVERAGING.refit

    def __post_init__(self) -> None:
        check_loop(self.steps, self.clip, self.momentum, self.margin_noise)
        if self.threshold is not None and not (np.isfinite(self.threshold) and self.threshold >= 0):
            raise ValueError(f"threshold must be a non-negative number or None, got {self.threshold!r}.")
        if self.weights not in ("private", "none"):
            raise ValueError(f"weights must be 'private' or 'none', got {self.weights!r}.")
        if not 0 <= self.refit < 1:
            raise ValueError(f"refit must lie in [0, 1), got {self.refit!r}.")

    def view(self, facts: Facts) -> Facts:
        """A low intercept column, and columns measured from their midpoints unless zero is an end of their bounds.

        Zero as a bound mostly means absence (counts, pixels, indicators): rows are shorter as they are, and means tell
        frequent columns from rare ones.
        """
        shown = centre(facts, facts.intercept > 0)
        if not np.array_equal(shown.shift, facts.shift):
            ends = (np.asarray(facts.lower) == 0) | (np.asarray(facts.upper) == 0)
            shown = shown.with_(shift=np.where(ends, 0.0, shown.shift))
        return low_intercept(shown)

    def solver(self, facts: Facts, budget: Budget) -> Loop:
        """The loop for these facts and this budget; the class docstring says what None in a parameter means."""
        rule = AveragingRule.of(facts)
        d = facts.n_features
        few = facts.sparsity is not None and facts.sparsity < d / 4
        columns = weighting(facts, budget, rule) if self.weights == "private" else None
        if columns is not None and columns.followed and columns.floor > AVERAGING.drowned * facts.row_bound:
            columns = None
        level = facts.n_rows * budget.as_mu() * 2 / budget.kappa
        finish = self._finish(facts, level)
        left = 1.0 - (0.0 if columns is None else columns.share + columns.size_share + columns.balance_share)
        left -= 0.0 if finish is None else finish.share + finish.spread_share
        second = self.refit * left - AVERAGING.size_share if few else 0.0
        two = second > 0
        weighted = columns is not None
        clip = self.clip or typical_slope(facts, rule.clip(weighted=weighted, again=two))
        noise = self.margin_noise or (AVERAGING.refit_noise if two else rule.margin_noise)
        soft = rule.threshold if d >= ENGINE.whole.soft_columns else 0.0
        threshold = soft if self.threshold is None else self.threshold
        tail = math.sqrt(1 - AVERAGING.intercept * facts.free)

        def loop(share: float, clip: float) -> Averaging:
            return averaging(
                facts,
                budget,
                share,
                clip,
                noise,
                steps=self.steps,
                momentum=rule.momentum if self.momentum is None else self.momentum,
                least_steps=rule.least_steps,
                most_steps=rule.most_steps,
                spread=rule.spread,
            )

        return Loop(
            loop=replace(loop(left - AVERAGING.size_share - second if two else left, clip), threshold=threshold),
            column_weight=tail if weighted else tail / facts.row_bound,
            intercept_weight=intercept_weight(facts),
            weighting=columns,
            sparsity=facts.sparsity,
            refit=loop(second, self.clip or typical_slope(facts, rule.refit_clip)) if two else None,
            refit_size_share=AVERAGING.size_share,
            refit_least=least_size(facts, budget, AVERAGING.refit_least),
            refit_fill=rule.fill,
            finish=finish,
            level=level if facts.start is None and facts.target.direct else None,
        )

    def _finish(self, facts: Facts, level: float) -> Finish | None:
        """The slope of the target on the score: of numbers, and of two classes where its level is enough."""
        target = facts.target
        wide = facts.sparse and facts.n_features > AVERAGING.whole.finish_columns
        if wide or target.joint or not (target.residual or (target.classes and level >= AVERAGING.finish_from)):
            return None
        spread = first_share(level, scales(classes=target.classes, intercept=facts.free > 0), AVERAGING.size_share)
        return Finish(share=slope_share(level), spread_share=spread, level=level, classes=target.classes, centred=False)


@dataclass(frozen=True, kw_only=True)
class AveragingRule:
    """What depends on the kind of target and of rows, by the names and meanings of `constants/dual_averaging.toml`."""

    first_clip: float
    short_clip: float
    plain_clip: float
    refit_clip: float
    margin_noise: float
    threshold: float
    fill: float
    means: float
    power: float
    followed: bool
    momentum: float
    least_steps: int
    most_steps: int
    spread: float
    every: int

    @classmethod
    def of(cls, facts: Facts) -> AveragingRule:
        """For these facts."""
        target = "many_class" if facts.target.joint else "class" if facts.target.classes else "number"
        ending = "_documents" if facts.documents else "s" if target == "number" else "es"
        return cls(**constants("dual_averaging", target + ending).values)

    def clip(self, *, weighted: bool, again: bool) -> float:
        """Part of the largest slope at which the first loop clips."""
        return (self.short_clip if again else self.first_clip) if weighted else self.plain_clip


def weighting(facts: Facts, budget: Budget, rule: AveragingRule) -> Weighting:
    """Means count from twice the standard deviation of their noise on.

    Two classes are counted if there is an intercept.
    """
    pair = math.sqrt(2) if budget.relation is Adjacency.REPLACE_ONE else 1.0
    reach = min(pair * facts.norm_bound, float(np.linalg.norm(facts.half_widths)))
    noise = reach / (facts.n_rows * budget.as_mu() * math.sqrt(rule.means))
    return Weighting(
        floor=2 * noise,
        share=rule.means,
        size_share=AVERAGING.size_share,
        row_norm=facts.row_bound,
        least=least_size(facts, budget, AVERAGING.least_size),
        fill=rule.fill,
        power=rule.power,
        followed=rule.followed,
        every=rule.every,
        balance_share=AVERAGING.size_share if facts.target.classes and facts.free and not facts.target.joint else 0.0,
    )


def least_size(facts: Facts, budget: Budget, least: float) -> float:
    """Smallest part of its bound that a mean length counts as: `least`, or twice its noise where that is more."""
    return min(1.0, max(least, 2 / (facts.n_rows * budget.as_mu() * math.sqrt(AVERAGING.size_share))))
