r"""How select + polish spends its budget: every number here is a function of public facts and the budget.

All shares are parts of the whole, on the zCDP scale. With :math:`\rho' = \rho(1 - f_G - f_i - f_m)`
after what the Gram matrices, the intercept and the column means take, a part :math:`f_q` of
:math:`\rho'` buys scalars (clips, curvatures), and of the rest a part :math:`f_s` buys selections
and the other gradients.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..core.facts import Facts, Vector
from ..core.plan import Ask, Noise, Plan
from ..core.printable import count_of
from ..ops import groups_of
from .constants import POLISH, constants
from .engine import first_share, scales
from .finish import Finish, slope_share


@dataclass(frozen=True, kw_only=True)
class Rule:
    """The constants that depend on the target, by the names and meanings of `constants/select_polish.toml`."""

    rounds: int
    reach: float
    selection: float
    residual_quantile: float
    scalars: float
    gram: float
    intercept: float
    means: float
    start: float
    entry_part: float
    shrinkage: float
    spare: float
    steps: int | None = None
    growth: float | None = None

    @classmethod
    def of(cls, facts: Facts) -> Rule:
        """The rule for these facts."""
        classes = "classes" if facts.n_rows >= POLISH.whole.few_records else "few_class_records"
        return cls(**constants("select_polish", classes if facts.target.classes else "numbers").values)


def entry_edges(facts: Facts) -> Vector:
    """Edges of the bins for the size of a typical entry."""
    return np.geomspace(facts.feature_bound / POLISH.entry_depth, facts.feature_bound, POLISH.whole.entry_bins + 1)


@dataclass(frozen=True, kw_only=True)
class BudgetShares:
    """Which parts of the whole budget the pieces take.

    Parameters
    ----------
    rule : Rule
    intercept : bool
    means_known : bool
        Whether the column means are public, or told before.
    told : bool
        Whether they were released before. Selections then contrast values of a column, and an error of
        the intercept is seen by every column that lies far from the middle of its values.
    """

    rule: Rule
    intercept: bool
    means_known: bool
    told: bool = False

    @property
    def fi(self) -> float:
        """The intercept's steps."""
        return self.rule.intercept if self.intercept else 0.0

    @property
    def fm(self) -> float:
        """Column means."""
        return self.rule.means if self.intercept and not self.means_known else 0.0

    @property
    def fs(self) -> float:
        """The class share, beyond that of a scalar."""
        return self.rule.start if self.intercept and self.told else 0.0

    @property
    def rest(self) -> float:
        """What is left for scalars, selections and gradients."""
        return 1.0 - self.rule.gram - self.fi - self.fm - self.fs


