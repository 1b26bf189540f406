"""Clones of one estimator that are fitted again and again without a ledger: counted, named at the time, and stated."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field

from ..core.curves import ORDERS, gaussian_epsilon, renyi_epsilon
from ..core.errors import RepeatedFitWarning
from ..fitting import FitPlan, Shape
from ..fitting.session import substituted

#: Folds of a cross-validation differ in size by a few rows.
CLOSE_ROWS, CLOSE_PART = 2, 0.01

WORDS = (
    "clones of one estimator were fitted again on data of the same shape, and no ledger counts "
    "them. If it is the same data, as in GridSearchCV, "
    "cross_val_score, CalibratedClassifierCV or bagging, the budgets add up: {total}. From the "
    "second fit on, the statements say so and claim no "
    "privacy. Use PrivateSearch to choose settings, private_score to test a model, and ledger=, "
    "dataset= to count every fit."
)
VOID = (
    "{count} fits of this estimator were made in this process on data of this shape, and no ledger counts them; "
    "together they cost about epsilon = {epsilon:.4g} at delta = {delta:.2g}. If it was the same "
    "data, this is what holds, and not "
    "the epsilon of one fit"
)


@dataclass(frozen=True)
class FitCost:
    """What one fit cost: (epsilon, delta), rho and mu, each a valid bound, infinite where none is proven."""

    epsilon: float
    delta: float
    rho: float
    mu: float

    @classmethod
    def of(cls, prepared: FitPlan) -> FitCost:
        """Of a prepared fit with a price."""
        assert prepared.priced is not None
        priced = prepared.priced
        return cls(priced.epsilon(prepared.delta), prepared.delta, priced.rho, priced.mu)


def total_cost(costs: list[FitCost]) -> tuple[float, float]:
    """(epsilon, delta) of all fits on one data set: the sums, or less where the sum of rho or of mu^2 gives less.

    Settings may depend on earlier results: each of the three bounds holds for adaptive composition.
    """
    delta = min(math.fsum(cost.delta for cost in costs), 1.0)
    found = [math.fsum(cost.epsilon for cost in costs)]
    rho, mu = math.fsum(cost.rho for cost in costs), math.hypot(*(cost.mu for cost in costs))
    if 0 < delta < 1:
        found += [renyi_epsilon(rho * ORDERS, delta)] if math.isfinite(rho) else []
        found += [gaussian_epsilon(mu, delta)] if math.isfinite(mu) else []
    return min(found), delta


@dataclass(eq=False)
class RepeatedFits:
    """An estimator and its clones.

    The public shapes on which they were fitted without a ledger, and what each fit cost.
    """

    fits: list[tuple[Shape, FitCost]] = field(default_factory=list)
    repeated: bool = False

    def note(self, prepared: FitPlan, shape: Shape, stacklevel: int) -> str:
        """Count a fit; the caveat that its statement has to carry, with a warning, where it is one of several.

        Else nothing.

        A fit is one of several where an earlier one had its shape. From then on every fit of as
        many features is: a search fits folds first, and all rows at last. Shapes are public: under
        add-remove adjacency the number of rows is the one that was declared.
        """
        request = prepared.request
        if request.ledger is not None or prepared.priced is None or substituted():
            return ""
        self.repeated = self.repeated or any(_alike(known, shape) for known, _ in self.fits)
        self.fits.append((shape, FitCost.of(prepared)))
        if not self.repeated:
            return ""
        costs = [cost for known, cost in self.fits if known.n_features == shape.n_features]
        if len(costs) == 1:
            return ""
        epsilon, delta = total_cost(costs)
        last = self.fits[-2][0]
        if len(costs).bit_count() == 1 or not _alike(last, shape):  # the 2nd, 4th, 8th ... and the one on all rows
            total = f"{len(costs)} fits so far cost about epsilon = {epsilon:.4g} at delta = {delta:.2g}"
            warnings.warn(WORDS.format(total=total), RepeatedFitWarning, stacklevel=stacklevel)
        return VOID.format(count=len(costs), epsilon=epsilon, delta=delta)


def _alike(one: Shape, two: Shape) -> bool:
    close = max(CLOSE_ROWS, CLOSE_PART * two.n_rows)
    return one.n_features == two.n_features and abs(one.n_rows - two.n_rows) <= close
