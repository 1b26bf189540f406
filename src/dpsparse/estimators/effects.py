"""Results of a model of a table, as statisticians write them: units, contrasts, odds ratios, intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr, ndtri

from ..core import checks
from ..core.facts import Vector
from ..core.plain import Json
from ..io.dictionary import TableEncoder
from ..io.dictionary.units import INTERCEPT, Contrast

if TYPE_CHECKING:
    import pandas as pd

    from .intervals import Intervals
    from .linear import SparseLinear


@dataclass(frozen=True)
class Effect:
    """One result.

    Attributes
    ----------
    column, level, reference, unit : str
        What it is about, such as sex, m, f and nothing; or age, nothing, nothing and per year.
    coefficient : float or tuple of float
        What one unit more, or this level instead of the reference, adds to the prediction of a
        regression, or to the log-odds; one for each class where there are more than two.
    odds_ratio : float, tuple of float or None
        Its exponential, for classifiers.
    hazard_ratio : float or None
        Its exponential, for survival models.
    low, high, p : float or None
        Ends of the interval of the coefficient, and the p-value of zero, where the model has intervals.
    """

    column: str
    level: str
    reference: str
    unit: str
    coefficient: float | tuple[float, ...]
    odds_ratio: float | tuple[float, ...] | None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    hazard_ratio: float | None = None


class Effects(Sequence[Effect]):
    """All results of a model that are not zero, the intercept last. Prints as one table.

    Parameters
    ----------
    rows : sequence of (Contrast, Effect)
    classes : sequence or None
        Classes of a classifier.
    level : float or None
        Of the intervals; None: there is no interval.
    hazards : bool
        Whether coefficients are log hazard ratios.
    """

    def __init__(
        self,
        rows: Sequence[tuple[Contrast, Effect]],
        classes: Sequence[object] | None,
        level: float | None,
        hazards: bool = False,
    ) -> None:
        self._rows, self._classes, self.level, self._hazards = tuple(rows), classes, level, hazards

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, place: Any) -> Any:
        found = self._rows[place]
        return tuple(effect for _, effect in found) if isinstance(place, slice) else found[1]

    def records(self) -> list[dict[str, Json]]:
        """A dictionary for each result, by the names of `Effect`."""
        return [asdict(effect) for effect in self]

    def to_frame(self) -> pd.DataFrame:
        """A pandas data frame with a row for each result."""
        import pandas as pd

        return pd.DataFrame(self.records())

    def __str__(self) -> str:
        classes = self._classes
        heads = ["log-odds" if classes is not None else "coefficient"]
        if self._hazards:
            heads = ["log hazard ratio", "hazard ratio"]
        if classes is not None and len(classes) == 2:
            heads.append("odds ratio")
        elif classes is not None:
            heads = [f"log-odds of {name}" for name in classes]
        if self.level is not None:
            heads += [f"{100 * self.level:g} % interval{' of the odds ratio' if classes is not None else ''}", "p"]
        table = [["", "", *heads], *(self._line(contrast, effect) for contrast, effect in self._rows)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            "  "
            + "  ".join(c.ljust(w) if i < 2 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True)))
            for line in table
        ]
        return "\n".join(["In the units of the table:", *(line.rstrip() for line in lines)])

    def _line(self, contrast: Contrast, effect: Effect) -> list[str]:
        values = effect.coefficient if isinstance(effect.coefficient, tuple) else (effect.coefficient,)
        cells = [contrast.name, effect.unit, *(f"{value:.4g}" for value in values)]
        ratio = isinstance(effect.odds_ratio, float)
        if ratio:
            cells.append(f"{effect.odds_ratio:.4g}" if contrast.column != INTERCEPT else "")
        if self._hazards:
            cells.append("" if effect.hazard_ratio is None else f"{effect.hazard_ratio:.4g}")
        if self.level is not None:
            if effect.low is None or effect.high is None or (ratio and contrast.column == INTERCEPT):
                return [*cells, "", ""]
            ends = np.exp([effect.low, effect.high]) if ratio else np.array([effect.low, effect.high])
            cells += [f"{ends[0]:.4g} to {ends[1]:.4g}", f"{effect.p:.3f}"]
        return cells


def effects_of(model: SparseLinear, level: float) -> Effects:
    """The results of a model that keeps a dictionary.

    Results are linear in the coefficients, so their covariance follows from that of the
    coefficients. Where a category or its reference was not selected its coefficient is 0.
    """
    level = checks.fraction(level, "level")
    intervals, width = vars(model).get("intervals_"), model.n_features_in_
    theta, covariance = _coefficients(model, intervals)
    used, hazards = np.any(theta != 0, axis=0), "baseline_" in vars(model)
    used[-1] = True
    rows = []
    for contrast in TableEncoder(model.dictionary_).contrasts():
        weights = contrast.weights
        if contrast.column != INTERCEPT and not np.any(used[:width] & (weights[:width] != 0)):
            continue
        values = theta @ weights
        classes = "classes_" in vars(model)
        low = high = p = None
        if covariance is not None:
            error = float(np.sqrt(max(weights @ covariance @ weights, 0.0)))
            off = -ndtri((1 - level) / 2) * error
            low, high = float(values[0] - off), float(values[0] + off)
            p = float(2 * ndtr(-abs(values[0]) / error)) if error else float(values[0] == 0)
        with np.errstate(over="ignore"):
            odds = _number(np.exp(values)) if classes else None
        ratio = float(np.exp(values[0])) if hazards and contrast.column != INTERCEPT else None
        about = contrast.column, contrast.level, contrast.reference, contrast.unit
        rows.append((contrast, Effect(*about, _number(values), odds, low, high, p, ratio)))
    labels = model.classes_.tolist() if "classes_" in vars(model) else None
    return Effects(rows, labels, None if covariance is None else level, hazards)


def _coefficients(model: SparseLinear, intervals: Intervals | None) -> tuple[Vector, Vector | None]:
    """Coefficients by column with the intercept last, zero for curves; their covariance where there are intervals."""
    theta = np.column_stack([np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)])
    covariance, terms = None, theta.shape[1] - 1
    if intervals:  # without a selected feature there is no interval, and the intercept is the model's
        places = [*intervals.columns, *([terms] if len(intervals) > len(intervals.columns) else [])]
        theta, covariance = np.zeros((1, terms + 1)), np.zeros((terms + 1, terms + 1))
        theta[0, places] = intervals.estimate
        covariance[np.ix_(places, places)] = intervals.covariance
    basis = model.basis_
    if basis is None:
        return theta, covariance
    lines, width = basis.lines, basis.n_features
    kept, at = [*basis.starts[lines], terms], [*lines, width]
    by_column = np.zeros((theta.shape[0], width + 1))
    by_column[:, at] = theta[:, kept]
    if covariance is not None:
        whole = np.zeros((width + 1, width + 1))
        whole[np.ix_(at, at)] = covariance[np.ix_(kept, kept)]
        covariance = whole
    return by_column, covariance


def _number(values: Vector) -> float | tuple[float, ...]:
    return float(values[0]) if values.size == 1 else tuple(values.tolist())