@dataclass(frozen=True, kw_only=True)
class PolishSchedule:
    """What is asked once the size of a typical entry is known.

    Parameters
    ----------
    shares : BudgetShares
    coordinates : int
        k: how many are selected; where columns have groups, the number of groups.
    rounds : int
    classes : bool
        Whether the loss is that of classes.
    load : float
        x: coordinates per row and unit of budget for gradients; above 1 noise rules, far below 1
        sampling does.
    level : float
        N: rows times the Gaussian budget.
    spare : int
        Coordinates that are selected after the others; then as many of all are dropped, those of
        the smallest coefficients.
    width : float
        Columns of a coordinate, on average: 1, or those of a group.
    """

    shares: BudgetShares
    coordinates: int
    rounds: int
    classes: bool
    load: float
    level: float
    spare: int = 0
    width: float = 1.0

    @classmethod
    def of(cls, shares: BudgetShares, facts: Facts, rho: float, sparsity: int, entry: float) -> PolishSchedule:
        r"""The schedule when selections clip entries at `entry`.

        .. math:: k = \Bigl\lceil\Bigl(\frac{c\,n K_2}{\sqrt{ds}\,K_e}\,
                  \frac{\sqrt{2 f_s\rho'}}{2\ln d}\Bigr)^2\Bigr\rceil
                  \text{ within } 1..s, \qquad K_e = \min(K_\infty, 2\,\text{entry}/f_c)

        Where columns have groups, k, s and the d of the logarithm count groups.
        """
        rule, n, d = shares.rule, facts.n_rows, facts.candidates
        sparsity, width = groups_of(sparsity, facts.groups), facts.n_features / d
        budget = rho * shares.rest
        size = typical_entry(rule, facts, entry)
        signal = rule.reach * n * facts.row_bound / (math.sqrt(facts.n_features * sparsity) * size)
        wanted = math.ceil(min((signal * math.sqrt(2 * rule.selection * budget) / (2 * log_features(d))) ** 2, 1e9))
        k = rung(max(1, min(sparsity, wanted)), sparsity)
        classes = facts.target.classes
        rounds = rule.rounds
        if classes and n < POLISH.whole.few_records and wanted < 2 * sparsity:
            rounds = 1
        load = k * width / (n * budget * (1 - rule.selection) * (1 - rule.scalars))
        plenty = load <= POLISH.spare_load and n >= POLISH.spare_rows * k * width * log_features(d)
        spare = min(math.ceil(rule.spare * k), d - k) if plenty else 0
        rounds, level = min(rounds, k), n * math.sqrt(2 * rho)
        return cls(
            shares=shares,
            coordinates=k,
            rounds=rounds,
            classes=classes,
            load=load,
            level=level,
            spare=spare,
            width=width,
        )

    @property
    def name(self) -> str:
        """By which the branch is chosen."""
        what = "coordinate" if self.width == 1 else "group"
        return f"{count_of(self.coordinates, what)} in {count_of(self.rounds, 'round')}"

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Coordinates selected in each round, larger first, and the spare ones last."""
        whole, more = divmod(self.coordinates, self.rounds)
        return tuple(whole + (r < more) for r in range(self.rounds)) + (self.spare,) * (self.spare > 0)

    @cached_property
    def supports(self) -> tuple[int, ...]:
        """Columns in use, about, while each series of steps is taken."""
        used = (*np.cumsum(self.sizes), *(self.coordinates,) * (self.spare > 0))
        return tuple(math.ceil(self.width * v) for v in used)

    @property
    def steps(self) -> tuple[int, ...]:
        """Gradient steps of each round; those after the spare coordinates were dropped come last."""
        last = self.shares.rule.steps or int(self._funded(POLISH.pair.last_steps))
        return (1,) * (self.rounds - 1) + ((1, POLISH.whole.spare_steps) if self.spare else ()) + (last,)

    def _funded(self, pair: tuple[float, ...]) -> float:
        """The first number where gradients are well funded, else the second."""
        return pair[self.load > POLISH.funded_load]

    @property
    def quantile(self) -> float:
        """Gradients are clipped at this quantile of their norms."""
        least, more = POLISH.pair.clip_quantile
        funded = max(0.0, 1 - math.sqrt(POLISH.clip_load * self.load))
        return POLISH.class_clip_quantile if self.classes else least + more * funded

    @property
    def each(self) -> float:
        """Share of one scalar."""
        asked = (
            1 + len(self.sizes) - self.classes + 2 * sum(self.steps) + len(self.supports) + 2 * self.shares.intercept
        )
        return (1 - POLISH.entry_share) * self.shares.rule.scalars * self.shares.rest / asked

    @property
    def first(self) -> float:
        """Share of the first answer about each scale."""
        return first_share(self.level, scales(classes=self.classes, intercept=self.shares.intercept), self.each)

    @property
    def finish(self) -> Finish:
        """The slope of the target on the score."""
        return Finish(share=slope_share(self.level), spread_share=self.first, level=self.level, classes=self.classes)

    @property
    def _scalars(self) -> dict[str, tuple[float, ...]]:
        """The shares of all turns of each scalar query: first answers about a scale have more."""
        steps, clips, each = sum(self.steps), len(self.sizes) - self.classes, self.each
        residual = each if self.classes else self.first
        return {
            "clip": (each,) * steps,
            "curvature": (each,) * steps,
            "residual": (residual,) * min(clips, 1) + (each,) * (clips - 1),
            "norms": (self.first,) + (each,) * (len(self.supports) - 1),
            "start": (max(2 * each, self.first) + self.shares.fs,) * self.shares.intercept,
        }

    def plan(self, *, gaussian: Noise, gumbel: Noise) -> Plan:
        """Everything that is asked, in order."""
        rule, rest, free = self.shares.rule, self.shares.rest, self.shares.intercept
        scalars, finish = self._scalars, self.finish
        grams = [m for m in self.supports if m >= POLISH.whole.least_gram]
        count, clips = sum(self.steps), len(self.sizes) - self.classes
        asked = math.fsum(map(math.fsum, scalars.values())) - self.shares.fs + finish.share + finish.spread_share
        spent = (1 - POLISH.entry_share * rule.scalars) * rest - asked
        growth = rule.growth or self._funded(POLISH.pair.last_growth)
        least, most = POLISH.pair.selection_growth
        rise = 1.0 if self.classes else min(most, max(least, POLISH.selection_load / self.load))
        weights = rise ** (np.arange(len(self.sizes)) / max(1, len(self.sizes) - 1)) * np.array(self.sizes)
        weights *= rule.selection * spent / weights.sum()
        ramp = growth ** (np.arange(count) / max(1, count - 1))
        gradients = (1 - rule.selection) * spent + (0.0 if grams else rule.gram)
        kinds = {"curvature": ("Curvature", gaussian)}
        if self.classes:
            kinds["start"] = ("ResidualMean", gaussian)
        sums: list[tuple[str, str, Noise, int, float, Sequence[float] | Vector | None]] = [
            ("gradient", "CentredGradient", gaussian, count, gradients, ramp),
            ("gram", "Gram", gaussian, len(grams), rule.gram, np.array(grams, dtype=float) ** 3),
            ("intercept", "ResidualMean", gaussian, free * (clips + 1), self.shares.fi, None),
            ("means", "ColumnMeans", gaussian, len(self.sizes) * (self.shares.fm > 0), self.shares.fm, self.sizes),
        ]
        for name, parts in scalars.items():
            kind, noise = kinds.get(name, ("Quantile", gumbel))
            sums.append((name, kind, noise, len(parts), math.fsum(parts), parts))
        asks = [
            Ask(name=n, question=q, noise=noise, times=int(times), share=s, schedule=None if v is None else _tuple(v))
            for n, q, noise, times, s, v in sums
            if times
        ]
        asks += [
            Ask(name=select(r), question="Select", noise=gumbel, draws=size, share=float(weights[r]))
            for r, size in enumerate(self.sizes)
        ]
        asks += finish.plan(gaussian, gumbel)
        return Plan(asks=tuple(asks), order=tuple(self._order()))

    def _order(self) -> list[str]:
        free = self.shares.intercept
        order = ["start"] * free
        for r in range(len(self.supports)):
            if r < len(self.sizes):
                if r or not self.classes:
                    order += ["residual"] + ["intercept"] * free
                order += [select(r)] + ["means"] * (self.shares.fm > 0)
            order += ["norms"] + ["gram"] * (self.supports[r] >= POLISH.whole.least_gram)
            order += ["clip", "curvature", "gradient"] * self.steps[r]
        return order + self.finish.asks + ["intercept"] * free


def select(r: int) -> str:
    """Name of the ask that selects in round r."""
    return f"select {r + 1}"


def typical_entry(rule: Rule, facts: Facts, entry: float) -> float:
    r""":math:`K_e`: twice a typical entry, at most the bound."""
    return min(facts.feature_bound, 2 * entry / rule.entry_part)


def rung(k: int, sparsity: int) -> int:
    """The number itself; of many coordinates the nearest of s, s/1.3, s/1.69, ..., which keeps the branches few."""
    if sparsity <= POLISH.whole.many_coordinates:
        return k
    return math.ceil(sparsity / POLISH.rung ** round(math.log(sparsity / k, POLISH.rung)))


def log_features(d: int) -> float:
    """The logarithm of d, at least that of 2."""
    return math.log(max(d, 2))


def _tuple(values: Iterable[float]) -> tuple[float, ...]:
    return tuple(float(v) for v in values)
