r"""What a fit of an ordinary table asks: every number here is a function of public facts and the budget.

Shares are parts of the whole budget on the zCDP scale, so that a Gaussian answer with share f has
:math:`\mu\sqrt f`. Two numbers decide: the level :math:`N = n\mu` (in units of replace-one
neighbours: 2/kappa times as much for add-remove), which is how many records noise outweighs in one
sum, and :math:`\kappa = N/(2d)`, which is how far a noisy path gets along one of d directions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..core.facts import Facts, Vector
from ..core.plan import Ask, Noise, Plan
from . import column_locations
from .constants import ENGINE, LOW, MIDDLE, TABLES, Constants
from .engine import class_clip, constant_plan, first_share
from .finish import Finish, slope_share

#: Branches of a plan: go on with all columns, or with few.
DENSE, SPARSE = "many coefficients", "few coefficients"


@dataclass(frozen=True, kw_only=True)
class DescentStage:
    """One stretch of the path: its part of the budget and the steps that it is cut into.

    Parameters
    ----------
    number : int
        From 1 on; names its asks.
    share : float
    steps : int
        Gradients; their lengths fall linearly, and each has a budget proportional to its length.
    length : float
        Sum of the step lengths that makes the noise on margins as large as the clip.
    limit : float
        Sum of the step lengths, at most, for the steps to be stable.
    growth : float
        Steps of second order: how much more budget each has than the one before; 0: of first order.
    """

    number: int
    share: float
    steps: int
    length: float
    limit: float
    growth: float = 0.0

    @property
    def clip(self) -> str:
        """Name of the ask for the clip."""
        return f"clip {self.number}"

    @property
    def gradient(self) -> str:
        """Name of the ask for gradients."""
        return f"gradient {self.number}"

    @property
    def hessian(self) -> str:
        """Name of the ask for the Hessian after it."""
        return f"hessian {self.number}"

    @property
    def weights(self) -> tuple[float, ...]:
        """Parts of the whole length that steps take."""
        falling, rising = 1.0 - np.arange(self.steps) / self.steps, self.growth ** np.arange(self.steps)
        ramp = rising if self.growth else falling
        return tuple(float(v) for v in ramp / ramp.sum())


@dataclass(frozen=True, kw_only=True)
class TableSchedule:
    """How the budget of a fit is spent.

    Parameters
    ----------
    n_features : int
    level : float
        N.
    classes, quadratic, events, free, centred : bool
        Whether classes are predicted; slopes are whole residuals; targets are times to an event, for
        which neither second-order steps nor the slope of the target are taken; there is an
        intercept; the means of columns are known or not wanted.
    curvature : float
        Of the loss.
    keep : int or None
        Coefficients that are kept after all phases but the last; None: all.
    rare : bool
        Whether columns are rare indicators: which are kept is decided late, and they need no whitening.
    race : bool
        Whether a sparse model may take over after each phase but the last.
    """

    n_features: int
    level: float
    classes: bool
    quadratic: bool
    events: bool
    free: bool
    centred: bool
    curvature: float
    keep: int | None
    rare: bool = False
    race: bool = False

    @classmethod
    def of(cls, facts: Facts, level: float, race: bool = False, rare: bool = False) -> TableSchedule:
        """The schedule for these facts; of rare columns the means are known from elsewhere."""
        given = facts.sparsity is not None and facts.sparsity < facts.n_features
        found = cls(
            n_features=facts.n_features,
            level=level,
            classes=facts.target.classes,
            quadratic=facts.quadratic,
            events=facts.target.events,
            free=facts.free > 0,
            centred=rare or facts.free == 0 or facts.means is not None,
            curvature=facts.curvature,
            keep=facts.sparsity if given else None,
            rare=rare,
        )
        return replace(found, race=race and not (given or found.newton or found.declared_scale))

    # ----------------------------------------------------------------------------------------------
    # what is asked at all

    @property
    def kappa(self) -> float:
        """How far a noisy path gets along one direction."""
        return self.level / (2 * max(self.n_features, 1))

    @property
    def few_records(self) -> bool:
        """Whether records are so few that only what cannot be spared is asked."""
        return self.level < TABLES.few_records

    @property
    def middle(self) -> Constants:
        """Which quantiles are asked."""
        return LOW if self.few_records else MIDDLE

    @property
    def means(self) -> float:
        """Share of the column means."""
        return 0.0 if self.few_records or self.centred else TABLES.means

    @property
    def whitens(self) -> bool:
        """Whether a Gram matrix of all columns is worth its noise."""
        return not (self.few_records or self.race or self.rare) and self._gram_edge < TABLES.gram_noise

    @property
    def _gram_edge(self) -> float:
        """Noise of the spectrum of a Gram matrix, in its mean eigenvalue."""
        noise: float = 2 * self.n_features**1.5 / (self.level * math.sqrt(TABLES.gram))
        return noise

    @property
    def newton(self) -> bool:
        """Whether noise is so small, beside the number of columns, that steps of second order are taken."""
        clear = self._gram_edge < TABLES.pair.newton_noise[self.classes]
        many = self.kappa >= TABLES.newton_from and not self.few_records
        return self.keep is None and many and clear and not self.events

    @property
    def hessian(self) -> float:
        """Share of the Hessians, of losses whose curvature is not constant."""
        return TABLES.hessian if self.newton and not self.quadratic else 0.0

    @property
    def hessians(self) -> tuple[float, ...]:
        """Shares of the Hessians after the phases but the last."""
        return tuple(self.hessian * part for part in TABLES.several.hessian_parts)

    @property
    def gram(self) -> float:
        """Share of the Gram matrix of all columns."""
        return TABLES.gram if self.whitens else 0.0

    @property
    def last_gram(self) -> float:
        """Share of the Gram matrix of the columns that are kept."""
        return TABLES.last_gram * self.gradients if self.keep is not None and not self.few_records else 0.0

    @property
    def asks_slope(self) -> bool:
        """Whether the slope of the target on the score is asked: where noise may have moved it.

        Of classes it is asked after second-order steps alone: the noise that a path of gradients
        leaves is known, and that of steps from the Hessian of a rare class is not.
        """
        if self.events:
            return False
        if self.few_records:
            return self.kappa < 1 and not self.classes
        return (
            self.newton and self.kappa < TABLES.class_slope_kappa if self.classes else self.kappa < TABLES.newton_from
        )

    @property
    def slope(self) -> float:
        """Share of the slope."""
        return slope_share(self.level) if self.asks_slope else 0.0

    @property
    def finish(self) -> Finish:
        """The slope of the target on the score."""
        return Finish(share=self.slope, spread_share=self.question, level=self.level, classes=self.classes)

    @property
    def mean_residual(self) -> float:
        """Share of the mean residual at the end: clips near the middle of skewed targets move the constant.

        It is asked of squared loss, where its noise is small.
        """
        told = self.quadratic and self.free and self.level * math.sqrt(TABLES.mean_residual) >= TABLES.residual_level
        return TABLES.mean_residual if told else 0.0

    @property
    def class_clip(self) -> float:
        """Clip of gradients of classes: it grows with kappa until it holds no slope back."""
        return class_clip(self.kappa, TABLES.most_class_clip)

    @property
    def parts(self) -> tuple[float, ...]:
        """Parts of the budget for gradients that the phases take."""
        if self.declared_scale:
            return (1.0,)
        if self.newton:
            return TABLES.several.newton_phases
        if self.race:
            return TABLES.several.race_phases
        if self.rare:
            return TABLES.several.rare_phases
        if self.classes:
            return (1.0,) if self.keep is None else TABLES.several.class_phases
        return TABLES.several.lean_phases if self.few_records else TABLES.several.phases

    # ---------------------------------------------------------------------------------------------- queries

    @cached_property
    def _count(self) -> int:
        """Queries whose answer is one number of a grid, or the share of a class."""
        lengths = 1 + self.whitens + column_locations.TURNS * (not self.few_records and not self.centred)
        if self.keep is not None:
            lengths += 1 + (not self.few_records)
        clips = 0 if self.classes else len(self.parts)
        return self.free + lengths + clips + self.asks_slope

    @cached_property
    def _questions(self) -> float:
        """Share of all queries: so much that each is answered well, if that can be afforded."""
        wanted = self._count * (TABLES.least_level / self.level) ** 2
        least, most = TABLES.pair.questions
        return min(most, max(least, wanted))

    @property
    def _clear(self) -> float:
        """The level of one query."""
        return self.level * math.sqrt(self._questions / self._count)

    @property
    def constant(self) -> bool:
        """Whether the median, or the share of a class, is all that can be told."""
        return self._unclear and not self.declared_scale

    @property
    def declared_scale(self) -> bool:
        """Whether rows of classes are measured in their declared bound, as no scale can be told."""
        return self.classes and not self.rare and self.level >= TABLES.least_records and self._unclear

    @property
    def _unclear(self) -> bool:
        """Whether answers about scales would be too noisy."""
        return self.free and self._clear < ENGINE.constant_level

    @property
    def question(self) -> float:
        """Share of one query."""
        if self.declared_scale:
            return first_share(self.level, 1)
        return self._questions / self._count

    @property
    def thin(self) -> bool:
        """Whether only every third point of a grid can be told from its neighbours."""
        return self.level * math.sqrt(self.question) < TABLES.thin_level

    @property
    def gradients(self) -> float:
        """Share of all gradients, and of the Gram matrix of columns that are kept."""
        scalars = self.question if self.declared_scale else self._questions
        return 1.0 - (scalars + self.means + self.gram + self.hessian + self.slope + self.mean_residual)

    def lengths(self, longest: float) -> Vector:
        """The grid for lengths of rows."""
        return grid(longest / TABLES.length_depth, longest, TABLES.whole.grid_points, self.thin)

    # ---------------------------------------------------------------------------------------------- phases

    @property
    def soft(self) -> float:
        """Threshold of the path in standard deviations of its noise: columns without a signal stay out."""
        many = self.n_features >= ENGINE.whole.soft_columns and self.kappa >= TABLES.soft_kappa
        return TABLES.soft if many and not self.gram else 0.0

    @property
    def longest(self) -> float:
        """Largest noise on margins, in clips, that a phase may have."""
        if self.classes:
            return TABLES.class_noise
        return TABLES.soft_noise if self.soft else TABLES.pair.noise_range[1]

    @cached_property
    def phases(self) -> tuple[DescentStage, ...]:
        """All of them, in order."""
        left = self.gradients - self.last_gram
        return tuple(self.phase(i, part * left) for i, part in enumerate(self.parts, 1))

    @property
    def momentum(self) -> float:
        """Momentum of the path."""
        return TABLES.class_momentum if self.classes else TABLES.momentum

    def phase(self, number: int, share: float) -> DescentStage:
        """A phase with enough steps for a stable longest path; of second order, with few."""
        if self.newton:
            last = TABLES.whole.class_newton_steps if self.classes else TABLES.whole.newton_steps
            steps, growth = last if number == len(self.parts) else TABLES.whole.first_newton_steps, TABLES.newton_growth
            return DescentStage(number=number, share=share, steps=steps, length=0.0, limit=0.0, growth=growth)
        length = self.level * math.sqrt(share) / (2 * self.class_clip if self.classes else 2)
        fewest = TABLES.whole.class_steps if self.classes else TABLES.whole.steps
        fewest = fewest if number == len(self.parts) else fewest // 2
        stable = ENGINE.stable * (3 if self.classes else 1)
        steps = max(fewest, min(TABLES.whole.most_steps, math.ceil(self.longest * length * self.curvature / stable)))
        return DescentStage(
            number=number, share=share, steps=steps, length=length, limit=2 * stable * steps / self.curvature
        )

    def clip_factor(self, n_features: int) -> float:
        """What a quantile of gradients is multiplied with to be a clip: more where noise is small."""
        growth: float = (self.level / (2 * max(n_features, 1)) / TABLES.clip_from) ** TABLES.clip_growth
        return self.middle.clip_factor * min(TABLES.most_clip_growth, max(1.0, growth))

    # ---------------------------------------------------------------------------------------------- plan

    def plan(self, *, gaussian: Noise, gumbel: Noise, others: Sequence[Plan] = ()) -> Plan:
        """Everything that is asked, in order.

        `others` are the plans that may take over after each phase but the last.
        """
        if self.constant:
            return constant_plan(gaussian, gumbel, classes=self.classes)
        stages = self._stages(gaussian, gumbel)
        if not others:
            return _ordered([ask for stage in stages for ask in stage])
        found = _ordered(stages[-1])
        for stage, other in zip(reversed(stages[:-1]), reversed(others), strict=True):
            branches = ((DENSE, found), (SPARSE, other.with_share(found.share)))
            found = replace(_ordered(stage), branches=branches)
        return found

    def _stages(self, gaussian: Noise, gumbel: Noise) -> list[list[Ask]]:
        """The asks up to the end of each phase, and in the last stage those after it."""
        asks: list[Ask] = []
        stages: list[list[Ask]] = []

        def choice(name: str) -> None:
            asks.append(Ask(name=name, question="Quantile", noise=gumbel, share=self.question))

        def total(
            name: str, question: str, share: float, turns: int = 1, schedule: tuple[float, ...] | None = None
        ) -> None:
            asks.append(Ask(name=name, question=question, noise=gaussian, share=share, times=turns, schedule=schedule))

        def whiten(name: str, share: float) -> None:
            if share:
                choice(f"length for {name}")
                total(name, "Gram", share)

        if self.free and self.classes:
            total("start", "ResidualMean", self.question)
        elif self.free:
            choice("start")
        if self.means:
            asks += column_locations.asks(self.means, self.question, gaussian, gumbel)
        whiten("gram", self.gram)
        if not self.declared_scale:
            choice("length")
        for phase in self.phases:
            last = phase is self.phases[-1]
            if self.keep is not None and last and not self.declared_scale:
                whiten("last gram", self.last_gram)
                choice("last length")
            if not self.classes:
                choice(phase.clip)
            total(phase.gradient, "ProjectedGradient", phase.share, phase.steps, phase.weights)
            if not last and self.hessian:
                total(phase.hessian, "Hessian", self.hessians[phase.number - 1])
            if not last:
                stages.append(asks)
                asks = []
        if self.slope:
            asks += self.finish.plan(gaussian, gumbel)
        if self.mean_residual:
            total("mean residual", "ResidualMean", self.mean_residual)
        return [*stages, asks]


def _ordered(asks: Sequence[Ask]) -> Plan:
    """A plan of asks in their order."""
    return Plan(asks=tuple(asks), order=tuple(ask.name for ask in asks for _ in range(ask.times)))


def grid(low: float, high: float, points: int, thin: bool) -> Vector:
    """Points in equal ratio, the last of which is `high`; of a thin grid every third."""
    found = np.geomspace(low, high, points)
    return found[::-1][::3][::-1] if thin else found
