"""What the planner takes for granted about data that it has not seen, and which the user may know better."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...algorithms.constants import PLANNER
from ...core import checks
from ...core.facts import Facts

#: (typical, weak, strong) signal. With a sparsity the user believes in a sparse model, as in
#: simulations; without, outcomes are as tables and surveys have them, and often weak.
SIGNALS = {
    "sparse regression": PLANNER.several.sparse_regression,
    "regression": PLANNER.several.regression,
    "documents": PLANNER.several.documents,
    "sparse classes": PLANNER.several.sparse_classes,
    "classes": PLANNER.several.classes,
}
#: True coefficients where no sparsity was declared, and the fewest that the formulas were calibrated for.
COEFFICIENTS, FEWEST = 10, 3


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    r"""What the planner assumes. None: the convention.

    Parameters
    ----------
    signal : float or None
        Part of the constant predictor's error that the best linear model removes: :math:`R^2` for regression, one minus
        the ratio of error rates for classes. Convention: 0.95 for regression with `sparsity`, 0.4 without; 0.75
        for classes of documents (`Facts.documents`), 0.6 for others with `sparsity`, 0.2 without. Without it, bands
        cover weaker and stronger signals too, and the verdict says which signal a useful fit takes.
    feature_scale : float or None
        Standard deviation of a typical feature. Convention: that of a uniform feature within its bounds,
        :math:`b/\sqrt3`, but no more than a row of length `row_norm` leaves to each of d features. Columns that
        are narrower within their bounds cost accuracy in tables.
    base_rate : float or None
        Part of the rarer class, which is the error of the constant predictor. Convention: 0.5. A
        band also holds a typical error at 0.09.

    Examples
    --------
    >>> Assumptions(signal=0.4).signal
    0.4
    """

    signal: float | None = None
    feature_scale: float | None = None
    base_rate: float | None = None

    def __post_init__(self) -> None:
        for name, low, high in (("signal", 0, 1), ("base_rate", 0, 0.5), ("feature_scale", 0, math.inf)):
            value = getattr(self, name)
            if value is None:
                continue
            inside = checks.is_number(value) and low < value
            if not (inside and (value < high or (name == "base_rate" and value == high))):
                raise ValueError(
                    f"{name} must be a number {_range(low, high, name)}, got {value!r}. Leave it "
                    "out for the planner's convention."
                )

    def signals(self, facts: Facts) -> tuple[float, ...]:
        """Typical, weak and strong signal; three times the same where it is known."""
        if self.signal is not None:
            return (float(self.signal),) * 3
        if facts.target.classes:
            known = "classes" if facts.sparsity is None else "sparse classes"
            return SIGNALS["documents" if facts.documents else known]
        return SIGNALS["regression" if facts.sparsity is None else "sparse regression"]

    def scale(self, facts: Facts) -> float:
        """Standard deviation of a feature."""
        return uniform_scale(facts) if self.feature_scale is None else float(self.feature_scale)

    def constant(self, facts: Facts) -> float:
        """Test error of the constant predictor: mean squared error over variance, or error rate."""
        return self.constants(facts)[1]

    def constants(self, facts: Facts) -> tuple[float, float]:
        """Test error of the constant predictor for the rarest class of the convention, and for a typical one."""
        if not facts.target.classes:
            return (1.0, 1.0)
        return (PLANNER.rare, 0.5) if self.base_rate is None else (float(self.base_rate),) * 2


def uniform_scale(facts: Facts) -> float:
    """Standard deviation of a uniform feature within its bounds, as far as the norm of rows allows it."""
    return min(float(np.median(facts.half_widths)) / math.sqrt(3), facts.row_bound / math.sqrt(facts.n_features))


def counts(facts: Facts) -> bool:
    """Whether zero is an end of most columns' bounds, as with counts, indicators and genotypes."""
    ends = (np.asarray(facts.lower) == 0) | (np.asarray(facts.upper) == 0)
    return bool(np.mean(ends) > 0.5)


def coefficients(facts: Facts) -> int:
    """How many true coefficients there are: the sparsity that was declared, at least three, or a convention."""
    return min(max(facts.sparsity or COEFFICIENTS, FEWEST), facts.n_features)


def _range(low: float, high: float, name: str) -> str:
    if math.isinf(high):
        return "above 0"
    return f"above {low:g} and {'at most' if name == 'base_rate' else 'below'} {high:g}"
